#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "experiments/count/imitation.hpp"
#include "experiments/count/kernel_work.hpp"
#include "experiments/explore/exploration.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/convolution/mask.hpp"

namespace danaus {
namespace {

double relative_l2(const std::vector<double>& actual, const std::vector<double>& expected) {
  double error = 0, all = 0;
  for (std::size_t i = 0; i < actual.size(); ++i)
    error += std::pow(actual[i] - expected[i], 2), all += std::pow(expected[i], 2);
  return std::sqrt(error / all);
}

FrequencyMask mask_of(const std::string& field) {
  return parse_convolution("fftconv_f64_circular_l64_b1_h3_plain_r4x16_" + field).mask;
}

// What Effect says of masks is what the truth says of y with and without them.
TEST(Effect, IsTheErrorOfTheMaskedConvolution) {
  for (const char* word :
       {"fftconv_f64_circular_l64_b1_h3_n64_plain_r4x16", "fftconv_f64_causal_l32_b1_h3_n64_plain_r4x16",
        "fftconv_f64_circular_l30_k50_b1_h3_n64_plain_r4x16", "fftconv_f64_circular_l64_k20_b1_h3_n64_plain_r4x16"}) {
    const Convolution dense = parse_convolution(word);
    const Inputs inputs = make_inputs(dense, {});
    const Effect effect(dense, inputs.k, {{"noise", inputs.u}});
    const std::vector<double> y = convolve(dense, inputs, Algorithm::fftw);
    for (const char* field : {"keep0to9", "keep3to30", "zero8x0", "zero8x0literal", "blocks16x1h3ffc"}) {
      Convolution masked = dense;
      masked.mask = mask_of(field);
      const std::vector<double> weights = real_mask_weights(masked);
      const double expected = relative_l2(convolve(masked, inputs, Algorithm::fftw), y);
      EXPECT_NEAR(effect.errors(weights).at(0), expected, 1e-12) << word << ' ' << field;
      EXPECT_LE(effect.energy_kept(weights), 1 + 1e-12);
    }
    EXPECT_NEAR(effect.energy_kept(std::vector<double>(33, 1)), 1, 1e-12);
    EXPECT_NEAR(effect.energy_kept(std::vector<double>(33, 0.5)), 0.25, 1e-12);
  }
  EXPECT_DOUBLE_EQ(snr_db(0.01), 40);
}

TEST(Blocks, OfAPairAndItsMirrorDieWhole) {
  const Convolution dense = parse_convolution("fftconv_f64_circular_l240_b1_h1_n240_plain_r3x5x16");
  for (const std::vector<int>& pieces :
       {band_pieces(dense.factors), line_pieces(dense.factors), {4, 5, 3}, {2, 1, 1}}) {
    const std::vector<BlockPair> pairs = block_pairs(dense, pieces);
    std::set<int> blocks;
    std::set<std::int64_t> frequencies;
    for (const BlockPair& pair : pairs) {
      blocks.insert(pair.blocks.begin(), pair.blocks.end());
      frequencies.insert(pair.frequencies.begin(), pair.frequencies.end());
      if (pairs.size() == 1) continue;
      Convolution masked = dense;
      masked.mask.pieces = pieces;
      masked.mask.blocks.assign(blocks.size() + 10000, 1);
      masked.mask.blocks.resize(std::size_t(pieces[0] * pieces[1] * pieces[2]));
      for (int block : pair.blocks) masked.mask.blocks[block] = 0;
      const std::vector<std::uint8_t> kept = kept_frequencies(masked);
      for (std::int64_t k = 0; k <= 120; ++k)
        EXPECT_EQ(!kept[k], std::ranges::count(pair.frequencies, k) > 0) << join(pieces) << ' ' << k;
    }
    EXPECT_EQ(std::ssize(blocks), pieces[0] * pieces[1] * pieces[2]);
    EXPECT_EQ(frequencies.size(), 121u);
  }
  EXPECT_EQ(band_pieces(std::vector{16, 8, 4, 8}), (std::vector{8, 4, 1, 1}));
  EXPECT_EQ(line_pieces(std::vector{16, 8, 4, 8}), (std::vector{1, 1, 1, 16}));
}

class Patterns : public testing::Test {
 protected:
  HardwareProfile profile_ = load_profile("H200");
  std::ostringstream notices_;
  ExploredCase subject_ =
      read_explored_case({.token = "fftconv_f16_circular_l256_b64_h8", .filters = "s4d", .inputs = "uniform"},
                         Mode::circular, 0, notices_);
  Exploration exploration_{subject_, profile_, {{"fftconv_f16_circular_l256_b64_h8", 12.5}}};

