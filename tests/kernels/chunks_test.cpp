// Convolutions chunk by chunk: how rows are cut, what is computed, which chunks are chosen.
#include "kernels/plan/chunks.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "tests/kernels/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

const ChunkVariant& chunks_of(std::string_view token) {
  return dynamic_cast<const ChunkVariant&>(choose(parse_convolution(token), Device()));
}

// ---- how rows are cut

TEST(Chunks, LieInTheRowAndHaveTheFilterBeforeThem) {
  for (const auto& v : chunk_variants())
    for (std::int64_t k : {std::int64_t{1}, std::int64_t{2}, v->size / std::int64_t{3}, v->size / std::int64_t{2}})
      for (std::int64_t length : {v->size + 1, v->size + 8, 3 * v->size, 100 * v->size - 8}) {
        Convolution p;
        p.length = length, p.filter_length = k;
        const Chunks chunks(p, v->inner());
        SCOPED_TRACE(testing::Message() << v->name << ", L=" << length << ", K=" << k);
        EXPECT_GE(chunks.lead, k - 1);
        EXPECT_EQ(chunks.lead + chunks.step, v->size);
        EXPECT_GE(2 * chunks.step, v->size);
        EXPECT_EQ(chunks.step % v->inner().tensor_grain(), 0);
        EXPECT_EQ(chunks.first + chunks.count * chunks.step, length);
        EXPECT_GE(chunks.first, chunks.lead);
        EXPECT_LT(chunks.first, chunks.lead + chunks.step);
      }
}

// ---- what is computed

void expect_chunks(std::string_view token) {
  const Convolution problem = parse_convolution(token);
  EXPECT_TRUE(dynamic_cast<const ChunkVariant*>(&choose(problem, Device()))) << token;
  expect_right(problem, {}, ExecutorOptions());
  if (problem.length < 10000) expect_right(problem, {}, {.blocks = 3, .order = host::Order::random, .seed = 5});
}

// Pieces taken out of rows by tensor maps, an even number of them and an odd one, in one launch and in several, by rows
// and by pieces; lengths that leave nothing over and something.
TEST(ChunkResult, AgreesWithTheReference) {
  for (std::string_view token :
       {"fftconv_f16_causal_l1000_k20_b3_h2_n256", "fftconv_f16_circular_l1000_k128_b2_h3_n256",
        "fftconv_bf16_causal_l1664_k65_b2_h2_n512_pregate", "fftconv_bf16_circular_l1040_k2_b1_h1_n256_postgate",
        "fftconv_f16_causal_l5000_k500_b2_h1_n1024_pregate_postgate", "fftconv_bf16_causal_l4096_k1_b2_h1_n512",
        "fftconv_bf16_causal_l1000_k20_b7_h40_n256_pregate_postgate"})
    expect_chunks(token);
}

// Of one slab and of several.
TEST(LargeChunks, AgreeWithTheReference) {
  for (std::string_view token :
       {"fftconv_bf16_causal_l9000_k1000_b2_h1_n4096", "fftconv_f16_causal_l40000_k3000_b1_h1_n16384",
        "fftconv_f16_circular_l70000_k100_kbf16_b1_h1_n32768_postgate",
        "fftconv_f16_causal_l20000_k33_kf16_b2_h2_n1536_r6x16x16"})
    expect_chunks(token);
}

// Rows that no tensor map takes: of odd lengths, where nothing is aligned, on devices without tensor copies.
TEST(ChunkResult, OfRowsThatAreCopied) {
  for (std::string_view token :
       {"fftconv_f16_causal_l999_k20_b3_h2_n256_pregate", "fftconv_bf16_circular_l1003_k100_b2_h3_n256_postgate"})
    for (int offset : {0, 5}) expect_right(parse_convolution(token), {}, ExecutorOptions(), offset);
  const Convolution problem = parse_convolution("fftconv_f16_circular_l1000_k128_b2_h3_n256_pregate_postgate");
  expect_right(problem, {}, ExecutorOptions(), 3);
  ExecutorOptions options = few_blocks();
  options.device = device_like(1);
  expect_right(problem, {}, options);
}

// Of so little memory that the pieces of one channel, and their results, do not fit.
TEST(ChunkResult, OfAWorkspaceOfAFewPieces) {
  for (std::int64_t pieces : {1, 3, 8}) {
    const Convolution problem = parse_convolution("fftconv_f16_causal_l999_k20_b3_h2_n256");
    ExecutorOptions options = few_blocks();
    options.device.cache_bytes = pieces * 64;     // an eighth of its bytes
    const std::int64_t of_filters = 2 * 256 * 4;  // turned
    EXPECT_EQ(Plan(problem, executor_machine(options)).workspace_bytes(3), std::max(of_filters, 2 * pieces * 512));
    expect_right(problem, {}, options);
  }
}

