// Gradients through plans, against the truth in double.
#include "reference/backward/backward.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/executor/aligned.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/correlation.hpp"
#include "reference/step/step.hpp"
#include "tests/kernels/fields.hpp"
#include "tests/kernels/support.hpp"
#include "tests/sanitized.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

// Memory of a case's arrays, of samples so many bytes behind an aligned address: outputs NaN at first.
class Memory {
 public:
  Memory(const Case& asked, const Values& values, int behind = 0) : arrays_(asked.arrays()) {
    for (const Array& array : arrays_) {
      std::vector<std::byte> bytes(danaus::bytes(array.dtype) * array.size(), std::byte{0x7f});
      if (array.role != Role::output) bytes = host::encode_bytes(array.dtype, values.find(array.name)->second);
      begins_.push_back(array.batched ? behind : 0);
      bytes.insert(bytes.begin(), begins_.back(), std::byte{});
      memory_.push_back(std::move(bytes));
    }
  }
  std::vector<Buffer> buffers(bool filters) {
    std::vector<Buffer> list;
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if ((arrays_[i].role == Role::filter) == filters)
        list.emplace_back(arrays_[i].name, std::span(memory_[i]).subspan(begins_[i]));
    return list;
  }
  std::vector<double> values(std::string_view name) const {
    const std::size_t i = std::ranges::find(arrays_, name, &Array::name) - arrays_.begin();
    return decode_bytes(arrays_[i].dtype, std::span(memory_[i]).subspan(begins_[i]));
  }

 private:
  std::vector<Array> arrays_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<int> begins_;
};

Memory run_plan(const Case& asked, const Values& values, const ExecutorOptions& options = few_blocks(),
                int behind = 0) {
  Memory memory(asked, values, behind);
  Plan plan(asked, executor_machine(options));
  plan.prepare(memory.buffers(true));
  plan.execute(memory.buffers(false));
  return memory;
}

// Gives what they were found to be.
Memory expect_gradients(std::string_view word, const ExecutorOptions& options = few_blocks(), int behind = 0) {
  SCOPED_TRACE(word);
  const Backward asked = parse_backward(word);
  const Values values = make_values(asked);
  Memory memory = run_plan(asked, values, options, behind);
  const Plan plan(asked, executor_machine(options));
  Values outputs;
  for (const Array& array : arrays(asked))
    if (array.role == Role::output) outputs[std::string(array.name)] = memory.values(array.name);
  expect_right(asked, values, outputs, promise_of(asked, plan.variant(), options.device), true);
  return memory;
}

// Every correlator, of more items than a ring has places for; by bulk copies where rows are as long as N. Where one of
// the same size is for no gates alone, one that takes them is never asked without.
class SumsOverTheBatch : public testing::TestWithParam<const Correlator*> {};

TEST_P(SumsOverTheBatch, AreWithinTheirBound) {
  const Correlator& c = *GetParam();
  const int batch = c.warps_of_block > 1 ? 12 * c.warps_of_block : 7;
  const auto word = [&](int length) {
    return text("fftconvgrad_", name(c.dtype), c.pair ? "_circular_l" : "_causal_l", length, "_b", batch, "_h2");
  };
  const bool for_none = !c.gated || std::ranges::none_of(correlators(), [&](const auto& other) {
    return !other->gated && other->size == c.size && other->dtype == c.dtype && other->pair == c.pair;
  });
  const auto expect_by_it = [&](const std::string& asked) {
    bool ran = false;
    ExecutorOptions options = few_blocks();
    options.observer = [&](const Launch& launch, const host::Counters&) {
      ran |= launch.kernel == KernelId{c.family, c.line, c.instance};
    };
    expect_gradients(asked, options);
    EXPECT_TRUE(ran) << asked << " is another's";
  };
  const auto with_gates = [&](int length) { return word(length) + "_pregate_postgate"; };
  const Convolution gated = parse_backward(with_gates(c.size)).forward;
  const bool with_all = kernel_of_all_gradients(gated, choose(gated, Device()), Device());  // that takes whole rows
  // Where one kernel takes both gradients of rows without gates, it does not of factors that are asked for.
  const auto apart = [](const std::string& asked) {
    const Convolution p = parse_backward(asked).forward;
    const Variant& variant = choose(p, Device());
    return kernel_of_all_gradients(p, variant, Device()) ? token(Backward{planned(p, variant)}) : asked;
  };
  if (for_none) expect_by_it(apart(word(c.size)));
  if (c.gated && !with_all) expect_by_it(with_gates(c.size));
  if (for_none && !c.pair) expect_by_it(word(c.size - 3));
  if (c.gated && !c.pair) expect_by_it(with_gates(c.size - 3));
}

