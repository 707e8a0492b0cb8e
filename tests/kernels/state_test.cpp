// Convolutions by state-space models by their kernels, through a plan on the executor, against the truth in double.
#include "kernels/plan/state.hpp"

#include <random>

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

void expect_right(const StateSpace& p, Poles poles = Poles::any, const ExecutorOptions& options = {}, int offset = 0) {
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
                         "_s64_l128_b2_h2_initial_final", "_s1_l1_b1_h1_t64_final", "_s16_l64_b3_h1_initial",
                         "_s17_l200_b2_h3_initial_final", "_s5_l63_b33_h2_final", "_s64_l100_b67_h1_initial_final",
                         "_s40_l257_b1_h3", "_s128_l130_b17_h1_initial_final", "_s100_l96_b1_h2_final",
                         "_s256_l150_b18_h1_initial_final", "_s129_l64_b2_h1_final",
                         "_s64_l300_b3_h1_t128_initial_final",
                         // Rows cut into parts.
                         "_s8_l1100_b1_h2", "_s8_l1537_b2_h1_initial_final", "_s16_l2049_b1_h1_final",
                         // The recurrence.
                         "_s64_l1_b3_h3_initial_final", "_s3_l31_b2_h5", "_s256_l7_b1_h2_initial_final")),
    [](const auto& info) { return text(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace
}  // namespace danaus
