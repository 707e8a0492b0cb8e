// Decoding on a CUDA device, against the whole convolution in double. Skipped where there is none.
#include "kernels/plan/decode.hpp"
#include "tests/kernels/on_device.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {
namespace {

using CudaDecodings = OnCuda;
TEST_F(CudaDecodings, EqualTheWholeConvolution) {
  for (DecodeBy by : {DecodeBy::tiles, DecodeBy::dot})
    for (const auto& [word, prompt] : {std::pair("fftconv_f16_causal_l3000_b2_h40", 500),
                                       {"fftconv_bf16_causal_l2100_k700_b1_h33", 0},
                                       {"fftconv_f16_causal_l1500_b1_h300", 1024}}) {
      SCOPED_TRACE(testing::Message() << word << ", prompt of " << prompt << ", by " << int(by));
      const Convolution p = parse_convolution(word);
      const Inputs inputs = make_inputs(p, {});
      const std::int64_t rows = p.batch * p.channels, rest = p.length - prompt;
      Decoding decoding(p, cuda_machine(), by);
      decoding.set_filter(std::vector<float>(inputs.k.begin(), inputs.k.end()));
      // Samples of the prompt row by row, then those of each position.
      std::vector<double> ordered;
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t n = 0; n < prompt; ++n) ordered.push_back(inputs.u[row * p.length + n]);
      for (std::int64_t n = prompt; n < p.length; ++n)
        for (std::int64_t row = 0; row < rows; ++row) ordered.push_back(inputs.u[row * p.length + n]);
      const auto u = uploaded(host::encode(p.dtype, ordered));
      const auto y = uploaded(std::vector<std::uint16_t>(ordered.size(), GuardedSamples::kPoison));
      const CudaStream stream;
      decoding.prefill(u.data(), y.data(), prompt, stream);
      for (std::int64_t i = 0; i < rest; ++i)
        decoding.next(u.data() + rows * (prompt + i), y.data() + rows * (prompt + i), stream);
      stream.synchronize();
      std::vector<std::uint16_t> words(ordered.size());
      DANAUS_CUDA(cudaMemcpy(words.data(), y.data(), 2 * words.size(), cudaMemcpyDeviceToHost));
      const std::vector<double> given = host::decode(p.dtype, words);
      std::vector<double> all(given.size());
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t n = 0; n < p.length; ++n)
          all[row * p.length + n] = given[n < prompt ? row * prompt + n : rows * n + row];
      expect_right(p, values_of(inputs), {{"y", all}}, Promise{.roundings = {.forward = decoding.roundings()}}, true);
    }
}

}  // namespace
}  // namespace danaus