std::vector<const Correlator*> compiled_correlators(bool all_gradients) {
  std::vector<const Correlator*> all;
  for (const auto& c : correlators())
    if (c->compiled && c->suits(0) && c->all == all_gradients) all.push_back(c.get());
  return all;
}
std::string name_of_correlator(const testing::TestParamInfo<const Correlator*>& info) {
  const Correlator& c = *info.param;
  return text(c.family, '_', name(c.dtype), c.pair ? "_pair_" : "_rightangle_", c.size, c.gated ? "" : "_ungated");
}
INSTANTIATE_TEST_SUITE_P(Correlators, SumsOverTheBatch, testing::ValuesIn(compiled_correlators(false)),
                         name_of_correlator);

// Every kernel that makes all gradients at once: by bulk copies and by threads, chunk by chunk or sample by sample,
// with a row that has no partner and one gate or both; of filters whose spectrum has the order of another kernel, too.
// In whatever order threads take turns, it is the same bit by bit.
class AllGradients : public testing::TestWithParam<const Correlator*> {};

TEST_P(AllGradients, AreWithinTheirBounds) {
  const Correlator& c = *GetParam();
  const auto word = [&](int length, int batch, std::string_view gates) {
    const std::string word =
        text("fftconvgrad_", name(c.dtype), c.pair ? "_circular_l" : "_causal_l", length, "_b", batch, "_h2", gates);
    const Convolution p = parse_backward(word).forward;
    EXPECT_EQ(kernel_of_all_gradients(p, choose(p, Device()), Device()), &c) << word;
    return word;
  };
  expect_gradients(word(c.size, c.warps_of_block > 1 ? 6 * c.warps_of_block + 1 : 5, "_pregate_postgate"));
  if (c.size <= 512) expect_gradients(word(c.size, 5, ""));
  expect_gradients(word(c.size, 3, "_pregate"));
  expect_gradients(word(c.size, 3, "_postgate"));
  if (!c.pair) expect_gradients(word(c.size - 8, 3, "_pregate_postgate"));
  expect_gradients(word(c.size, 3, "_pregate_postgate"), few_blocks(), 6);
  ExecutorOptions by_threads = few_blocks();
  by_threads.device.sm = 80;
  expect_gradients(word(c.size, 2, "_pregate_postgate"), by_threads);
}

