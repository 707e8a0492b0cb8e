// Gradients on a CUDA device against the truth in double, and the same from call to call, from stream to stream and
// beside others. Skipped where there is none.
#include <ranges>

#include "kernels/plan/correlation.hpp"
#include "reference/backward/backward.hpp"
#include "tests/kernels/judged.hpp"
#include "tests/kernels/on_device.hpp"

namespace danaus {
namespace {

void expect_right_on_gpu(const std::string& word, const std::shared_ptr<const Machine>& machine, int offset = 0) {
  SCOPED_TRACE(testing::Message() << word << ", offset " << offset);
  const Case asked = parse_case(word);
  const Values values = make_values(asked);
  Plan plan(asked, machine);
  const CudaStream stream;
  std::vector<double> sums;
  for (int call = 0; call < 2; ++call) {
    auto fields = fields_of(asked, values, offset, offset);
    AllOnDevice on_device(fields);
    plan.whole_call(on_device.buffers(), {.stream = stream});
    stream.synchronize();
    on_device.fetch();
    for (auto& [name, field] : fields) EXPECT_TRUE(field.guards_are_whole()) << name;
    if (call == 0) {
      sums = fields.at("dk").values();
      expect_right(asked, values, outputs_of(asked, fields), promise_of(asked, plan.variant(), machine->device()),
                   true);
    }
    EXPECT_EQ(sums, fields.at("dk").values());
  }
}

class CudaGradients : public OnCuda, public testing::WithParamInterface<SizeAndDtype> {};

// By what the device's plans choose, of more items than run at once, of many in few blocks, and of what is not aligned.
TEST_P(CudaGradients, AreWithinTheirBoundsAndRepeat) {
  const auto [n, dtype] = GetParam();
  const auto word = [&](const char* mode, int length, int batch, int channels, const char* gates) {
    return text("fftconvgrad_", name(dtype), mode, length, "_b", batch, "_h", channels, gates);
  };
  const auto machine = cuda_machine(), few = cuda_machine(0, 1);
  for (const char* mode : {"_circular_l", "_causal_l"})
    for (const char* gates : {"", "_pregate_postgate"}) {
      expect_right_on_gpu(word(mode, n, 9, n <= 2048 ? 150 : 40, gates), machine);
      expect_right_on_gpu(word(mode, n, 7, 3, gates), few);
    }
  expect_right_on_gpu(word("_causal_l", n, 3, 4, "_pregate"), machine, 1);
  expect_right_on_gpu(word("_circular_l", n, 4, 2, "_postgate"), machine, 1);
  expect_right_on_gpu(word("_causal_l", n - 13, 9, 2, "_postgate"), machine);
}

INSTANTIATE_TEST_SUITE_P(Correlators, CudaGradients,
                         testing::ValuesIn(sizes_of(correlators() |
                                                    std::views::filter([](const auto& c) { return c->compiled; }))),
                         name_of_size);

// In outer passes, in chunks, of filters that are longer than their rows or shorter, of one sample.
using CudaGradient = OnCuda;
TEST_F(CudaGradient, OfAnyLength) {
  const auto machine = cuda_machine();
  for (const char* word :
       {"fftconvgrad_f16_causal_l1_b1_h1", "fftconvgrad_f16_circular_l256_k700_b5_h2_pregate",
        "fftconvgrad_bf16_causal_l1000_k3000_b2_h2", "fftconvgrad_f16_circular_l1003_k9_b1_h2_n512_pregate_postgate",
        "fftconvgrad_bf16_causal_l20000_k30000_b3_h2", "fftconvgrad_f16_circular_l33001_k40000_b3_h1",
        "fftconvgrad_f16_circular_l65536_b3_h2_pregate_postgate", "fftconvgrad_bf16_causal_l262144_b2_h2"})
    for (int offset : {0, 1}) expect_right_on_gpu(word, machine, offset);
}

// Of many rows, by calls that run at once, each on a stream and with a workspace of its own.
TEST_F(CudaGradient, OfOneStreamIsThatOfAnotherBitByBit) {
  for (const char* word : {"fftconvgrad_f16_circular_l512_b24_h40", "fftconvgrad_bf16_causal_l4096_b9_h10",
                           "fftconvgrad_f16_circular_l16384_b3_h4_pregate_postgate"}) {
    const Case asked = parse_case(word);
    const Values values = make_values(asked);
    constexpr int kStreams = 3;
    std::vector<CudaStream> streams(kStreams);
    std::vector<std::map<std::string, Field>> fields;
    std::vector<std::unique_ptr<AllOnDevice>> on_device;
    std::vector<Plan> plans;
    for (int i = 0; i < kStreams; ++i) {
      plans.emplace_back(asked, cuda_machine());
      fields.push_back(fields_of(asked, values, 0, 0));
      on_device.push_back(std::make_unique<AllOnDevice>(fields.back()));
    }
    for (int i = 0; i < kStreams; ++i) plans[i].whole_call(on_device[i]->buffers(), {.stream = streams[i]});
    for (int i = 0; i < kStreams; ++i) {
      streams[i].synchronize();
      on_device[i]->fetch();
      for (const char* gradient : {"du", "dk"})
        EXPECT_EQ(fields[i].at(gradient).values(), fields[0].at(gradient).values()) << word << ' ' << gradient;
    }
  }
}

}  // namespace
}  // namespace danaus