TEST(ChunkResult, OfSmallerBatches) {
  const Convolution problem = parse_convolution("fftconv_f16_causal_l1000_k20_b5_h1_n256");
  const Inputs inputs = make_inputs(problem, {});
  const std::vector<std::uint16_t> u = host::encode(problem.dtype, inputs.u);
  Plan plan(problem, executor_machine(few_blocks()));
  plan.set_filter(std::vector<float>(inputs.k.begin(), inputs.k.end()));
  GuardedSamples aligned(problem.dtype, inputs.u, 0), all(std::ssize(u), 0), some(2000, 0);
  plan.execute({{"u", aligned.samples()}, {"y", all.samples()}});
  plan.execute({{"u", aligned.samples().first(2000)}, {"y", some.samples()}}, {.batch = 2});
  EXPECT_TRUE(std::ranges::equal(some.samples(), all.samples().first(2000)));
}

// A filter over rows many times as long as it, against the sum that defines it: no sample is further off than rounding
// explains, and those beside where pieces meet are as near as all.
TEST(ChunkResult, EqualsTheSumAtEveryPositionOfALongerRow) {
  for (std::string_view word :
       {"fftconv_f16_causal_l6000_k256_b2_h2_n1024", "fftconv_f16_circular_l6000_k100_b1_h2_n512",
        "fftconv_bf16_causal_l5999_k256_b2_h1_n1024"}) {
    const Convolution problem = parse_convolution(word);
    const ChunkVariant& variant = chunks_of(word);
    const Chunks chunks(problem, variant.inner());
    const Inputs inputs = make_inputs(problem, {});
    const std::vector<double> y = execute_plan(problem, inputs, {}),
                              truth = convolve(problem, inputs, Algorithm::direct);
    double squares = 0, errors = 0, at_borders = 0;
    std::int64_t borders = 0;
    for (std::size_t i = 0; i < y.size(); ++i) squares += truth[i] * truth[i];
    const double scale = std::sqrt(squares / static_cast<double>(y.size()));
    const double bound = bound_max(bound_l2_of_kernel(problem, variant.roundings()), std::ssize(y));
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::int64_t n = static_cast<std::int64_t>(i) % problem.length;
      const double error = (y[i] - truth[i]) / scale;
      ASSERT_LE(std::abs(error), bound) << word << ", n=" << n;
      errors += error * error;
      const std::int64_t behind = (n - chunks.first % chunks.step + chunks.step) % chunks.step;
      if (std::min(behind, chunks.step - 1 - behind) < 4) at_borders += error * error, ++borders;
    }
    ASSERT_GE(borders, 8 * problem.length / chunks.step) << word;
    EXPECT_LE(std::sqrt(at_borders / static_cast<double>(borders)),
              1.5 * std::sqrt(errors / static_cast<double>(y.size())))
        << word;
  }
}

// What is beside a row, in memory and in the pieces of others, is not seen: zeros come before it, not its neighbour.
TEST(ChunkResult, RowsDoNotSeeEachOther) {
  for (std::int64_t length : {1000, 1003}) {
    Convolution problem = parse_convolution("fftconv_f16_causal_l1000_k20_b2_h2_n256");
    problem.length = length;
    Inputs inputs = make_inputs(problem, {});
    for (std::int64_t n = 0; n < length; ++n) inputs.u[n] = inputs.u[3 * length + n] = std::nan("");
    const std::vector<double> y = execute_plan(problem, inputs, {});
    for (std::int64_t n = length; n < 3 * length; ++n) ASSERT_TRUE(std::isfinite(y[n])) << n;
  }
}