TEST_P(AllGradients, AreThoseOfAnyOrder) {
  const Correlator& c = *GetParam();
  const Case asked = parse_case(
      text("fftconvgrad_", name(c.dtype), c.pair ? "_circular_l" : "_causal_l", c.size, "_b7_h2_pregate_postgate"));
  const Values values = make_values(asked);
  ExecutorOptions several = few_blocks();
  several.blocks = 3;
  const Memory first = run_plan(asked, values, several);
  several.order = host::Order::random;
  const Memory other = run_plan(asked, values, several);
  for (const Array& array : asked.arrays()) {
    if (array.role != Role::output) continue;
    EXPECT_EQ(first.values(array.name), other.values(array.name)) << array.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Correlators, AllGradients, testing::ValuesIn(compiled_correlators(true)), name_of_correlator);

TEST(Gradients, LengthsFiltersAndGates) {
  for (std::string_view word :
       {"fftconvgrad_f16_causal_l1_b1_h1", "fftconvgrad_f16_causal_l250_k40_b2_h3_pregate_postgate",
        "fftconvgrad_bf16_circular_l300_k1000_b3_h2_postgate", "fftconvgrad_f16_circular_l256_k700_b5_h2_pregate",
        "fftconvgrad_f16_causal_l1000_k3000_b2_h2", "fftconvgrad_f16_circular_l1001_k5_b4_h1",
        "fftconvgrad_bf16_causal_l4001_k100_b2_h1_pregate", "fftconvgrad_f16_circular_l8192_b2_h1_pregate_postgate",
        "fftconvgrad_f16_causal_l900_k7_kf16_b2_h2"})
    expect_gradients(word);
}

TEST(Gradients, LongOnes) {
  for (std::string_view word : unless_sanitized(
           {"fftconvgrad_bf16_causal_l20000_k30000_b1_h2", "fftconvgrad_f16_circular_l16384_b3_h1_pregate_postgate",
            "fftconvgrad_f16_circular_l33001_k40000_b1_h1", "fftconvgrad_f16_circular_l65536_b2_h1"},
           1))
    expect_gradients(word);
  ExecutorOptions little = few_blocks();
  little.device.cache_bytes = 1 << 16;  // channels by channels
  expect_gradients("fftconvgrad_f16_causal_l33000_b1_h3", little);
}

// Rows in chunks, which the correlation takes whole; gates, odd lengths, what goes round.
TEST(Gradients, OfFiltersShorterThanTheirRows) {
  for (std::string_view word :
       {"fftconvgrad_f16_causal_l1000_k20_b3_h2_n256", "fftconvgrad_bf16_circular_l1000_k128_b2_h2_n256_pregate",
        "fftconvgrad_f16_circular_l1003_k9_b1_h2_n512_pregate_postgate", "fftconvgrad_bf16_causal_l960_k2_b2_h1_n256"})
    expect_gradients(word);
  ExecutorOptions little = few_blocks();
  little.device.cache_bytes = 2 * 2 * 256 * 4;  // two copies of the spectra
  expect_gradients("fftconvgrad_bf16_causal_l1000_k100_b6_h2_n256", little);
}

// Of frequencies that blocks share, whatever brings the rows.
TEST(Gradients, OfMoreSumsThanABlockHasRoomFor) {
  for (std::string_view word :
       unless_sanitized({"fftconvgrad_f16_circular_l12288_b3_h1", "fftconvgrad_bf16_circular_l16384_b2_h1",
                         "fftconvgrad_f16_causal_l24576_b1_h1", "fftconvgrad_f16_circular_l32768_b2_h1_pregate"},
                        1))
    expect_gradients(word);
}

// By bulk copies, which bring one gate and not the other.
TEST(Gradients, OfOneGate) {
  for (std::string_view word : unless_sanitized(
           {"fftconvgrad_f16_circular_l512_b100_h1_pregate", "fftconvgrad_bf16_causal_l768_b50_h1_postgate",
            "fftconvgrad_bf16_circular_l2048_b9_h1_postgate", "fftconvgrad_f16_causal_l6144_b4_h1_pregate",
            "fftconvgrad_f16_circular_l8192_b7_h1_postgate"},
           3))
    expect_gradients(word);
}

// Blocks of a cluster, however they and their threads take turns; where a call has fewer rows than there are parts of
// the case's batch, some have nothing to sum.
TEST(Gradients, SharesOfAnItemMeet) {
  for (std::string_view word :
       unless_sanitized({"fftconvgrad_bf16_circular_l16384_b7_h1_postgate", "fftconvgrad_f16_circular_l24576_b7_h1",
                         "fftconvgrad_bf16_causal_l32768_b3_h1"},
                        1)) {
    SCOPED_TRACE(word);
    const Case asked = parse_case(word);
    const Values values = make_values(asked);
    ExecutorOptions several = few_blocks();
    several.blocks = 12;
    const std::vector<double> first = expect_gradients(word, several).values("dk");
    several.order = host::Order::random;
    EXPECT_EQ(run_plan(asked, values, several).values("dk"), first);
  }
  const Case item = parse_case("fftconvgrad_f16_circular_l16384_b2_h1");
  const Values values = make_values(item);
  Memory memory(item, values);
  Plan plan(parse_case("fftconvgrad_f16_circular_l16384_b9_h1"), executor_machine({.blocks = 12}));
  plan.prepare(memory.buffers(true));
  plan.execute(memory.buffers(false), {.batch = 2});
  EXPECT_EQ(memory.values("dk"), run_plan(item, values).values("dk"));
}

// However many blocks share a channel.
TEST(Gradients, PartsOfABatchAreSummedInTheirOrder) {
  const Case asked = parse_case("fftconvgrad_f16_causal_l2000_b9_h2");
  const Values values = make_values(asked);
  ExecutorOptions several = few_blocks();
  several.blocks = 7;
  const std::vector<double> first = expect_gradients(asked.token(), several).values("dk");
  several.order = host::Order::random;
  EXPECT_EQ(run_plan(asked, values, several).values("dk"), first);
}

// The step is the forward convolution and the gradients, bit by bit.
TEST(Gradients, AStepIsBothPasses) {
  for (std::string_view fields :
       {"f16_causal_l1000_b3_h2_pregate_postgate", "bf16_circular_l512_b2_h2", "f16_causal_l40000_k100_b1_h1"}) {
    const auto word = [&](const char* operation) { return parse_case(text(operation, '_', fields)); };
    const Values values = make_values(word("fftconvstep"));
    Memory step = run_plan(word("fftconvstep"), values), backward = run_plan(word("fftconvgrad"), values);
    for (const Array& array : word("fftconvgrad").arrays()) {
      if (array.role != Role::output) continue;
      EXPECT_EQ(step.values(array.name), backward.values(array.name)) << array.name;
    }
    EXPECT_EQ(step.values("y"), run_plan(word("fftconv"), values).values("y"));
  }
}

// A training step transforms its filters once: by what is prepared for gradients, both passes are what they are alone.
void expect_shared(std::string_view fields) {
  SCOPED_TRACE(fields);
  const Case forward = parse_case(text("fftconv_", fields)), backward = parse_case(text("fftconvgrad_", fields));
  const Values values = make_values(backward);
  Plan convolution(forward, executor_machine(few_blocks())), gradients(backward, executor_machine(few_blocks()));
  ASSERT_EQ(convolution.layout(), gradients.layout());
  const host::AlignedArray<std::uint32_t> prepared(gradients.prepared_bytes() / 4);
  const CallOptions options{.prepared = prepared.data(), .prepared_bytes = prepared.bytes()};
  Memory of_forward(forward, values), of_backward(backward, values);
  gradients.prepare(of_backward.buffers(true), options);
  convolution.execute(of_forward.buffers(false), options);
  gradients.execute(of_backward.buffers(false), options);
  EXPECT_EQ(of_forward.values("y"), run_plan(forward, values).values("y"));
  const Memory alone = run_plan(backward, values);
  EXPECT_EQ(of_backward.values("du"), alone.values("du"));
  EXPECT_EQ(of_backward.values("dk"), alone.values("dk"));
}

TEST(Gradients, ShareWhatIsPreparedWithTheConvolution) {
  for (std::string_view fields :
       {"f16_causal_l1000_b3_h3", "bf16_circular_l512_b2_h3_pregate_postgate", "bf16_circular_l4096_b2_h3_postgate",
        "f16_causal_l1000_b2_h3_pregate", "bf16_causal_l1000_b2_h3"})  // factors, and a conjugate spectrum behind them
    expect_shared(fields);
}

TEST(Gradients, ShareItWithLongConvolutions) {
  for (std::string_view fields : unless_sanitized({"bf16_causal_l40000_k100_b1_h1", "bf16_causal_l20000_b1_h3"}, 1))
    expect_shared(fields);
}

TEST(Gradients, TokensOfAnotherOperation) {
  const Case asked = parse_case("fftconvgrad_f16_causal_l100_b2_h3_pregate");
  EXPECT_EQ(asked.token(), "fftconvgrad_f16_causal_l100_b2_h3_pregate");
  EXPECT_THROW(parse_backward("fftconv_f16_causal_l100_b2_h3"), std::invalid_argument);
  EXPECT_THROW(parse_backward("fftconvgrad_f16_circular_l768_b2_h1_r3x16x16_zero8x0x0"), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
