// Spectral layers by their kernels, through a plan on the executor, against the truth in double.
#include "reference/spectral/layer.hpp"

#include <algorithm>

#include "kernels/executor/aligned.hpp"
#include "reference/half.hpp"
#include "reference/spectral_gradient/spectral_gradient.hpp"
#include "reference/truth.hpp"
#include "tests/kernels/fields.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {
namespace {

// A workspace of the caller, whose bytes are no numbers until a kernel writes them.
class Workspace {
 public:
  explicit Workspace(const Plan& plan) : memory_(plan.workspace_bytes(0)) {
    std::ranges::fill(memory_.all(), std::byte{0xff});
  }
  CallOptions options() const {
    CallOptions options;
    options.workspace = memory_.data(), options.workspace_bytes = memory_.bytes();
    return options;
  }

 private:
  host::AlignedArray<std::byte> memory_;
};

std::vector<double> execute_layer(const Spectral& p, const SpectralInputs& inputs, const ExecutorOptions& options,
                                  int offset) {
  Plan plan(p, executor_machine(options));
  const std::vector<std::byte> w = host::encode_bytes(Dtype::f32, inputs.w);
  const Buffer weights("w", std::span(w));
  plan.prepare(std::span(&weights, 1));
  Field u(p.dtype, arrays(p)[0].size(), offset), y(p.dtype, arrays(p)[2].size(), offset);
  u.set(inputs.u);
  plan.execute({{"u", u.samples()}, {"y", y.samples()}}, Workspace(plan).options());
  EXPECT_TRUE(y.guards_are_whole());
  return y.values();
}

void expect_right(const Spectral& p, const ExecutorOptions& options = few_blocks(), int offset = 0, double scale = 1) {
  SCOPED_TRACE(testing::Message() << token(p) << ", offset " << offset << ", scale " << scale);
  SpectralInputs inputs = make_inputs(p);
  for (double& value : inputs.u) value = round_to(p.dtype, scale * value);
  expect_right(p, values_of(inputs), {{"y", execute_layer(p, inputs, options, offset)}}, {});
}

class SpectralKernels : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(SpectralKernels, AreWithinTheirBounds) {
  const auto [type, shape] = GetParam();
  const Spectral p = parse_spectral(text("spectral_", type, shape));
  expect_right(p);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, SpectralKernels,
    testing::Combine(testing::Values("f32_tf32", "f32", "f16", "bf16"),
                     testing::Values(
                         // As TurboFNO is timed; odd lengths, one mode and all; one channel and more than two tiles;
                         // weights of each frequency with as many items as a product has columns, fewer and more.
                         "_complex_b2_c32x64_l128_m64_shared_channelmajor", "_complex_b3_c64x32_l64_m32_shared",
                         "_complex_b1_c1x1_l16_m1_shared", "_complex_b2_c5x19_l33_m33_shared",
                         "_complex_b2_c17x8_l48_m20_shared_twosided", "_complex_b11_c5x9_l36_m7",
                         "_complex_b8_c16x16_l32_m4_twosided_channelmajor", "_b2_c24x40_l96_m49_shared",
                         "_b3_c7x3_l51_m26_shared", "_b5_c20x33_l100_m12", "_b1_c1x2_l17_m9", "_b2_c2x2_l1024_m2",
                         "_b9_c3x2_l16_m9_channelmajor",
                         // More items than blocks of many warps are for.
                         "_complex_b129_c32x20_l40_m20_shared", "_complex_b131_c5x9_l36_m7",
                         "_b129_c20x3_l33_m17_shared", "_b130_c7x3_l16_m9", "_complex_b129_c3x65_l16_m9_shared",
                         // Of blocks that take items in turn, with tables; halves with a point in the middle.
                         "_complex_b131_c16x20_l64_m32_shared", "_complex_b2_c5x3_l34_m17_shared", "_b3_c4x5_l50_m26",
                         "_complex_b129_c3x2_l144_m16_shared", "_complex_b133_c65x3_l16_m2",
                         "_b129_c66x5_l17_m9_shared", "_b130_c2x65_l16_m9", "_complex_b2_c5x19_l32_m8_shared_adjoint",
                         "_b2_c20x3_l32_m17_adjoint",
                         // Of many weights for each row, for which a block has some items at once, the last one fewer.
                         "_b11_c2x200_l16_m9", "_complex_b11_c2x100_l16_m16")),
    [](const auto& info) { return text(std::get<0>(info.param), std::get<1>(info.param)); });

// Whole tiles of as many frequencies as a warp of a team has at once, whose points come some steps ahead.
INSTANTIATE_TEST_SUITE_P(OfTeams, SpectralKernels,
                         testing::Combine(testing::Values("f32_tf32", "f32", "f16", "bf16"),
                                          testing::Values("_complex_b133_c32x8_l128_m64_shared",
                                                          "_complex_b263_c17x20_l64_m33_shared")));

// Of few items blocks of a cluster share out the inputs: two, four or eight of them; outputs where inputs were and
// beside them.
class SpectralClusters : public testing::TestWithParam<std::tuple<const char*, std::pair<const char*, int>>> {};

TEST_P(SpectralClusters, AreWithinTheirBounds) {
  const auto [type, shape] = GetParam();
  ExecutorOptions options = few_blocks();
  options.device.multiprocessors = 132;
  int cluster = 0;
  options.observer = [&](const Launch& launch, const host::Counters&) { cluster = std::max(cluster, launch.cluster); };
  for (const host::Order order : {host::Order::ascending, host::Order::random}) {
    options.order = order;
    expect_right(parse_spectral(text("spectral_", type, shape.first)), options);
  }
  EXPECT_EQ(cluster, shape.second);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, SpectralClusters,
    testing::Combine(testing::Values("f32_tf32", "f32", "f16", "bf16"),
                     testing::Values(std::pair("_complex_b2_c96x96_l144_m36_shared", 2),
                                     std::pair("_complex_b1_c255x20_l136_m64_shared", 2),
                                     std::pair("_complex_b3_c60x64_l130_m40_shared_channelmajor", 4),
                                     std::pair("_complex_b1_c64x50_l160_m80_shared", 4),
                                     std::pair("_complex_b1_c128x256_l131_m17_shared_twosided", 8))));

// And so transform each input once.
TEST(SpectralClusters, MultiplyAsOftenAsOneBlockWould) {
  ExecutorOptions options = few_blocks();
  options.device.multiprocessors = 132;
  host::Counters counters;
  options.observer = [&](const Launch& launch, const host::Counters& counted) {
    if (launch.cluster > 1) counters = counted;
  };
  const Spectral p = parse_spectral("spectral_f32_tf32_complex_b1_c64x64_l256_m64_shared");
  execute_layer(p, make_inputs(p), options, 0);
  EXPECT_EQ(static_cast<double>(counters.mma_tf32), (1. * 256 * 64 * (64 + 64) + 4. * 64 * 64 * 64) / (16 * 8 * 8));
}

// Of two axes, or of one on a device with more multiprocessors than long rows are work for: by passes.
class SpectralPasses : public testing::TestWithParam<std::tuple<const char*, const char*, int>> {};

TEST_P(SpectralPasses, AreWithinTheirBounds) {
  const auto [type, shape, multiprocessors] = GetParam();
  ExecutorOptions options = few_blocks();
  options.device.multiprocessors = multiprocessors;
  expect_right(parse_spectral(text("spectral_", type, shape)), options);
}

INSTANTIATE_TEST_SUITE_P(OfOneAxis, SpectralPasses,
                         testing::Combine(testing::Values("f32_tf32", "f32", "f16", "bf16"),
                                          testing::Values(
                                              // Warps that share out the points of a tile, of units one after the other
                                              // too; slices of channels, of which the last is smaller.
                                              "_b2_c20x33_l516_m12", "_complex_b1_c40x70_l512_m7", "_b133_c3x2_l264_m5",
                                              "_complex_b2_c40x33_l64_m40_shared_channelmajor",
                                              "_complex_b3_c5x19_l33_m33_shared", "_complex_b9_c5x19_l513_m7",
                                              "_b2_c24x40_l96_m49_shared", "_b5_c20x33_l520_m12_channelmajor",
                                              "_b1_c1x2_l513_m9_adjoint"),
                                          testing::Values(132)));

INSTANTIATE_TEST_SUITE_P(
    OfTwoAxes, SpectralPasses,
    testing::Combine(testing::Values("f32_tf32", "f32", "f16", "bf16"),
                     testing::Values("_complex_b2_c3x5_l32x48_m12x20_shared_channelmajor",
                                     "_complex_b1_c2x2_l17x33_m5x33_shared", "_complex_b1_c2x3_l64x64_m64x32_shared",
                                     "_complex_b2_c2x2_l136x32_m128x32_shared", "_complex_b9_c3x2_l16x24_m4x3_twosided",
                                     "_complex_b2_c4x3_l64x48_m16x7_shared_twosided",
                                     "_complex_b2_c4x3_l40x33_m25x7_shared_channelmajor",
                                     "_complex_b2_c4x3_l24x20_m5x7_shared_adjoint",
                                     "_complex_b3_c2x3_l96x16_m5x3_shared", "_b2_c2x3_l40x36_m6x19_twosided",
                                     "_b2_c3x2_l16x17_m16x9_shared_channelmajor",
                                     "_complex_b2_c1x2_l16x16_m4x4_adjoint"),
                     testing::Values(1, 132)));

// Of few frequencies, as neural operators have them; of many rows.
INSTANTIATE_TEST_SUITE_P(OfFewFrequencies, SpectralPasses,
                         testing::Combine(testing::Values("f32_tf32", "f32", "f16"),
                                          testing::Values("_b130_c2x3_l18x32_m3x4", "_b1_c3x2_l20x264_m4x16_twosided",
                                                          "_b257_c2x2_l24_m3"),
                                          testing::Values(132)));

// Slices of channels, of which the last is smaller.
TEST(SpectralPasses, OfMoreChannelsThanMultiprocessors) {
  ExecutorOptions options = few_blocks();
  options.device.multiprocessors = 3;
  for (const char* type : {"f32_tf32", "f32", "f16"})
    expect_right(parse_spectral(text("spectral_", type, "_b1_c2x70_l16x16_m2x4")), options);
}

// Spectra that have no room on the chip: of one axis passes instead of one kernel, of two axes another pass back.
TEST(SpectralPasses, WithLittleSharedMemory) {
  ExecutorOptions options = few_blocks();
  options.device.block_bytes = 48 << 10;
  for (const char* word :
       {"spectral_f32_tf32_complex_b2_c40x33_l64_m40_shared", "spectral_f16_b9_c70x33_l64_m33",
        "spectral_f32_tf32_complex_b2_c2x2_l72x66_m70x65_shared_channelmajor", "spectral_bf16_b1_c1x2_l96x64_m90x33"})
    expect_right(parse_spectral(word), options);
}

// Of the kernel that has most of the work on a device of many multiprocessors.
std::string name_of(const char* word) {
  ExecutorOptions options = few_blocks();
  options.device.multiprocessors = 132;
  return std::string(Plan(parse_case(word), executor_machine(options)).variant().name);
}

// Weights of each frequency: one launch but for few long rows, and for many rows with many weights each.
TEST(SpectralPasses, OfFewLongRowsAndOfManyWeights) {
  for (const char* word : {"spectral_f32_tf32_b1_c16x16_l64_m16", "spectral_f32_tf32_b64_c64x64_l1024_m16"})
    EXPECT_EQ(name_of(word).find("there"), std::string::npos) << word;
  for (const char* word : {"spectral_f32_tf32_b1_c64x64_l1024_m16", "spectral_f32_tf32_complex_b1024_c64x64_l128_m64"})
    EXPECT_NE(name_of(word).find("there"), std::string::npos) << word;
}

// Of two axes: there and back by turns of the axes where planes are few and weights shared.
TEST(SpectralPasses, OfFewPlanesAxisByAxis) {
  EXPECT_NE(name_of("spectral_f32_tf32_complex_b1_c64x64_l128x128_m64x64_shared").find("byaxes"), std::string::npos);
  for (const char* word :
       {"spectral_f32_tf32_complex_b64_c64x64_l128x128_m64x64_shared",
        "spectral_f32_tf32_b1_c64x64_l128x128_m16x16_shared", "spectral_f32_tf32_complex_b1_c64x64_l128x128_m16x16"})
    EXPECT_NE(name_of(word).find("there"), std::string::npos) << word;
}

// Some items after others, so that what is between passes stays small.
TEST(SpectralPasses, OfMoreItemsThanAChunk) {
  ExecutorOptions options = few_blocks();
  options.device.cache_bytes = 1 << 7, options.device.multiprocessors = 132;
  for (const char* word :
       {"spectral_f32_tf32_complex_b5_c3x4_l32_m12_shared", "spectral_f16_b5_c3x2_l32_m17_channelmajor",
        "spectral_f32_complex_b3_c2x3_l16x18_m4x5_channelmajor", "spectral_bf16_b3_c2x1_l16x16_m4x4"})
    expect_right(parse_spectral(word), options);
}

// More planes than blocks share slices of: teams take them in turn, rows along X in chunks of which the last is
// smaller.
TEST(SpectralPasses, OfManyPlanes) {
  for (int multiprocessors : {1, 132}) {
    ExecutorOptions options = few_blocks();
    options.device.multiprocessors = multiprocessors;
    for (const char* word :
         {"spectral_f32_tf32_complex_b65_c4x4_l80x32_m12x18", "spectral_f32_tf32_complex_b87_c3x3_l17x36_m5x18",
          "spectral_f32_tf32_b65_c4x4_l36x40_m7x18_shared_twosided_channelmajor",
          "spectral_f32_complex_b65_c4x4_l80x36_m12x17", "spectral_f16_complex_b65_c4x4_l80x72_m12x33"})
      expect_right(parse_spectral(word), options);
  }
}

// du and dw of a plan on the executor.
void expect_gradients(const char* word, const ExecutorOptions& options = few_blocks()) {
  SCOPED_TRACE(word);
  const Case asked = parse_case(word);
  const Spectral& p = asked.as<SpectralGradient>()->forward;
  const Values values = make_values(asked);
  Plan plan(asked, executor_machine(options));
  const std::vector<std::byte> w = host::encode_bytes(Dtype::f32, values.at("w"));
  const Buffer weights("w", std::span(w));
  plan.prepare(std::span(&weights, 1));
  const std::vector<Array> list = asked.arrays();
  Field u(p.dtype, list[0].size(), 0), dy(p.dtype, list[2].size(), 0);
  Field du(p.dtype, list[3].size(), 0), dw(Dtype::f32, list[4].size(), 0);
  u.set(values.at("u")), dy.set(values.at("dy"));
  plan.execute({{"u", u.samples()}, {"dy", dy.samples()}, {"du", du.samples()}, {"dw", dw.samples()}},
               Workspace(plan).options());
  EXPECT_TRUE(du.guards_are_whole() && dw.guards_are_whole());
  expect_right(asked, values, {{"du", du.values()}, {"dw", dw.values()}}, {});
}

class SpectralGradients : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(SpectralGradients, AreWithinTheirBounds) {
  const auto [type, shape] = GetParam();
  expect_gradients(text("spectralgrad_", type, shape).c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, SpectralGradients,
    testing::Combine(testing::Values("f32_tf32", "f32", "f16", "bf16"),
                     testing::Values("_complex_b3_c5x37_l36_m7", "_complex_b70_c33x3_l16_m9_shared",
                                     "_b9_c7x3_l51_m26_shared_channelmajor", "_b2_c3x2_l16_m9",
                                     "_complex_b2_c2x3_l17x20_m3x5_twosided",
                                     "_b11_c3x2_l16x18_m4x10_twosided_channelmajor", "_b2_c2x3_l16x16_m5x9_shared")),
    [](const auto& info) { return text(std::get<0>(info.param), std::get<1>(info.param)); });

TEST(SpectralGradients, OfMoreItemsThanAChunk) {
  ExecutorOptions options = few_blocks();
  options.device.cache_bytes = 1 << 7, options.device.multiprocessors = 132;
  expect_gradients("spectralgrad_f32_tf32_complex_b19_c3x4_l32_m12_shared", options);
  expect_gradients("spectralgrad_f16_b19_c3x2_l32_m17_channelmajor", options);
  expect_gradients("spectralgrad_f32_b5_c3x2_l16x16_m4x5", options);
}

// Spectra and their products are below the normal range of f16 too.
TEST(SpectralKernels, KeepQuietRows) {
  for (const char* word :
       {"spectral_f16_b16_c1x46_l20_m3_channelmajor", "spectral_f16_b15_c2x9_l36_m11_adjoint",
        "spectral_f16_complex_b133_c1x1_l65_m32_shared_twosided", "spectral_f16_b2_c4x6_l32x32_m8x8_twosided"})
    for (double scale : {1e-3, 1e-5, 1e-6}) expect_right(parse_spectral(word), few_blocks(), 0, scale);
}

TEST(SpectralKernels, OfManyChannels) {
  for (const char* word : {"spectral_f32_tf32_complex_b1_c128x72_l32_m16_shared", "spectral_f32_b1_c80x100_l24_m8",
                           "spectral_f16_b1_c256x256_l16_m9_shared", "spectral_bf16_complex_b2_c70x65_l32_m16"})
    expect_right(parse_spectral(word));
}

TEST(SpectralKernels, OfManyModes) {
  expect_right(parse_spectral("spectral_f32_tf32_b1_c3x4_l1000_m501_shared"));
  expect_right(parse_spectral("spectral_f16_complex_b2_c4x3_l512_m257"));
}

TEST(SpectralKernels, InAnyOrderAndFromAnyAddress) {
  ExecutorOptions options = few_blocks();
  options.order = host::Order::random;
  for (const char* word : {"spectral_f32_tf32_complex_b2_c18x20_l32_m16_shared", "spectral_f16_b9_c18x20_l32_m9",
                           "spectral_bf16_complex_b2_c3x4_l32_m9_shared", "spectral_f32_b3_c3x4_l32_m9"})
    for (int offset : {0, 2, 6}) {
      ++options.seed;
      expect_right(parse_spectral(word), options, offset);
    }
}

TEST(SpectralKernels, RefuseHalfAComplexSample) {
  const Spectral p = parse_spectral("spectral_f32_complex_b1_c2x2_l16_m4");
  try {
    execute_layer(p, make_inputs(p), {}, 1);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "execute: u is not aligned to the 8 bytes of its numbers");
  }
}

// In one launch; of two axes, axis by axis.
TEST(SpectralKernels, TakeFewerItemsThanTheCase) {
  ExecutorOptions options = few_blocks();
  options.device.multiprocessors = 132;
  constexpr std::int64_t kFewer = 9;
  for (const char* word : {"spectral_f32_b10_c3x4_l32_m9", "spectral_f32_complex_b10_c3x4_l16x18_m4x5_shared"}) {
    const Spectral p = parse_spectral(word);
    const SpectralInputs inputs = make_inputs(p);
    Plan plan(p, executor_machine(options));
    const std::vector<std::byte> w = host::encode_bytes(Dtype::f32, inputs.w);
    const Buffer weights("w", std::span(w));
    plan.prepare(std::span(&weights, 1));
    const std::int64_t numbers_of_row = points_of_row(p) * (p.complex ? 2 : 1),
                       numbers_of_u = kFewer * p.inputs * numbers_of_row,
                       numbers_of_y = kFewer * p.outputs * numbers_of_row;
    Field u(p.dtype, numbers_of_u, 0), y(p.dtype, numbers_of_y, 0);
    u.set({inputs.u.begin(), inputs.u.begin() + numbers_of_u});
    plan.execute({{"u", u.samples()}, {"y", y.samples()}}, {.batch = kFewer});
    Spectral few = p;
    few.batch = kFewer;
    expect_right(few, {{"u", u.values()}, {"w", inputs.w}}, {{"y", y.values()}}, {});
    EXPECT_TRUE(y.guards_are_whole()) << word;
  }
}

// Products of what folding twice leaves: X M / 2 numbers each way for each of two parts, and four products of channels.
TEST(SpectralKernels, MultiplyAQuarterOfWhatDenseMatricesWould) {
  const Spectral p = parse_spectral("spectral_f32_tf32_complex_b1_c32x64_l128_m64_shared");
  ExecutorOptions options = few_blocks();
  host::Counters counters;
  options.observer = [&](const Launch& launch, const host::Counters& counted) {
    if (launch.shared_bytes > 0) counters = counted;
  };
  execute_layer(p, make_inputs(p), options, 0);
  const double numbers = 1. * 128 * 64 * (32 + 64) + 4. * 32 * 64 * 64;
  EXPECT_EQ(static_cast<double>(counters.mma_tf32), numbers / (16 * 8 * 8));
  EXPECT_EQ(counters.global_store_sectors, 8u * 128 * 64 / 32);
}

TEST(SpectralKernels, RefuseWhatTheyHaveNoRoomFor) {
  const auto refusal = [](const char* word) {
    try {
      Plan plan(parse_case(word), executor_machine(few_blocks()));
      return std::string("none");
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(refusal("spectral_f32_b1_c4x4_l15_m4").find("no kernel for X=15; there are some from 16 to 1024"),
            std::string::npos);
  EXPECT_NE(refusal("spectral_f32_b1_c4x257_l16_m4").find("no kernel for 257 channels"), std::string::npos);
  EXPECT_NE(refusal("spectral_f64_b1_c4x4_l16_m4").find("no kernel has f64 samples"), std::string::npos);
  EXPECT_NE(refusal("spectral_f32_b1_c4x4_l16x1025_m4x4").find("no kernel for an axis of 1025"), std::string::npos);
}

}  // namespace
}  // namespace danaus
