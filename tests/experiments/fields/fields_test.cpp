// danaus fields: the fields are what they say, and what is lost is what the spectrum says that is not kept.
#include "experiments/fields/fields.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "experiments/io/signal_file.hpp"
#include "experiments/methods/execution.hpp"
#include "kernels/cpu/machine.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

// Of the row's spectrum, of which half of the last axis stands for all; `share`: of each frequency's energy.
double energy(const Json& row, const std::function<double(int x, int y)>& share) {
  const std::vector<int> lengths = row.at("lengths");
  const int last = lengths.back(), first = lengths.size() > 1 ? lengths.front() : 1;
  double sum = 0;
  for (int x = 0; x < first; ++x)
    for (int y = 0; y <= last / 2; ++y)
      sum += share(x, y) * (y == 0 || y == last / 2 ? 1 : 2) *
             std::pow(10, row.at("spectrum_db")[x * (last / 2 + 1) + y].get<double>() / 10);
  return sum;
}

// What is left of a frequency. Of x = -m at y = 0 the mirror image, x = m, is not kept: half of the amplitude of both
// is left of a result that is real, and so three quarters of their energy are not lost.
double share_left(int x, int y, int first, int modes) {
  if (y >= modes) return 0;
  const bool is_one_sided = y == 0 && first > 1 && 2 * modes < first && (x == modes || x == first - modes);
  return is_one_sided ? 0.75 : first == 1 || x < modes || x >= first - modes;
}

TEST(Fields, WhatIsLostIsTheEnergyOfWhatIsNotKept) {
  for (const Field& field : example_fields()) {
    const Json row = truncated(field);
    const int first = field.lengths.size() > 1 ? field.lengths.front() : 1;
    const double whole = energy(row, [](int, int) { return 1; });
    double before = 1;
    for (const Json& each : row.at("truncations")) {
      const int modes = each.at("modes");
      const double left = energy(row, [=](int x, int y) { return share_left(x, y, first, modes); });
      const double lost = each.at("lost");
      EXPECT_LT(lost, before) << each.at("case");
      EXPECT_NEAR(lost, std::sqrt(std::max(0., 1 - left / whole)), std::max(0.02 * lost, 2e-3)) << each.at("case");
      before = lost;
    }
    EXPECT_LT(before, 1e-6) << "all frequencies are kept";
  }
}

TEST(Fields, AreTheSameAtEveryCall) {
  const std::vector<Field> once = example_fields(), again = example_fields();
  ASSERT_EQ(once.size(), 2u);
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].samples, again[i].samples);
    EXPECT_EQ(std::ssize(once[i].samples), points_of_row(truncating_layer(once[i], 2)));
    const double sum = std::accumulate(once[i].samples.begin(), once[i].samples.end(), 0.);
    EXPECT_NEAR(sum / static_cast<double>(once[i].samples.size()), 0, 1e-3) << "no mean";
  }
}

// Viscous: no value beyond those that it began with, down the fronts steeply, up between them slowly.
TEST(Fields, TheSignalHasFronts) {
  const std::vector<double> u = example_fields().back().samples;
  double up = 0, down = 0;
  for (std::size_t n = 0; n < u.size(); ++n) {
    const double slope = (u[(n + 1) % u.size()] - u[n]) * static_cast<double>(u.size()) / (2 * std::numbers::pi);
    up = std::max(up, slope), down = std::max(down, -slope);
  }
  EXPECT_LE(up, 1) << "at time 1 no slope is above 1, Oleinik's bound";
  EXPECT_GT(down, 10);
}

TEST(Fields, KernelsAreWithinTheirBounds) {
  const auto machine = executor_machine();
  for (const Field& field : example_fields()) {
    const Json row = truncated(field);
    for (const Json& each : row.at("truncations")) {
      const Case asked = parse_case(each.at("case").get<std::string>());
      ASSERT_EQ(each.at("kernel_error").is_null(), !has_plan(asked, machine)) << each.at("case");
      if (each.at("kernel_error").is_null()) continue;
      EXPECT_LE(each.at("kernel_error").get<double>(), 1e-3) << "a few roundings to TF32, 2^-11 each";
    }
  }
}

