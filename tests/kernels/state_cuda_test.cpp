// Convolutions by state-space models on a CUDA device against the truth in double. Skipped where there is none.
#include "tests/kernels/on_device.hpp"
#include "tests/kernels/state_support.hpp"

namespace danaus {
namespace {

class CudaStates : public OnCuda, public testing::WithParamInterface<std::tuple<const char*, const char*>> {};

void expect_right(const StateSpace& p, Poles poles, int offset, Plan& plan) {
  SCOPED_TRACE(testing::Message() << token(p) << ", poles " << int(poles) << ", offset " << offset);
  const StateInputs inputs = make_inputs(p, poles);
  const auto a = host::encode_bytes(Dtype::f32, inputs.a), b = host::encode_bytes(Dtype::f32, inputs.b);
  const auto c = host::encode_bytes(Dtype::f32, inputs.c);
  const std::array<Buffer, 3> filters = {Buffer("a", std::span(a)), Buffer("b", std::span(b)),
                                         Buffer("c", std::span(c))};
  const std::int64_t states = 2 * p.batch * p.channels * p.states;
  Field u(p.dtype, std::ssize(inputs.u), offset), y(p.dtype, std::ssize(inputs.u), offset);
  Field x_initial(Dtype::f32, states, 0), x_final(Dtype::f32, states, 0);
  u.set(inputs.u);
  if (p.initial) x_initial.set(inputs.x_initial);
  OnDevice device_u(u), device_y(y), device_initial(x_initial), device_final(x_final);
  std::vector<Buffer> buffers = {{"u", device_u.samples()}, {"y", device_y.samples()}};
  if (p.initial) buffers.emplace_back("x_initial", device_initial.samples());
  if (p.final) buffers.emplace_back("x_final", device_final.samples());
  const CudaStream stream;
  for (int call = 0; call < 3; ++call) {
    plan.prepare(filters, {.stream = stream});
    plan.execute(buffers, {.stream = stream});
  }
  stream.synchronize();
  device_y.fetch(), device_final.fetch();
  EXPECT_TRUE(y.guards_are_whole());
  EXPECT_TRUE(x_final.guards_are_whole());
  expect_right(p, inputs, {y.values(), p.final ? x_final.values() : std::vector<double>()}, plan.variant());
}

TEST_P(CudaStates, AreWithinTheirBounds) {
  const auto [type, shape] = GetParam();
  const StateSpace p = parse_state(text("ssmconv_", type, shape));
  Plan plan(p, cuda_machine());
  for (Poles poles : {Poles::any, Poles::slow, Poles::unit})
    for (int offset : {0, 1}) expect_right(p, poles, offset, plan);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, CudaStates,
    testing::Combine(testing::Values("f16", "bf16"),
                     testing::Values("_s64_l2048_b64_h5_initial_final", "_s64_l2048_b64_h5_t128_initial_final",
                                     "_s40_l1001_b50_h3_initial_final", "_s64_l4104_b120_h1_initial_final",
                                     "_s16_l2000_b70_h5_final", "_s32_l1003_b33_h7_initial_final", "_s128_l1024_b17_h3",
                                     "_s200_l1111_b19_h3_initial_final", "_s64_l16384_b1_h3_initial_final",
                                     "_s5_l5000_b3_h11_final", "_s1_l33_b1_h1_initial_final",
                                     "_s64_l1_b2_h300_initial_final", "_s17_l31_b5_h3_initial_final")),
    [](const auto& info) { return text(std::get<0>(info.param), std::get<1>(info.param)); });

// Thousands of chunks of a state that forgets nothing, of few rows, which are cut into parts, and of whole ones.
using CudaState = OnCuda;
TEST_F(CudaState, RemembersAMillionSamples) {
  for (const char* word : {"ssmconv_f16_s16_l1048576_b1_h2_initial_final", "ssmconv_f16_s16_l1048576_b40_h2_final"}) {
    const StateSpace p = parse_state(word);
    Plan plan(p, cuda_machine(0, 1));
    for (Poles poles : {Poles::slow, Poles::unit}) expect_right(p, poles, 0, plan);
  }
}

}  // namespace
}  // namespace danaus
