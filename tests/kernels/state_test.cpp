// Convolutions by state-space models by their kernels, through a plan on the executor, against the truth in double.
#include "kernels/plan/state.hpp"

#include <complex>
#include <numbers>

#include "kernels/families/state/family.hpp"
#include "reference/half.hpp"
#include "tests/kernels/state_support.hpp"

namespace danaus {
namespace {

void prepare(Plan& plan, const StateInputs& inputs) {
  const auto a = host::encode_bytes(Dtype::f32, inputs.a), b = host::encode_bytes(Dtype::f32, inputs.b);
  const auto c = host::encode_bytes(Dtype::f32, inputs.c);
  const std::array<Buffer, 3> filters = {Buffer("a", std::span(a)), Buffer("b", std::span(b)),
                                         Buffer("c", std::span(c))};
  plan.prepare(filters);
}

StateOutputs execute(const Plan& plan, const StateInputs& inputs, int offset = 0) {
  const StateSpace& p = *plan.asked().as<StateSpace>();
  const std::int64_t states = 2 * p.batch * p.channels * p.states;
  Field u(p.dtype, std::ssize(inputs.u), offset), y(p.dtype, std::ssize(inputs.u), offset);
  Field x_initial(Dtype::f32, states, 0), x_final(Dtype::f32, states, 0);
  u.set(inputs.u);
  std::vector<Buffer> buffers = {{"u", u.samples()}, {"y", y.samples()}};
  if (p.initial) {
    x_initial.set(inputs.x_initial);
    buffers.emplace_back("x_initial", x_initial.samples());
  }
  if (p.final) buffers.emplace_back("x_final", x_final.samples());
  plan.execute(buffers);
  EXPECT_TRUE(y.guards_are_whole());
  EXPECT_TRUE(x_final.guards_are_whole());
  return {y.values(), p.final ? x_final.values() : std::vector<double>()};
}

void expect_right(const StateSpace& p, Poles poles = Poles::any, const ExecutorOptions& options = few_blocks(),
                  int offset = 0) {
  SCOPED_TRACE(testing::Message() << token(p) << ", poles " << int(poles) << ", offset " << offset << ", seed "
                                  << options.seed);
  const StateInputs inputs = make_inputs(p, poles);
  Plan plan(p, executor_machine(options));
  prepare(plan, inputs);
  expect_right(p, inputs, execute(plan, inputs, offset), plan.variant());
}

class StateKernels : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(StateKernels, AreWithinTheirBounds) {
  const auto [type, shape] = GetParam();
  expect_right(parse_state(text("ssmconv_", type, shape)));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, StateKernels,
    testing::Combine(testing::Values("f16", "bf16"),
                     testing::Values(
                         // One state and all of a kernel's; whole chunks and parts of one; one row and more than a
                         // block has.
                         "_s64_l128_b2_h2_initial_final", "_s1_l1_b1_h1_t32_final", "_s16_l64_b3_h1_initial",
                         "_s17_l200_b2_h3_initial_final", "_s5_l63_b33_h2_final", "_s64_l100_b67_h1_initial_final",
                         "_s40_l257_b1_h3", "_s128_l130_b17_h1_initial_final", "_s100_l96_b1_h2_final",
                         "_s256_l150_b18_h1_initial_final", "_s129_l64_b2_h1_final",
                         "_s64_l300_b3_h1_t128_initial_final", "_s64_l250_b33_h1_t64_initial_final",
                         // By groups of warps: a few rows of one, several of them, all of a kernel's states.
                         "_s64_l248_b50_h2_initial_final", "_s40_l1003_b64_h1_final", "_s33_l64_b120_h1_initial",
                         // Rows cut into parts.
                         "_s8_l1100_b1_h2", "_s8_l1537_b2_h1_initial_final", "_s16_l2049_b1_h1_final",
                         "_s16_l2072_b2_h1_initial_final", "_s20_l2072_b2_h1",
                         // The recurrence.
                         "_s64_l1_b3_h3_initial_final", "_s3_l31_b2_h5", "_s256_l7_b1_h2_initial_final")),
    [](const auto& info) { return text(std::get<0>(info.param), std::get<1>(info.param)); });

TEST(StateKernels, EndsOfManyRowsAreOfWholePasses) {
  const StateSpace p = parse_state("ssmconv_f16_s64_l4096_b1_h1");
  EXPECT_EQ(state::choose(p, {}, state::Work::ends, 127).layout().tuning.chunk, 64);
  EXPECT_EQ(state::choose(p, {}, state::Work::ends, 128).layout().tuning.chunk, 128);
  ExecutorOptions options = few_blocks();
  options.device.multiprocessors = 132;  // rows are cut into many parts
  for (const char* word : {"ssmconv_f16_s15_l4001_b33_h1_final", "ssmconv_bf16_s15_l4001_b33_h1_final",
                           "ssmconv_f16_s40_l4000_b33_h2_initial", "ssmconv_bf16_s40_l4000_b33_h2_initial_final"})
    for (Poles poles : {Poles::any, Poles::slow}) expect_right(parse_state(word), poles, options);
}

// A matrix errs alike in every chunk. Of a constant row these errors add up in a pole that turns m times in a chunk,
// where the row itself does not.
TEST(StateKernels, TakeConstantRowsIntoPolesThatTurnWithTheChunks) {
  for (const char* word : {"ssmconv_f16_s1_l2048_b16_h9_t32_final", "ssmconv_bf16_s40_l2050_b3_h2_t64_initial_final"}) {
    SCOPED_TRACE(word);
    const StateSpace p = parse_state(word);
    StateInputs inputs = make_inputs(p);
    std::ranges::fill(inputs.u, 3);
    for (std::int64_t i = 0; i < p.channels * p.states; ++i) {
      const auto a = std::polar(std::exp(-1e-3), 2 * std::numbers::pi * static_cast<double>(1 + i % 15) / p.chunk);
      inputs.a[2 * i] = static_cast<float>(a.real()), inputs.a[2 * i + 1] = static_cast<float>(a.imag());
    }
    Plan plan(p, executor_machine(few_blocks()));
    prepare(plan, inputs);
    const StateOutputs made = execute(plan, inputs);
    expect_right(p, values_of(inputs), {{"y", made.y}, {"x_final", made.x_final}},
                 promise_of(p, plan.variant(), Device()));
  }
}

// The same of the chunks by which parts of a row leave their states, which are longer than those of y.
TEST(StateKernels, TakeConstantRowsIntoPolesThatTurnWithTheChunksOfEnds) {
  ExecutorOptions options = few_blocks();
  options.device.multiprocessors = 132;
  const StateSpace p = parse_state("ssmconv_f16_s4_l2882_b65_h2_initial_final");
  StateInputs inputs = make_inputs(p);
  std::ranges::fill(inputs.u, 3);
  const int chunk = state::choose(p, options.device, state::Work::convolve).layout().tuning.chunk;
  ASSERT_GT(ends_chunk(p, options.device), chunk) << "or this tests nothing";
  for (std::int64_t i = 0; i < p.channels * p.states; ++i) {
    const auto a = std::polar(std::exp(-3e-4), 2 * std::numbers::pi * (0.5 + static_cast<double>(i)) / chunk);
    inputs.a[2 * i] = static_cast<float>(a.real()), inputs.a[2 * i + 1] = static_cast<float>(a.imag());
  }
  Plan plan(p, executor_machine(options));
  prepare(plan, inputs);
  const StateOutputs made = execute(plan, inputs);
  expect_right(p, values_of(inputs), {{"y", made.y}, {"x_final", made.x_final}},
               promise_of(p, plan.variant(), options.device));
}

// What a group takes; of too few rows, and without such products, warps by themselves.
TEST(StateKernels, GroupsHaveManyRows) {
  const auto by_group = [](const char* word, int sm) {
    Device device;
    device.sm = sm;
    return state::choose(parse_state(word), device, state::Work::convolve).layout().key.group;
  };
  for (const char* word : {"ssmconv_f16_s64_l4096_b48_h1", "ssmconv_bf16_s33_l4096_b128_h1"}) {
    EXPECT_TRUE(by_group(word, 90)) << word;
    for (int sm : {80, 100}) EXPECT_FALSE(by_group(word, sm)) << word;
  }
  for (const char* word :
       {"ssmconv_f16_s64_l4096_b47_h1", "ssmconv_f16_s64_l4096_b65_h1", "ssmconv_f16_s32_l4096_b64_h1",
        "ssmconv_f16_s65_l4096_b64_h1", "ssmconv_f16_s64_l4096_b64_h1_t32"})
    EXPECT_FALSE(by_group(word, 90)) << word;
}

// Parts of rows, the last one shorter; any order of copies that are under way, and samples that no bulk copy takes.
TEST(StateKernels, GroupsTakePartsOfRows) {
  ExecutorOptions options = few_blocks();
  options.device.multiprocessors = 16;
  options.order = host::Order::random;
  for (const char* word : {"ssmconv_f16_s64_l4040_b64_h1_initial_final", "ssmconv_bf16_s48_l3992_b50_h1_final",
                           "ssmconv_f16_s36_l4001_b64_h1_initial_final", "ssmconv_f16_s64_l4000_b100_h1"}) {
    const StateSpace p = parse_state(word);
    EXPECT_GT(state_parts(p, options.device).count, 1) << word;
    for (int offset : {0, 1}) {
      ++options.seed;
      expect_right(p, Poles::slow, options, offset);
    }
  }
}

// Poles near the unit circle and on it, over many chunks.
TEST(StateKernels, RememberLongAgo) {
  for (const char* word : {"ssmconv_f16_s16_l4000_b3_h2_initial_final", "ssmconv_bf16_s16_l4000_b3_h2_initial_final",
                           "ssmconv_f16_s64_l3072_b1_h1_initial_final", "ssmconv_f16_s4_l30_b1_h3_initial_final",
                           "ssmconv_f16_s1_l33_b1_h1_initial_final"})
    for (Poles poles : {Poles::slow, Poles::unit}) expect_right(parse_state(word), poles);
}

TEST(StateKernels, InAnyOrderAndFromAnyAddress) {
  ExecutorOptions options = few_blocks();
  options.order = host::Order::random;
  for (const char* word : {"ssmconv_f16_s64_l200_b35_h2_initial_final", "ssmconv_bf16_s256_l136_b17_h1_final",
                           "ssmconv_f16_s3_l1200_b1_h3_initial_final", "ssmconv_f16_s33_l9_b3_h3_final"})
    for (int offset : {0, 1, 4}) {
      ++options.seed;
      expect_right(parse_state(word), Poles::any, options, offset);
    }
}

// The final state of a part is the initial one of the next, whatever kernel computes it.
TEST(StateKernels, GoOnWhereAPartEnded) {
  StateSpace p = parse_state("ssmconv_f16_s20_l1000_b2_h3_initial_final");
  const StateInputs whole = make_inputs(p);
  StateOutputs joined{std::vector<double>(whole.u.size()), whole.x_initial};
  std::int64_t begin = 0;
  for (std::int64_t length : {64, 1, 200, 31, 704}) {
    StateSpace part = p;
    part.length = length;
    StateInputs inputs = whole;
    inputs.u.clear(), inputs.x_initial = joined.x_final;
    for (std::int64_t row = 0; row < p.batch * p.channels; ++row)
      inputs.u.insert(inputs.u.end(), whole.u.begin() + row * p.length + begin,
                      whole.u.begin() + row * p.length + begin + length);
    Plan plan(part, executor_machine(few_blocks()));
    prepare(plan, inputs);
    const StateOutputs outputs = execute(plan, inputs);
    for (std::int64_t i = 0; i < std::ssize(outputs.y); ++i)
      joined.y[i / length * p.length + begin + i % length] = outputs.y[i];
    joined.x_final = outputs.x_final;
    begin += length;
  }
  ASSERT_EQ(begin, p.length);
  expect_right(p, whole, joined, Plan(p, executor_machine(few_blocks())).variant());
}

// What cannot be rounded is exact: sums of small numbers, whatever the path.
TEST(StateKernels, AreExactOfIntegers) {
  for (const char* word : {"ssmconv_f16_s2_l300_b3_h2_initial_final", "ssmconv_f16_s2_l1100_b1_h1_final",
                           "ssmconv_f16_s2_l20_b3_h2_initial_final"}) {
    const StateSpace p = parse_state(word);
    StateInputs inputs = make_inputs(p);
    for (std::size_t i = 0; i < inputs.u.size(); ++i) inputs.u[i] = static_cast<double>(i * i % 3) - 1;
    for (std::int64_t h = 0; h < p.channels; ++h) {
      const std::array<double, 4> a = {0, 1, -1, 0}, b = {1, 0, 2, 1}, c = {1, 0, 0, 1};
      for (int i = 0; i < 4; ++i) inputs.a[4 * h + i] = a[i], inputs.b[4 * h + i] = b[i], inputs.c[4 * h + i] = c[i];
    }
    for (std::size_t i = 0; i < inputs.x_initial.size(); ++i) inputs.x_initial[i] = static_cast<double>(i % 5);
    Plan plan(p, executor_machine(few_blocks()));
    prepare(plan, inputs);
    const StateOutputs expected = by_recurrence(p, inputs), outputs = execute(plan, inputs);
    EXPECT_EQ(outputs.y, expected.y) << word;
    EXPECT_EQ(outputs.x_final, expected.x_final) << word;
  }
}

// The scales take filters and states of any size; f16 samples are what they are.
TEST(StateKernels, TakeFiltersOfAnyScale) {
  struct Scales {
    double u, b, c;
  };
  for (const Scales& scales : {Scales{1, 1e-6, 1e6}, {1, 1e5, 1e-5}, {256, 1, 0x1p-16}, {0x1p-9, 1, 4096}}) {
    const StateSpace p = parse_state("ssmconv_f16_s12_l200_b2_h2_final");
    StateInputs inputs = make_inputs(p);
    for (double& u : inputs.u) u = round_to(p.dtype, u * scales.u);
    for (double& b : inputs.b) b = static_cast<float>(b * scales.b);
    for (double& c : inputs.c) c = static_cast<float>(c * scales.c);
    Plan plan(p, executor_machine(few_blocks()));
    prepare(plan, inputs);
    expect_right(p, inputs, execute(plan, inputs), plan.variant());
  }
}

TEST(StateKernels, TakeFewerRowsThanTheCase) {
  const StateSpace p = parse_state("ssmconv_f16_s8_l1200_b4_h2"), fewer = parse_state("ssmconv_f16_s8_l1200_b3_h2");
  StateInputs inputs = make_inputs(fewer);
  Plan plan(p, executor_machine(few_blocks()));
  prepare(plan, inputs);
  Field u(p.dtype, std::ssize(inputs.u), 0), y(p.dtype, std::ssize(inputs.u), 0);
  u.set(inputs.u);
  plan.execute({{"u", u.samples()}, {"y", y.samples()}}, {.batch = 3});
  EXPECT_TRUE(y.guards_are_whole());
  expect_right(fewer, inputs, {y.values(), {}}, plan.variant());
}

// Of the launch that has more than so much shared memory.
host::Counters counters_of(const StateSpace& p, int shared_bytes) {
  ExecutorOptions options = few_blocks();
  host::Counters counters;
  options.observer = [&](const Launch& launch, const host::Counters& counted) {
    if (launch.shared_bytes > shared_bytes) counters = counted;
  };
  const StateInputs inputs = make_inputs(p);
  Plan plan(p, executor_machine(options));
  prepare(plan, inputs);
  execute(plan, inputs);
  return counters;
}

// Of every sample T / 2 + 16 products of the chunk and 4 S of the states; u is read once and y written once. Matrices
// are read once for two chunks, so that products, of 1.5 clocks, take as long as shared memory.
TEST(StateKernels, MultiplyWhatTheModelSays) {
  const host::Counters counters = counters_of(parse_state("ssmconv_f16_s64_l4096_b32_h1"), 30 * 1024);
  const int samples = 4096 * 32;
  EXPECT_EQ(counters.mma_f32acc, (samples * (64 / 2 + 16 + 4 * 64) - 32 * 64 * 2 * 64) / 2048u) << "no last state";
  EXPECT_EQ(counters.global_store_sectors, 2u * samples / 32);
  EXPECT_EQ(counters.shared_conflicts, 0u);
  EXPECT_LT(counters.shared_wavefronts, 1.7 * static_cast<double>(counters.mma_f32acc)) << "and what all rows share";
}

// Of groups, 64 of the chunk and 4 S of the states; none of them by warps, and y nowhere but in its place.
TEST(StateKernels, GroupsMultiplyWhatTheModelSays) {
  const host::Counters counters = counters_of(parse_state("ssmconv_f16_s64_l4096_b64_h1"), 100 * 1024);
  const int samples = 4096 * 64;
  EXPECT_EQ(counters.mma_group, (samples * (64 + 4 * 64) - 64 * 64 * 2 * 64) / 2048u) << "no last state";
  EXPECT_EQ(counters.mma_f32acc, 0u);
  EXPECT_EQ(counters.bulk_load_bytes, 2u * samples);
  EXPECT_EQ(counters.bulk_store_bytes, 2u * samples);
  EXPECT_EQ(counters.global_store_sectors, 0u);
  EXPECT_EQ(counters.shared_conflicts, samples / 64u) << "y of two rows";
}

std::string refusal(const char* word, const Device& device = {}) {
  try {
    ExecutorOptions options = few_blocks();
    options.device = device;
    Plan plan(parse_case(word), executor_machine(options));
    return "none";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(StateKernels, RefuseWhatTheyAreNotFor) {
  EXPECT_EQ(refusal("ssmconv_f16_s64_l100_b1_h1_t96"),
            "ssmconv: no kernel for S=64 has chunks of 96 samples; there are chunks of 64, 32, 128");
  EXPECT_EQ(refusal("ssmconv_f32_s64_l100_b1_h1"), "ssmconv: no kernel has f32 samples; f16 and bf16 have some");
  EXPECT_EQ(refusal("ssmconv_f16_s1_l2147483647_b1_h1"),
            "ssmconv: no kernel for L=2147483647; there are some up to 2^31 - 1 - 32");
  EXPECT_NE(refusal("ssmconv_f16_s256_l100_b1_h1", device_like(2)).find("no kernel for S=256 on RTX: it needs "),
            std::string::npos);
  EXPECT_EQ(refusal("ssmconv_f16_s64_l100_b1_h1", device_like(2)), "none");
}

TEST(StateKernels, RefusePolesBeyondTheUnitCircle) {
  StateSpace p = parse_state("ssmconv_f16_s3_l100_b1_h2");
  StateInputs inputs = make_inputs(p);
  inputs.a[2 * 4] = 0.75, inputs.a[2 * 4 + 1] = 1;
  const auto refusal_of = [&] {
    try {
      Plan plan(p, executor_machine(few_blocks()));
      prepare(plan, inputs);
      return std::string("none");
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refusal_of(),
            "ssmconv: |A|=1.25 of state 1 of channel 1, must be at most 1; 'unstable' in the token allows more");
  p.unstable = true;
  EXPECT_EQ(refusal_of(), "none");
}

TEST(StateKernels, RefuseStatesThatLieAcrossComplexNumbers) {
  const StateSpace p = parse_state("ssmconv_f16_s2_l100_b1_h1_final");
  const StateInputs inputs = make_inputs(p);
  Plan plan(p, executor_machine(few_blocks()));
  prepare(plan, inputs);
  Field u(p.dtype, 100, 0), y(p.dtype, 100, 0), x(Dtype::f32, 4, 1);
  u.set(inputs.u);
  try {
    plan.execute({{"u", u.samples()}, {"y", y.samples()}, {"x_final", x.samples()}});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "execute: x_final is not aligned to the 8 bytes of its numbers");
  }
}

// A state that grows is right as long as f16 holds it.
TEST(StateKernels, GrowWhereTheyMay) {
  const StateSpace p = parse_state("ssmconv_f16_s1_l100_b2_h1_final_unstable");
  StateInputs inputs = make_inputs(p);
  inputs.a = {1.03, 0.02};
  for (double& a : inputs.a) a = static_cast<float>(a);
  Plan plan(p, executor_machine(few_blocks()));
  prepare(plan, inputs);
  expect_right(p, inputs, execute(plan, inputs), plan.variant());
}

}  // namespace
}  // namespace danaus
