// Short convolutions and their gradients by their kernels, through a plan on the executor, against the truth in double.
#include <random>

#include "kernels/cpu/program_work.hpp"
#include "reference/half.hpp"
#include "tests/kernels/short_support.hpp"
#include "tests/sanitized.hpp"

namespace danaus {
namespace {

std::map<std::string, Field> execute(const Case& asked, const Values& values, const ExecutorOptions& options,
                                     int offset, int offset_of_y) {
  Plan plan(asked, executor_machine(options));
  auto fields = fields_of(asked, values, offset, offset_of_y);
  std::vector<Buffer> buffers;
  for (auto& [name, field] : fields) buffers.emplace_back(name, std::span(field.samples()));
  plan.whole_call(buffers);
  expect_right(asked, values, fields, plan.variant());
  return fields;
}

void expect_right(const std::string& token, const ExecutorOptions& options = few_blocks(), int offset = 0,
                  int offset_of_y = 0) {
  SCOPED_TRACE(testing::Message() << token << ", offsets " << offset << " and " << offset_of_y << ", seed "
                                  << options.seed);
  const Case asked = parse_case(token);
  execute(asked, make_values(asked), options, offset, offset_of_y);
}

class ShortKernels : public testing::TestWithParam<std::tuple<const char*, const char*, const char*>> {
 protected:
  std::string token(const char* word) const {
    const auto [type, layout, shape] = GetParam();
    return text(word, type, '_', shape, layout);
  }
};

TEST_P(ShortKernels, AreWithinTheirBounds) { expect_right(token("shortconv_")); }
TEST_P(ShortKernels, HaveGradientsWithinTheirBounds) { expect_right(token("shortconvgrad_")); }

INSTANTIATE_TEST_SUITE_P(Shapes, ShortKernels,
                         testing::Combine(testing::Values("f16", "bf16"), testing::Values("", "_channelslast"),
                                          testing::ValuesIn(kShortShapes)),
                         [](const auto& info) {
                           return text(std::get<0>(info.param), '_', std::get<2>(info.param), std::get<1>(info.param));
                         });

TEST(ShortKernels, TakeFiltersOfTheirOwnType) {
  for (const char* word :
       {"shortconv_bf16_causal_k4_kbf16_l70_b2_h9_bias", "shortconv_f16_same_k40_kf16_l70_b2_h9_bias",
        "shortconvgrad_bf16_causal_k20_kbf16_l70_b2_h9_bias_channelslast"})
    expect_right(word);
}

// What is rounded to f16 below its normal range is multiplied by loud gates behind.
TEST(ShortKernels, KeepQuietRowsBehindLoudGates) {
  for (const char* shape : {"_causal_k61_l1_b9_h88_postgate", "_same_k38_l3_b7_h75_postgate_channelslast",
                            "_causal_k157_l41_b2_h20_pregate_postgate", "_causal_k5_l9_b2_h20_pregate_postgate"})
    for (const char* word : {"shortconv_f16", "shortconvgrad_f16"})
      for (double scale : {1e-3, 1e-5}) {
        const Case asked = parse_case(text(word, shape));
        SCOPED_TRACE(text(asked.token(), ", scale ", scale));
        Values values = make_values(asked);
        for (const auto& [name, by] : {std::pair("u", scale), {"dy", scale}, {"pregate", 16.}, {"postgate", 16.}})
          if (const auto array = values.find(name); array != values.end())
            for (double& value : array->second) value = round_to(Dtype::f16, by * value);
        execute(asked, values, few_blocks(), 0, 0);
      }
}

// Rows that begin anywhere, in any order of lanes and copies.
TEST(ShortKernels, OfRandomShapesOrdersAndAddresses) {
  std::mt19937 random(23);
  const auto up_to = [&](int most) { return 1 + static_cast<int>(random() % most); };
  for (int i = 0; i < (kSanitized ? 20 : 60); ++i) {
    ShortConvolution p;
    p.dtype = i % 2 ? Dtype::f16 : Dtype::bf16, p.filter = up_to(2) == 1 ? Dtype::f32 : p.dtype;
    p.padding = up_to(2) == 1 ? Padding::causal : Padding::same;
    p.taps = 1 + (up_to(2) == 1 ? up_to(16) : up_to(255));
    p.length = up_to(4) == 1 ? up_to(1400) : up_to(150), p.batch = up_to(3), p.channels = up_to(20);
    p.bias = up_to(2) == 1, p.pregate = up_to(3) == 1, p.postgate = up_to(3) == 1, p.channels_last = up_to(2) == 1;
    ExecutorOptions options = few_blocks();
    options.order = host::Order::random, options.seed = i, options.blocks = up_to(3);
    const int offset = up_to(8) - 1;
    expect_right(i % 3 ? token(p) : token(ShortBackward{p}), options, offset, up_to(3) == 1 ? up_to(8) - 1 : offset);
  }
}

// Of one pass over u and dy, which need not begin alike.
TEST(ShortKernels, HaveGradientsOfArraysFromDifferentAddresses) {
  for (const char* layout : {"", "_channelslast"})
    for (const char* moved : {"u", "dy"}) {
      const Case asked = parse_case(text("shortconvgrad_bf16_causal_k4_l300_b2_h8", layout));
      SCOPED_TRACE(text(asked.token(), ", another address of ", moved));
      const Values values = make_values(asked);
      Plan plan(asked, executor_machine(few_blocks()));
      auto fields = fields_of(asked, values, 0, 0);
      Field elsewhere(Dtype::bf16, fields.at(moved).samples().size() / 2, 3);
      elsewhere.set(values.find(moved)->second);
      fields.at(moved) = std::move(elsewhere);
      std::vector<Buffer> buffers;
      for (auto& [name, field] : fields) buffers.emplace_back(name, std::span(field.samples()));
      plan.whole_call(buffers);
      expect_right(asked, values, fields, plan.variant());
    }
}

// What begins before an aligned address ends beyond the last whole stream.
TEST(ShortKernels, OfWholeStreamsFromAnyAddress) {
  for (const char* word : {"shortconv_f16_causal_k4_l1024_b1_h2", "shortconvgrad_f16_causal_k20_l1024_b1_h2_bias"})
    expect_right(word, {}, 3, 3);
}

// A warp goes from stream to stream and from channel to channel where a device has few of them.
TEST(ShortKernels, TakeStreamsOneAfterTheOther) {
  ExecutorOptions options = few_blocks();
  options.order = host::Order::random;
  options.device.multiprocessors = 1;
  std::int64_t blocks = 0;
  options.observer = [&](const Launch& launch, const host::Counters&) {
    if (launch.kernel.family == "toeplitz") blocks = launch.blocks;
  };
  for (const auto& [word, expected] :
       unless_sanitized<std::pair<const char*, int>>({{"shortconv_f16_causal_k131_l1029_b13_h3_pregate_postgate", 4},
                                                      {"shortconv_f16_causal_k100_l2048_b20_h3", 5},
                                                      {"shortconv_f16_same_k256_l1500_b11_h4_bias", 4},
                                                      {"shortconv_bf16_causal_k200_l4096_b9_h3", 4}},
                                                     2))
    for (int offset : {0, 3}) {
      ++options.seed;
      expect_right(word, options, offset, offset);
      EXPECT_EQ(blocks, expected) << "of four warps, each with three streams at least, but the last";
    }
}

TEST(ShortKernels, TakeFewerItemsThanTheCase) {
  for (const char* layout : {"", "_channelslast"}) {
    const ShortConvolution p = parse_short(text("shortconv_f16_causal_k20_l70_b5_h3", layout));
    const Values values = make_inputs(p);
    Plan plan(p, executor_machine(few_blocks()));
    plan.set_filter(host::encode_bytes(Dtype::f32, values.at("k")));
    constexpr int kFew = 2 * 3 * 70;
    Field u(p.dtype, kFew, 0), y(p.dtype, kFew, 0);
    u.set({values.at("u").begin(), values.at("u").begin() + kFew});
    plan.execute({{"u", u.samples()}, {"y", y.samples()}}, {.batch = 2});
    ShortConvolution few = p;
    few.batch = 2;
    expect_right(few, {{"u", u.values()}, {"k", values.at("k")}}, {{"y", y.values()}},
                 promise_of(p, plan.variant(), Device()));
    EXPECT_TRUE(y.guards_are_whole());
  }
}

// Of several parts of a channel.
TEST(ShortKernels, GiveTheSameSumsAgain) {
  for (const char* shape : {"k33_l70_b50_h3", "k4_l70_b50_h3"})
    for (const char* layout : {"", "_channelslast"}) {
      const Case asked = parse_case(text("shortconvgrad_bf16_causal_", shape, "_bias", layout));
      const Values values = make_values(asked);
      ExecutorOptions options = few_blocks();
      options.order = host::Order::random;
      auto first = execute(asked, values, options, 0, 0);
      options.seed = 1, options.blocks = 3, options.device.multiprocessors = 3;
      auto second = execute(asked, values, options, 0, 0);
      EXPECT_EQ(first.at("dk").values(), second.at("dk").values());
      EXPECT_EQ(first.at("dbias").values(), second.at("dbias").values());
    }
}

host::Counters count(const char* token, std::string_view family) {
  ExecutorOptions options = few_blocks();
  host::Counters counters;
  options.observer = [&](const Launch& launch, const host::Counters& counted) {
    if (launch.kernel.family == family) counters += counted;
  };
  expect_right(token, options);
  return counters;
}

// What tunings.hpp reasons with: 8 J - 4 products of 2048 for 512 samples; every sample is read and written once, but
// for the halo of 32 (J - 1) samples before a stream, which is whole lines of 64.
TEST(ShortKernels, DoTheWorkThatTheirTuningsCount) {
  for (const auto& [token, blocks] : {std::pair("shortconv_bf16_causal_k64_l8192_b1_h4", 3),
                                      std::pair("shortconv_bf16_causal_k256_l8192_b1_h4", 9)}) {
    const host::Counters c = count(token, "toeplitz");
    EXPECT_EQ(c.mma_f32acc, (8u * blocks - 4) * 4 * 8192 / 512);
    EXPECT_EQ(c.global_store_sectors, 4u * 8192 / 16);
    EXPECT_EQ(c.shared_conflicts, 0u);
  }
  EXPECT_EQ(count("shortconv_bf16_causal_k4_l8192_b1_h4", "direct").fp32_operations, 4u * 8192 * 4);
  const host::Counters last = count("shortconv_bf16_causal_k64_l2048_b1_h32_channelslast", "toeplitz");
  EXPECT_EQ(last.mma_f32acc, (8u * 3 - 4) * 32 * 2048 / 512);
  EXPECT_EQ(last.global_store_sectors, 32u * 2048 / 16);
  EXPECT_EQ(last.shared_conflicts, 0u);
}

// Of few taps du comes with dk and dbias: a multiply-add for each of both, and one pass over u and dy but for the
// samples that a lane keeps, which it reads before its run, and the chunk before of [B, H, L].
TEST(ShortKernels, HaveGradientsInOnePass) {
  constexpr std::uint64_t kTaps = 4, kSamples = 64 * 2048, kSectors = kSamples / 16, kSums = 64 * (kTaps + 1);
  for (const auto& [layout, runs] : {std::pair("_channelslast", 2048 / 64), std::pair("", 2)}) {
    const std::string token = text("shortconvgrad_bf16_causal_k4_l2048_b1_h64", layout);
    SCOPED_TRACE(token);
    const host::Counters c = count(token.c_str(), "direct");
    EXPECT_EQ(c.fp32_operations, kSamples * (2 * kTaps + 1));
    EXPECT_EQ(count(token.c_str(), "toeplitz").fp32_operations + count(token.c_str(), "short_gradient").mma_f32acc, 0u);
    EXPECT_EQ(c.shared_conflicts, 0u);
    EXPECT_GE(c.global_store_sectors, kSectors);
    EXPECT_LE(c.global_store_sectors, kSectors + runs * kSums);
    EXPECT_GE(c.global_load_sectors, 2 * kSectors);
    EXPECT_LE(c.global_load_sectors, (*layout ? 2.2 : 3.2) * kSectors);
  }
}

TEST(ShortKernels, AreCountedByAFewBlocks) {
  for (const char* token : unless_sanitized({"shortconvgrad_bf16_causal_k40_l600_b6_h40_bias_postgate",
                                             "shortconvgrad_f16_same_k9_l600_b6_h40_pregate_channelslast"},
                                            1)) {
    SCOPED_TRACE(token);
    host::Counters whole;
    ExecutorOptions options = few_blocks();
    options.observer = [&](const Launch& launch, const host::Counters& counted) {
      if (launch.kernel.family != "short_filter") whole += counted;
    };
    const Case asked = parse_case(token);
    execute(asked, make_values(asked), options, 0, 0);
    const host::Counters counted = count_program(asked, {}, 1).sum(false);
    EXPECT_EQ(counted.mma_f32acc, whole.mma_f32acc);
    const auto expect_near = [&](std::uint64_t host::Counters::*value) {
      EXPECT_NEAR(static_cast<double>(counted.*value), static_cast<double>(whole.*value),
                  0.05 * static_cast<double>(whole.*value));
    };
    expect_near(&host::Counters::fp32_operations);
    expect_near(&host::Counters::global_load_sectors);
    expect_near(&host::Counters::global_store_sectors);
    expect_near(&host::Counters::shared_wavefronts);
  }
}

TEST(ShortKernels, RefuseWhatIsNotTheirs) {
  const ShortConvolution p = parse_short("shortconv_f16_causal_k20_l70_b2_h3");
  const Values values = make_inputs(p);
  Plan plan(p, executor_machine(few_blocks()));
  const auto refusal = [](auto act) {
    try {
      act();
      return std::string("none");
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
  };
  Field u(p.dtype, 2 * 3 * 70, 0), y(p.dtype, 2 * 3 * 70, 0);
  EXPECT_EQ(refusal([&] {
              plan.execute({{"u", u.samples()}, {"y", y.samples()}});
            }),
            "execute: the plan has no filter yet; call prepare first");
  EXPECT_EQ(refusal([&] { plan.set_filter(std::vector<float>(3 * 19)); }),
            "prepare: k has 57 samples of f32, the plan needs H*K = 3*20");
  plan.set_filter(host::encode_bytes(Dtype::f32, values.at("k")));
  EXPECT_EQ(refusal([&] {
              plan.execute({{"u", u.samples()}, {"y", y.samples()}, {"pregate", u.samples()}});
            }),
            "execute: a pregate is given, but the plan has none");
  EXPECT_EQ(refusal([&] { plan.execute({{"u", u.samples()}, {"y", u.samples()}}); }), "execute: y overlaps u");
}

}  // namespace
}  // namespace danaus