// Few modes keep nothing of this field. The truth is then some 1e-17, and an error relative to it means nothing.
TEST(Fields, AKernelsErrorIsRelativeToTheField) {
  Field wave{"wave", "five periods", "", {16}, {}};
  for (int n = 0; n < 16; ++n) wave.samples.push_back(std::cos(2 * std::numbers::pi * 5 * n / 16));
  const Json row = truncated(wave);
  for (const Json& each : row.at("truncations")) {
    if (each.at("modes") <= 4) EXPECT_NEAR(each.at("lost"), 1, 1e-6);
    if (!each.at("kernel_error").is_null()) EXPECT_LT(each.at("kernel_error"), 1e-3) << each.at("case");
  }
}

TEST(Fields, LayersThatKeepMoreThanThereIsAreRefused) {
  EXPECT_THROW(truncating_layer(example_fields().front(), 33), std::invalid_argument);
  EXPECT_THROW(truncating_layer(example_fields().back(), 514), std::invalid_argument);
  EXPECT_THROW(truncating_layer(example_fields().back(), 0), std::invalid_argument);
  EXPECT_EQ(run({"fields", "--case", "a"}).code, 2);
}

// Also where the axes differ; what is kept of both is at most half of the shorter.
TEST(Fields, AUsersOwnIsTruncatedAndWhatHasNoLayerIsRefused) {
  const Folder folder;
  const std::string path = folder / "field.npy";
  const auto write = [&](std::vector<std::int64_t> shape, std::vector<double> values) {
    PendingFile file(path);
    write_npy(file, {Dtype::f64, std::move(shape), std::move(values)});
    file.commit();
  };
  const auto refusal = [&] {
    const Ran refused = run({"fields", "--field", path});
    EXPECT_EQ(refused.code, 2);
    return refused.err;
  };
  std::vector<double> waves(18 * 40);
  for (int x = 0; x < 18; ++x)
    for (int y = 0; y < 40; ++y)
      waves[x * 40 + y] =
          std::cos(2 * std::numbers::pi * (x / 18. + 3 * y / 40.)) + std::sin(14 * std::numbers::pi * y / 40);
  write({18, 40}, waves);
  const Json row = truncated(read_field(path, std::cerr));
  std::vector<double> lost;
  for (const Json& each : row.at("truncations")) lost.push_back(each.at("lost"));
  ASSERT_EQ(lost.size(), 3u) << "2, 4 and 9 modes";
  EXPECT_NEAR(lost[0], 1, 1e-6);
  EXPECT_NEAR(lost[1], std::sqrt(0.5), 1e-6) << "the wave of 7 periods";
  EXPECT_LT(lost[2], 1e-6);
  EXPECT_EQ(run({"fields", "--field", path}).code, 0);

  waves[41] = std::nan("");
  write({18, 40}, waves);
  EXPECT_THAT(refusal(), testing::HasSubstr("field.npy has nan at index 41, must be finite"));
  write({8}, std::vector<double>(8, 1));
  EXPECT_THAT(refusal(), testing::HasSubstr("has an axis of 8, must be from 16 to 1024"));
  write({16, 16, 16}, std::vector<double>(4096, 1));
  EXPECT_THAT(refusal(), testing::HasSubstr("has 3 axes, must be [X] or [X, Y]"));
  write({16}, std::vector<double>(16));
  EXPECT_THAT(refusal(), testing::HasSubstr("is zero everywhere"));
  write({16}, std::vector<double>(16, 1e-60));
  EXPECT_THAT(refusal(), testing::HasSubstr("is zero everywhere in fp32"));
  write({16}, std::vector<double>(16, 1e39));
  EXPECT_THAT(refusal(), testing::HasSubstr("has 16 values beyond fp32"));
  write({0}, {});
  EXPECT_THAT(refusal(), testing::HasSubstr("field.npy is [0], must have at least one sample"));
}

}  // namespace
}  // namespace danaus
