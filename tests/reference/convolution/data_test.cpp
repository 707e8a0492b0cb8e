#include "reference/convolution/data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "reference/half.hpp"

namespace danaus {
namespace {

const Convolution kCase = parse_convolution("fftconv_f16_causal_l500_k300_b4_h5_pregate_postgate");

Inputs of_kind(DataKind kind, double scale = 1) {
  DataSpec spec;
  spec.data = kind;
  spec.scale = scale;
  spec.recording = {0.5, -0.25, 0.125};
  return make_inputs(kCase, spec);
}

double mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  return sum / static_cast<double>(values.size());
}

TEST(Data, HasTheSizesOfTheCase) {
  const Inputs inputs = make_inputs(kCase, {});
  EXPECT_EQ(inputs.u.size(), 4u * 5 * 500);
  EXPECT_EQ(inputs.k.size(), 5u * 300);
  EXPECT_EQ(inputs.pregate.size(), inputs.u.size());
  EXPECT_EQ(inputs.postgate.size(), inputs.u.size());
  EXPECT_NO_THROW(check_inputs(kCase, inputs));
  Inputs wrong = inputs;
  wrong.k.pop_back();
  EXPECT_THROW(check_inputs(kCase, wrong), std::invalid_argument);
}

TEST(Data, IsTheSameEachTimeAndOtherwiseForAnotherSeedCaseOrKind) {
  EXPECT_EQ(make_inputs(kCase, {}).u, make_inputs(kCase, {}).u);
  std::set<std::uint64_t> seeds = {data_seed(kCase, {})};
  DataSpec spec;
  spec.seed = 1;
  EXPECT_TRUE(seeds.insert(data_seed(kCase, spec)).second);
  spec = {};
  spec.filter = FilterKind::s4d;
  EXPECT_TRUE(seeds.insert(data_seed(kCase, spec)).second);
  Convolution other = kCase;
  other.length = 501;
  EXPECT_TRUE(seeds.insert(data_seed(other, {})).second);
  spec = {};
  spec.scale = 0.02;
  EXPECT_EQ(data_seed(kCase, spec), data_seed(kCase, {}));
}

TEST(Data, DoesNotChangeFromOnePlatformToAnother) {
  // Computed apart from this code. Uniform data needs no transcendental function, so it is exact everywhere.
  DataSpec spec;
  spec.data = DataKind::uniform;
  const Inputs inputs = make_inputs(parse_convolution("fftconv_f16_causal_l4_b1_h1"), spec);
  EXPECT_EQ(inputs.u, (std::vector<double>{0.1376953125, 0.826171875, 0.47607421875, 0.1942138671875}));
}

TEST(Data, ArraysAreIndependent) {
  const Inputs inputs = make_inputs(kCase, {});
  for (const auto& [a, b] : {std::pair{&inputs.u, &inputs.pregate},
                             {&inputs.u, &inputs.postgate},
                             {&inputs.pregate, &inputs.postgate},
                             {&inputs.u, &inputs.k}}) {
    double product = 0;
    for (std::size_t i = 0; i < b->size(); ++i) product += (*a)[i] * (*b)[i];
    EXPECT_LT(std::abs(product), 5 * std::sqrt(mean_square(*a) * mean_square(*b) * static_cast<double>(b->size())));
  }
}

TEST(Data, IsWhatAKernelWouldRead) {
  const Inputs inputs = make_inputs(kCase, {});
  for (const auto* array : {&inputs.u, &inputs.pregate, &inputs.postgate})
    for (double value : *array) ASSERT_EQ(value, round_to(Dtype::f16, value));
  for (double value : inputs.k) ASSERT_EQ(value, round_to(Dtype::f32, value));
}

TEST(Data, KindsAreWhatTheySay) {
  // 10 000 samples: five standard deviations of the mean square are 0.07 for Gaussian and 0.35 for heavy-tailed data.
  EXPECT_NEAR(mean_square(of_kind(DataKind::gaussian).u), 1, 0.07);
  EXPECT_NEAR(mean_square(of_kind(DataKind::uniform).u), 1.0 / 3, 0.02);
  EXPECT_NEAR(mean_square(of_kind(DataKind::heavy_tailed).u), 1, 0.35);
  EXPECT_EQ(of_kind(DataKind::constant).u, std::vector<double>(10000, 1.0));

  const std::vector<double> uniform = of_kind(DataKind::uniform).u;
  EXPECT_LE(*std::max_element(uniform.begin(), uniform.end()), 1);
  EXPECT_LT(*std::min_element(uniform.begin(), uniform.end()), -0.99);
  const std::vector<double> heavy = of_kind(DataKind::heavy_tailed).u;
  EXPECT_GT(*std::max_element(heavy.begin(), heavy.end()), 8);

  const std::vector<double> impulse = of_kind(DataKind::impulse).u;
  for (int row = 0; row < 20; ++row) {
    const auto first = impulse.begin() + row * 500;
    EXPECT_EQ(std::count(first, first + 500, 1.0), 1);
    EXPECT_EQ(std::count(first, first + 500, 0.0), 499);
  }
  const std::vector<double> recording = of_kind(DataKind::recording).u;
  EXPECT_EQ(recording[0], 0.5);
  EXPECT_EQ(recording[500], 0.125);  // 500 = 3 * 166 + 2
}

TEST(Data, ScaleMultipliesTheInputAlone) {
  const Inputs plain = of_kind(DataKind::recording), scaled = of_kind(DataKind::recording, 0.25);
  for (std::size_t i = 0; i < plain.u.size(); ++i) ASSERT_EQ(scaled.u[i], 0.25 * plain.u[i]);
  EXPECT_EQ(plain.k, scaled.k);
  EXPECT_EQ(plain.pregate, scaled.pregate);
}

TEST(Data, FiltersHaveUnitNormAndModelsDecay) {
  const Convolution problem = parse_convolution("fftconv_f16_causal_l4000_b1_h8");
  for (FilterKind kind : {FilterKind::random, FilterKind::s4d, FilterKind::hyena}) {
    DataSpec spec;
    spec.filter = kind;
    const std::vector<double> k = make_inputs(problem, spec).k;
    for (int channel = 0; channel < 8; ++channel) {
      const std::vector<double> row(k.begin() + channel * 4000, k.begin() + (channel + 1) * 4000);
      // Five standard deviations of a random filter's square norm, 2 / sqrt(K) each at most; the others are normalised.
      EXPECT_NEAR(4000 * mean_square(row), 1, kind == FilterKind::random ? 0.12 : 1e-6) << name(kind);
      const std::vector<double> start(row.begin(), row.begin() + 1000), end(row.end() - 1000, row.end());
      if (kind != FilterKind::random) {
        EXPECT_LT(mean_square(end), mean_square(start)) << name(kind) << channel;
      }
    }
  }
}

TEST(Data, NeedsTheRecordingThatItIsToShow) {
  DataSpec spec;
  spec.data = DataKind::recording;
  EXPECT_THROW(make_inputs(kCase, spec), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
