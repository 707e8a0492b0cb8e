// Spectral layers on a CUDA device against the truth in double. Skipped where there is none.
#include "reference/spectral/layer.hpp"
#include "reference/spectral_gradient/spectral_gradient.hpp"
#include "reference/truth.hpp"
#include "tests/kernels/on_device.hpp"

namespace danaus {
namespace {

class CudaLayers : public OnCuda, public testing::WithParamInterface<std::tuple<const char*, const char*>> {};

// Often enough that the weights are prepared while a layer before still runs.
TEST_P(CudaLayers, AreWithinTheirBounds) {
  const auto [type, shape] = GetParam();
  const Spectral p = parse_spectral(text("spectral_", type, shape));
  Plan plan(p, cuda_machine());
  const SpectralInputs inputs = make_inputs(p);
  const KnownCase known(p, values_of(inputs));
  const std::vector<std::byte> w = host::encode_bytes(Dtype::f32, inputs.w);
  const auto device_w = uploaded(w);
  const Buffer weights("w", std::span(device_w.data(), w.size()));
  const CudaStream stream;
  for (int offset : {0, 2}) {
    SCOPED_TRACE(testing::Message() << token(p) << ", offset " << offset);
    Field u(p.dtype, arrays(p)[0].size(), offset), y(p.dtype, arrays(p)[2].size(), offset);
    u.set(inputs.u);
    OnDevice device_u(u), device_y(y);
    for (int call = 0; call < 3; ++call) {
      plan.prepare(std::span(&weights, 1), {.stream = stream});
      plan.execute({{"u", device_u.samples()}, {"y", device_y.samples()}}, {.stream = stream});
    }
    stream.synchronize();
    device_y.fetch();
    EXPECT_TRUE(y.guards_are_whole());
    expect_right(known, {{"y", y.values()}}, {});
  }
}

// du and dw, twice the same.
class CudaSpectralGradients : public CudaLayers {};

TEST_P(CudaSpectralGradients, AreWithinTheirBoundsAndRepeat) {
  const auto [type, shape] = GetParam();
  const Case asked = parse_case(text("spectralgrad_", type, shape));
  const Spectral& p = asked.as<SpectralGradient>()->forward;
  const Values values = make_values(asked);
  const KnownCase known(asked, values);
  const std::vector<Array> list = asked.arrays();
  Plan plan(asked, cuda_machine());
  const auto w = uploaded(host::encode_bytes(Dtype::f32, values.at("w")));
  const Buffer weights("w", std::span(w.data(), w.bytes()));
  const CudaStream stream;
  plan.prepare(std::span(&weights, 1), {.stream = stream});
  Field u(p.dtype, list[0].size(), 0), dy(p.dtype, list[2].size(), 0);
  u.set(values.at("u")), dy.set(values.at("dy"));
  const OnDevice device_u(u), device_dy(dy);
  std::vector<double> first;
  for (int call = 0; call < 2; ++call) {
    Field du(p.dtype, list[3].size(), 0), dw(Dtype::f32, list[4].size(), 0);
    OnDevice device_du(du), device_dw(dw);
    plan.execute({{"u", device_u.samples()},
                  {"dy", device_dy.samples()},
                  {"du", device_du.samples()},
                  {"dw", device_dw.samples()}},
                 {.stream = stream});
    stream.synchronize();
    device_du.fetch(), device_dw.fetch();
    EXPECT_TRUE(du.guards_are_whole() && dw.guards_are_whole());
    expect_right(known, {{"du", du.values()}, {"dw", dw.values()}}, {});
    if (call == 0) first = dw.values();
    EXPECT_EQ(first, dw.values());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, CudaSpectralGradients,
    testing::Combine(testing::Values("f32_tf32", "f32", "f16", "bf16"),
                     testing::Values("_complex_b140_c64x64_l128_m64_shared_channelmajor", "_b33_c64x40_l256_m16",
                                     "_complex_b3_c5x37_l36_m7", "_complex_b3_c16x24_l64x64_m16x16_twosided",
                                     "_b5_c20x33_l85x100_m12x17_twosided_channelmajor", "_b9_c3x2_l64x48_m5x9_shared")),
    [](const auto& info) { return text(std::get<0>(info.param), std::get<1>(info.param)); });

// One kernel serves both; the second plan needs less shared memory.
using CudaLayer = OnCuda;
TEST_F(CudaLayer, OfOnePlanOutlivesAnother) {
  const Spectral p = parse_spectral("spectral_f32_tf32_complex_b2_c64x64_l128_m64_shared");
  const auto machine = cuda_machine();
  Plan plan(p, machine);
  const Plan smaller(parse_spectral("spectral_f32_tf32_complex_b2_c4x4_l16_m4_shared"), machine);
  const SpectralInputs inputs = make_inputs(p);
  const auto w = uploaded(host::encode_bytes(Dtype::f32, inputs.w));
  const Buffer weights("w", std::span(w.data(), w.bytes()));
  const CudaStream stream;
  plan.prepare(std::span(&weights, 1), {.stream = stream});
  Field u(p.dtype, arrays(p)[0].size(), 0), y(p.dtype, arrays(p)[2].size(), 0);
  u.set(inputs.u);
  OnDevice device_u(u), device_y(y);
  plan.execute({{"u", device_u.samples()}, {"y", device_y.samples()}}, {.stream = stream});
  stream.synchronize();
  device_y.fetch();
  expect_right(p, values_of(inputs), {{"y", y.values()}}, {});
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, CudaLayers,
    testing::Combine(
        testing::Values("f32_tf32", "f32", "f16", "bf16"),
        testing::Values("_complex_b40_c32x64_l128_m64_shared_channelmajor",
                        "_complex_b140_c128x128_l256_m64_shared_channelmajor", "_complex_b300_c64x64_l128_m64_shared",
                        "_complex_b3_c5x19_l33_m33_shared", "_complex_b29_c17x8_l48_m20_twosided",
                        "_b33_c64x64_l1024_m16",
                        // Blocks of one item and of several, with weights of each frequency.
                        "_complex_b16_c64x64_l128_m64", "_b128_c64x64_l64_m32",
                        // Of clusters of two, four, eight; outputs beside inputs.
                        "_complex_b1_c255x20_l136_m64_shared", "_complex_b3_c60x64_l130_m40_shared",
                        "_complex_b1_c128x128_l256_m64_shared_channelmajor", "_complex_b1_c64x50_l160_m80_shared",
                        // In passes: few items, spectra beyond a block, many weights, two axes, few frequencies.
                        "_b2_c64x64_l1024_m16", "_complex_b600_c64x64_l128_m64", "_b20_c32x32_l64x64_m12x12_twosided",
                        "_b4_c256x200_l1024_m500_shared", "_complex_b3_c16x24_l128x128_m64x64_shared_channelmajor",
                        "_complex_b2_c3x5_l256x256_m64x64_shared_channelmajor", "_b5_c20x33_l85x100_m12x17_twosided",
                        "_complex_b1_c2x2_l512x64_m512x64_shared", "_complex_b2_c4x3_l40x33_m25x7_shared",
                        "_b2_c2x3_l1024x16_m5x9_adjoint", "_b7_c7x3_l51_m26_shared", "_b1_c1x1_l17_m9",
                        "_b9_c20x3_l32_m17_adjoint")),
    [](const auto& info) { return text(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace
}  // namespace danaus