// u is read once but for what pieces share, y written once: no copy of a row that tensor maps can take pieces from.
TEST(ChunkWork, MovesEverySampleOnce) {
  std::uint64_t loaded = 0, stored = 0, launches = 0;
  ExecutorOptions options = few_blocks();
  options.device.multiprocessors = 132;
  options.observer = [&](const Launch&, const host::Counters& counters) {
    loaded += counters.bulk_load_bytes, stored += counters.bulk_store_bytes, ++launches;
  };
  const Convolution problem = parse_convolution("fftconv_f16_causal_l20480_k65_b2_h1_n1024");
  const Inputs inputs = make_inputs(problem, {});
  const Chunks chunks(problem, chunks_of(token(problem)).inner());
  ASSERT_EQ(chunks.step, 896);
  Plan plan(problem, executor_machine(options));
  plan.set_filter(std::vector<float>(inputs.k.begin(), inputs.k.end()));
  GuardedSamples u(problem.dtype, inputs.u, 0), y(std::ssize(inputs.u), 0);
  loaded = stored = launches = 0;
  plan.execute({{"u", u.samples()}, {"y", y.samples()}});
  const std::uint64_t copied = 2 * 2 * 2 * 1024;  // pieces at the rows' beginnings
  EXPECT_EQ(launches, 4u);
  EXPECT_EQ(chunks.first, 20480 - 22 * 896);
  EXPECT_EQ(loaded, 2u * 2 * 22 * 1024 + copied / 2 * ((chunks.first + 895) / 896));
  EXPECT_EQ(stored, 2u * 2 * 22 * 896 + copied / 2 * ((chunks.first + 895) / 896));
}

// ---- which are chosen

TEST(ChunkChoice, LongRowsAndShortFilters) {
  const auto chosen = [](std::string_view token, Device device = {}) {
    device.multiprocessors = 132;
    return choose(parse_convolution(token), device).name;
  };
  EXPECT_THAT(chosen("fftconv_f16_causal_l1048576_k2048_b64_h24"), HasSubstr("pieces_exchange_256x64"));
  EXPECT_THAT(chosen("fftconv_f16_causal_l1048576_b64_h24"), HasSubstr("outer_"));
  EXPECT_THAT(chosen("fftconv_f16_circular_l1048576_k100_b64_h24"), HasSubstr("pieces_"));
  EXPECT_THAT(chosen("fftconv_f16_circular_l1000008_k2048_b64_h24"), HasSubstr("pieces_"));
  EXPECT_THAT(chosen("fftconv_f16_circular_l1048576_k16385_b64_h24"), HasSubstr("outer_"));
  EXPECT_THAT(chosen("fftconv_f16_causal_l32768_k100_b64_h24"), HasSubstr("exchange_"));
  // Clusters take more than their bytes and instructions.
  EXPECT_THAT(chosen("fftconv_f16_causal_l65536_b64_h192"), HasSubstr("cluster_"));
  for (const char* partial : {"fftconv_f16_causal_l65536_k2048_b64_h192", "fftconv_f16_causal_l65536_k8192_b64_h192",
                              "fftconv_f16_causal_l131072_k8192_b64_h96", "fftconv_bf16_causal_l262144_k8192_b64_h48"})
    EXPECT_THAT(chosen(partial), HasSubstr("pieces_")) << partial;
  // By copies of the pieces, which is less than planes of the right angle and as much as those of pairs.
  EXPECT_THAT(chosen("fftconv_f16_causal_l1048576_k2048_b64_h24", device_like(1)), HasSubstr("pieces_"));
  EXPECT_THAT(chosen("fftconv_f16_circular_l1048576_k2048_b64_h24", device_like(1)), HasSubstr("outer_"));
  EXPECT_THAT(chosen("fftconv_f16_causal_l100000000_k2048_b1_h1"), HasSubstr("pieces_"));
}

TEST(ChunkChoice, TokensNameThem) {
  EXPECT_EQ(chunks_of("fftconv_f16_causal_l100000_k2048_b64_h24_n8192").size, 8192);
  EXPECT_EQ(chunks_of("fftconv_f16_causal_l100000_k2048_b64_h24_n4096_pair_r16x8x4x8").factors,
            (std::vector{16, 8, 4, 8}));
  const auto refused = [](std::string_view token) -> std::string {
    try {
      choose(parse_convolution(token), Device());
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "no refusal";
  };
  EXPECT_THAT(refused("fftconv_f16_causal_l100000_k2049_b1_h1_n4096"),
              HasSubstr("N=4096 cuts rows of L=100000 into chunks, which need K <= N/2, K=2049"));
  EXPECT_THAT(refused("fftconv_f16_causal_l100000_k10_b1_h1_n1000"), HasSubstr("N=1000 has no kernel; there are N ="));
  EXPECT_THAT(refused("fftconv_f16_causal_l100000_k10_b1_h1_n65536"),
              HasSubstr("N=65536, chunks of L=100000 are of at most 32768 points"));
  EXPECT_THAT(refused("fftconv_f16_causal_l1000_k10_b1_h1_n512_pair_r2x16x16_zero1x0x0"),
              HasSubstr("a frequency mask needs N >= L; N=512, L=1000"));
  EXPECT_THAT(refused("fftconv_f16_causal_l2147483647_k10_b1_h1_n512"), HasSubstr("L + N=2147484159, must be at most"));
}

}  // namespace
}  // namespace danaus
