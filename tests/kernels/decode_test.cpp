// Decoding, sample by sample, against the whole convolution in double.
#include "kernels/plan/decode.hpp"

#include "kernels/cpu/machine.hpp"
#include "kernels/plan/forwarding_machine.hpp"
#include "tests/kernels/support.hpp"
#include "tests/sanitized.hpp"

namespace danaus {
namespace {

// y of all positions, the first `prompt` by prefill(). Each sample of u is given only once the y before it is there.
std::vector<double> decode_all(Decoding& decoding, const Convolution& p, const Inputs& inputs, std::int64_t prompt) {
  const std::int64_t rows = p.batch * p.channels;
  std::vector<double> y(rows * p.length);
  const auto samples_of = [&](std::int64_t first, std::int64_t count) {
    std::vector<double> samples;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t n = first; n < first + count; ++n) samples.push_back(inputs.u[row * p.length + n]);
    return GuardedSamples(p.dtype, samples, 1);
  };
  const auto keep = [&](std::int64_t first, std::int64_t count, GuardedSamples& given) {
    EXPECT_TRUE(given.guards_are_whole());
    const std::vector<double> values = host::decode(p.dtype, given.samples());
    for (std::int64_t i = 0; i < rows * count; ++i) y[i / count * p.length + first + i % count] = values[i];
  };
  if (prompt > 0) {
    GuardedSamples u = samples_of(0, prompt), given(rows * prompt, 1);
    decoding.prefill(u.samples().data(), given.samples().data(), prompt);
    keep(0, prompt, given);
  } else {
    decoding.prefill(nullptr, nullptr, 0);
  }
  for (std::int64_t n = prompt; n < p.length; ++n) {
    EXPECT_EQ(decoding.position(), n);
    GuardedSamples u = samples_of(n, 1), given(rows, 1);
    decoding.next(u.samples().data(), given.samples().data());
    keep(n, 1, given);
  }
  return y;
}

void expect_right(const Convolution& p, const Inputs& inputs, const std::vector<double>& y, int roundings) {
  expect_right(p, values_of(inputs), {{"y", y}}, Promise{.roundings = {.forward = roundings}}, true);
}

// Prompts that end in a tile, at its end and nowhere, lengths that cut the last tile, filters that end before.
TEST(Decodings, EqualTheWholeConvolution) {
  for (const auto& [word, prompt] : unless_sanitized({std::pair("fftconv_f16_causal_l129_b1_h2", 129),
                                                      {"fftconv_f16_causal_l63_b1_h2", 0},
                                                      {"fftconv_bf16_causal_l200_k5_b1_h2", 0},
                                                      {"fftconv_f16_causal_l260_k90_b3_h1", 1},
                                                      {"fftconv_bf16_causal_l300_b1_h33", 64},
                                                      {"fftconv_f16_causal_l400_b2_h3", 0},
                                                      {"fftconv_f16_causal_l400_b2_h3", 100}},
                                                     4)) {
    SCOPED_TRACE(testing::Message() << word << ", prompt of " << prompt);
    const Convolution p = parse_convolution(word);
    const Inputs inputs = make_inputs(p, {});
    ExecutorOptions options = few_blocks();
    options.order = host::Order::random, options.seed = prompt;
    Decoding decoding(p, executor_machine(options));
    const std::vector<float> k(inputs.k.begin(), inputs.k.end());
    decoding.set_filter(k);
    expect_right(p, inputs, decode_all(decoding, p, inputs, prompt), decoding.roundings());
    if (prompt == 0) expect_right(p, inputs, decode_all(decoding, p, inputs, 2), decoding.roundings());
  }
}

// The slow way, to its own bound.
TEST(Decodings, ByProductsWithEverySampleAreTheSame) {
  for (const auto& [word, prompt] :
       {std::pair("fftconv_f16_causal_l200_b2_h3", 50), {"fftconv_bf16_causal_l100_k70_b1_h9", 0}}) {
    const Convolution p = parse_convolution(word);
    const Inputs inputs = make_inputs(p, {});
    Decoding decoding(p, executor_machine(few_blocks()), DecodeBy::dot);
    decoding.set_filter(std::vector<float>(inputs.k.begin(), inputs.k.end()));
    const std::vector<double> y = decode_all(decoding, p, inputs, prompt);
    expect_right(p, inputs, y, prompt > 0 ? decoding.roundings() : 1);
  }
}

// What cannot be rounded is exact as long as no tile has ended.
TEST(Decodings, AreExactOfOneTap) {
  const Convolution p = parse_convolution("fftconv_f16_causal_l64_b1_h2");
  const Inputs inputs = make_inputs(p, {});
  std::vector<float> k(2 * 64);
  k[3] = 2, k[64 + 60] = -1;
  Decoding decoding(p, executor_machine(few_blocks()));
  decoding.set_filter(k);
  const std::vector<double> y = decode_all(decoding, p, inputs, 0);
  for (int n = 0; n < 64; ++n) {
    EXPECT_EQ(y[n], n < 3 ? 0 : 2 * inputs.u[n - 3]);
    EXPECT_EQ(y[64 + n], n < 60 ? 0 : -inputs.u[64 + n - 60]);
  }
}

class Exhausted final : public ForwardingMachine {
 public:
  Exhausted() : ForwardingMachine(executor_machine()) {}
  mutable bool refuses = false;
  void launch(const Launch& launch, Stream stream) const override {
    if (refuses) throw OutOfMemory("no memory for a launch");
    ForwardingMachine::launch(launch, stream);
  }
};

TEST(Decodings, APromptThatFailsLeavesTheSequenceAsItWas) {
  const Convolution p = parse_convolution("fftconv_f16_causal_l100_b1_h2");
  const Inputs inputs = make_inputs(p, {});
  const auto machine = std::make_shared<Exhausted>();
  Decoding decoding(p, machine);
  decoding.set_filter(std::vector<float>(inputs.k.begin(), inputs.k.end()));
  GuardedSamples u(p.dtype, inputs.u, 0), y(2 * 100, 0);
  machine->refuses = true;
  EXPECT_THROW(decoding.prefill(u.samples().data(), y.samples().data(), 50), OutOfMemory);
  EXPECT_EQ(decoding.position(), 0);
  EXPECT_THROW(decoding.next(u.samples().data(), y.samples().data()), std::invalid_argument) << "none has begun";
  machine->refuses = false;
  decoding.prefill(u.samples().data(), y.samples().data(), 3);
  decoding.next(u.samples().data(), y.samples().data());
  machine->refuses = true;
  EXPECT_THROW(decoding.prefill(u.samples().data(), y.samples().data(), 50), OutOfMemory);
  EXPECT_EQ(decoding.position(), 4);
}

TEST(Decodings, RefuseWhatTheyAreNotFor) {
  const auto refusal = [](const auto& action) {
    try {
      action();
      return std::string("none");
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
  };
  const auto made = [&](const char* word) {
    return refusal([&] { Decoding(parse_convolution(word), executor_machine(few_blocks())); });
  };
  EXPECT_EQ(made("fftconv_f16_circular_l256_b1_h1"),
            "decode: fftconv_f16_circular_l256_b1_h1 is circular, must be causal");
  EXPECT_EQ(made("fftconv_f16_causal_l256_b1_h1_pregate"),
            "decode: fftconv_f16_causal_l256_b1_h1_pregate has gates, which are the caller's");
  EXPECT_EQ(made("fftconv_f16_causal_l256_kf16_b1_h1"), "decode: the filter is f16, must be f32");
  Decoding decoding(parse_convolution("fftconv_f16_causal_l2_b1_h1"), executor_machine(few_blocks()));
  std::uint16_t u[2] = {}, y[2];
  EXPECT_EQ(refusal([&] { decoding.prefill(u, y, 1); }), "decode: there is no filter yet; call set_filter first");
  EXPECT_EQ(refusal([&] { decoding.set_filter(std::vector<float>(3)); }),
            "decode: the filter has 3 numbers, the case needs H*K = 1*2");
  decoding.set_filter(std::vector<float>(2));
  EXPECT_EQ(refusal([&] { decoding.next(u, y); }), "decode: no sequence has begun; call prefill first");
  EXPECT_EQ(refusal([&] { decoding.prefill(u, y, 3); }), "decode: a prompt of 3 samples, must be from 0 to L=2");
  EXPECT_EQ(refusal([&] { decoding.prefill(u, nullptr, 1); }), "decode: y of the prompt is null");
  decoding.prefill(u, y, 2);
  EXPECT_EQ(refusal([&] { decoding.next(u, y); }), "decode: position 2 is past the end, L=2");
}

}  // namespace
}  // namespace danaus