  std::vector<Pattern> made(std::vector<PatternKind> kinds, double least_snr = 0) const {
    PatternRequest request;
    request.kinds = std::move(kinds), request.least_snr_db = least_snr, request.count = 20;
    request.pieces = {band_pieces(exploration_.problem().factors), line_pieces(exploration_.problem().factors)};
    return patterns(exploration_.problem(), request, exploration_.effect(), exploration_.savings());
  }
};

TEST_F(Patterns, OfEveryKindRemoveSomethingAndStandOnce) {
  using enum PatternKind;
  std::set<std::string> tokens;
  for (PatternKind kind : {paper, grid, lines, low, high, band, random, energy, greedy}) {
    const std::vector<Pattern> list = made({kind});
    EXPECT_FALSE(list.empty()) << name_in(kPatternKinds, kind);
    for (const Pattern& pattern : list) {
      EXPECT_EQ(pattern.kind, kind);
      EXPECT_GT(sparsity(pattern.problem), 0);
      EXPECT_LT(sparsity(pattern.problem), 1);
      EXPECT_EQ(parse_convolution(token(pattern.problem)), pattern.problem);
    }
  }
  const std::vector<Pattern> all = made({paper, grid, lines, low, high, band, random, energy, greedy});
  for (const Pattern& pattern : all) EXPECT_TRUE(tokens.insert(token(pattern.problem)).second);
  EXPECT_EQ(tokens.size(), all.size());
}

TEST_F(Patterns, GreedyKeepsItsBudgetAndBuysTheCheapestFirst) {
  const std::vector<Pattern> list = made({PatternKind::greedy}, 15);
  ASSERT_FALSE(list.empty());
  for (const Pattern& pattern : list) EXPECT_GE(snr_of(exploration_.explored(pattern)), 15 - 1e-9);

  // The first choice among the blocks of bands, by brute force.
  const Convolution& dense = exploration_.problem();
  const std::vector<int> pieces = band_pieces(dense.factors);
  double least = INFINITY;
  std::string cheapest;
  for (const BlockPair& pair : block_pairs(dense, pieces)) {
    Convolution masked = dense;
    masked.mask.pieces = pieces, masked.mask.blocks.assign(16, 1);
    for (int block : pair.blocks) masked.mask.blocks[block] = 0;
    const Json row = exploration_.explored({PatternKind::greedy, masked});
    const double saved = row["dense_us"].get<double>() - row["us"].get<double>();
    const double price = std::pow(10, -snr_of(row) / 10) / std::max(saved, 1e-6 * row["dense_us"].get<double>());
    if (snr_of(row) >= 15 && price < least) least = price, cheapest = token(masked);
  }
  EXPECT_EQ(token(list.front().problem), cheapest);
}

TEST_F(Patterns, RowsSayWhatIsLeft) {
  Convolution masked = exploration_.problem();
  masked.mask = parse_convolution("fftconv_f16_circular_l256_b1_h1_r16x16_zero8x8literal").mask;
  const Json row = exploration_.explored({PatternKind::paper, masked});
  EXPECT_DOUBLE_EQ(row["zeros"], 0.75);
  EXPECT_EQ(row["errors"].size(), 2u);
  EXPECT_EQ(row["measured_dense_us"], 12.5);
  EXPECT_FALSE(row.contains("measured_us"));
  EXPECT_EQ(row["stages"][0]["live"], 15);  // with the mirrors of 1 to 7
  EXPECT_EQ(row["skips"], false) << "in every piece of the spectrum something lives";
  EXPECT_EQ(row["us"], row["dense_us"]);
  masked.mask = parse_convolution("fftconv_f16_circular_l256_b1_h1_keep0to11").mask;
  const Json low = exploration_.explored({PatternKind::low, masked});
  EXPECT_EQ(low["skips"], true);
  EXPECT_LT(low["bytes"], low["dense_bytes"]);
}

TEST_F(Patterns, TheFrontIsWhatNothingBeatsAndTheBestIsTheFastestOnIt) {
  const auto row = [](double us, std::optional<double> snr, double zeros = 0.5) {
    Json fields = {{"us", us}, {"dense_us", 6}, {"zeros", zeros}};
    if (snr) fields["snr_db"] = *snr;
    return fields;
  };
  const std::vector<Json> rows = {row(5, 10), row(3, 10), row(4, 9), row(6, {}), row(7, 80), row(3, 2), row(5.5, 40)};
  const std::vector<Json> front = pareto_front(rows);
  ASSERT_EQ(front.size(), 3u);
  EXPECT_EQ(front[0], row(3, 10));
  EXPECT_EQ(front[1], row(5.5, 40));
  EXPECT_EQ(front[2], row(6, {}));
  EXPECT_EQ(best_above(rows, 40), row(5.5, 40));
  EXPECT_EQ(best_above(rows, 41), row(6, {}));
  EXPECT_THROW(best_above({row(1, 30)}, 31), std::invalid_argument);
  const std::vector<Json> alike = {row(6, 90, 0.1), row(6, 31, 0.7), row(6, 60, 0.7), row(6, 29, 0.9)};
  EXPECT_EQ(best_above(alike, 30), alike[2]) << "of equally fast ones what removes most, of these what loses least";
  EXPECT_TRUE(saves_time(rows[0]));
  EXPECT_FALSE(saves_time(alike[0]));
}

// Without counting it again for each mask.
TEST(Savings, AreWhatIsCountedOfTheKernelThatAPlanTakes) {
  const std::string word = "fftconv_f16_circular_l4096_b8_h96_n4096_pair_r16x8x4x8";
  const Convolution dense = parse_convolution(word);
  const HardwareProfile profile = load_profile("H200");
  const Savings savings(dense, profile);
  EXPECT_EQ(savings.model(), "counted work");
  const Device device = imitation(profile);
  const auto work_of = [&](const Convolution& problem) {
    return kernel_work(problem, count_program(problem, device), device).front().work;
  };
  EXPECT_DOUBLE_EQ(savings.dense().us, predict_roofline(work_of(dense), profile).total_us);

  // Most blocks; a low-pass, of which no whole block is dead; more than it pays for.
  for (const auto& [field, skips, fewer_products] :
       {std::tuple{"blocks1x1x1x16h8000", true, true}, {"keep0to183", true, false}, {"keep0to2000", false, false}}) {
    SCOPED_TRACE(field);
    const Convolution masked = parse_convolution(word + "_" + field);
    const Expense left = savings.of(masked);
    const KernelWork counted = work_of(masked);
    EXPECT_EQ(left.skips, skips);
    EXPECT_NEAR(*left.matrix_instructions, counted.mma_f16acc + counted.mma_depth8, 1);
    EXPECT_EQ(*left.matrix_instructions < *savings.dense().matrix_instructions, fewer_products);
    EXPECT_NEAR(*left.bytes, counted.hbm_bytes, 1);
    EXPECT_EQ(*left.bytes < *savings.dense().bytes, skips);
    // What a channel takes to read its pieces does not grow quite evenly with them.
    EXPECT_NEAR(left.us, predict_roofline(counted, profile).total_us, 0.05 * left.us);
    EXPECT_LE(left.us, savings.dense().us);
  }
}

TEST(Savings, AreThoseOfEq2WhereNoKernelIsCounted) {
  const Convolution dense = parse_convolution("fftconv_f16_circular_l65536_b1_h1_n65536_plain_r64x32x32");
  const HardwareProfile profile = load_profile("H200");
  const Savings savings(dense, profile);
  EXPECT_EQ(savings.model(), "Eq. 2");
  EXPECT_DOUBLE_EQ(savings.dense().us, predict_eq2(dense, profile).total_us);
  Convolution sliced = dense;
  sliced.mask = parse_convolution("fftconv_f16_circular_l65536_b1_h1_plain_r64x32x32_zero0x0x32literal").mask;
  EXPECT_NEAR(savings.of(sliced).us, savings.dense().us / 2, 1e-9);
}

TEST(PartialFilters, LoseTheirTailAndNothingElse) {
  std::ostringstream notices;
  const ExploredCase subject = read_explored_case(
      {.token = "fftconv_f16_causal_l512_b2_h3", .filters = "s4d", .inputs = "uniform"}, Mode::causal, 0, notices);
  const std::vector<PartialFilter> list = partial_filters(subject);
  ASSERT_EQ(list.size(), 2u);
  const HardwareProfile profile = load_profile("H200");
  const Json part = partial_row(list[0], subject, profile, {}), all = partial_row(list[1], subject, profile, {});
  EXPECT_EQ(part["k"], 256);
  EXPECT_EQ(all["k"], 512);
  EXPECT_GT(part["errors"][0]["relative_l2"], 1e-3);
  EXPECT_EQ(all["errors"][0]["relative_l2"], 0);
  EXPECT_EQ(all["k_bytes"].get<int>() - part["k_bytes"].get<int>(), 4 * 3 * 256);
}

}  // namespace
}  // namespace danaus
