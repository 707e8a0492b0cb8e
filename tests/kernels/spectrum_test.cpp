// The filter's transform on the device against the transform in double.
#include "kernels/spectrum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "kernels/executor/executor.hpp"
#include "kernels/spectrum_table.hpp"
#include "reference/dft.hpp"

namespace danaus {
namespace {

struct Filter {
  int length, period;
  bool wraps;
  std::vector<float> taps;
  Filter(int taps_per_channel, int period, bool wraps, int channels = 1)
      : length(taps_per_channel), period(period), wraps(wraps), taps(length * channels) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (float& tap : taps) tap = normal(random);
  }
};

std::vector<std::complex<double>> exact_spectrum(const Filter& filter, int channel, int size, Fold fold) {
  std::vector<std::complex<double>> z(size);
  for (int n = 0; n < filter.length; ++n)
    if (filter.wraps || n < filter.period) z[n % filter.period] += filter.taps[channel * filter.length + n];
  if (fold == Fold::right_angle)
    for (int n = 0; n < size; ++n) z[n] *= std::polar(1.0, std::numbers::pi * n / (2.0 * size));
  return dft(z);
}

SpectrumArguments arguments(const Filter& filter, int size, Fold fold) {
  SpectrumArguments a{};
  a.k = filter.taps.data();
  a.size = size, a.parts = spectrum_parts(size);
  a.filter_length = filter.length, a.period = filter.period;
  a.wraps = filter.wraps, a.right_angle = fold == Fold::right_angle;
  return a;
}

double relative_error(const std::vector<std::complex<double>>& expected,
                      const std::vector<std::complex<double>>& actual) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += std::norm(actual[i] - expected[i]);
    size += std::norm(expected[i]);
  }
  return std::sqrt(difference / size);
}

// Before the rounding: what transform_part() leaves in shared memory, in natural order.
double transform_error(const Filter& filter, int size, Fold fold) {
  const SpectrumArguments a = arguments(filter, size, fold);
  const int points = size / a.parts;
  std::vector<float> parts(2 * size);
  host::Executor executor;
  executor.declare("k", filter.taps.data(), 4 * filter.taps.size(), false);
  executor.declare("parts", parts.data(), 4 * parts.size(), true);
  executor.run({.blocks = a.parts, .threads = spectrum::kThreads, .shared_bytes = spectrum::kPointBytes * points}, [&] {
    const int q = device::block_index();
    spectrum::transform_part(a, 0, q);
    for (int i = device::thread_index(); i < points; i += spectrum::kThreads)
      device::store_global<8>(parts.data() + 2 * (q * points + i), device::load_shared<8>(spectrum::kPointBytes * i));
  });
  std::vector<std::complex<double>> actual(size);
  for (int k = 0; k < size; ++k) {
    const int at = 2 * (k % a.parts * points + spectrum_place(k / a.parts, points));
    actual[k] = {parts[at], parts[at + 1]};
  }
  return relative_error(exact_spectrum(filter, 0, size, fold), actual);
}

// fp32 throughout: roundings of 6e-8 in each of at most 8 stages, as a random walk; 1.5e-7 was measured at 24576.
constexpr double kTransformBound = 4e-7;

TEST(Spectrum, EverySizeIsTransformedInSinglePrecision) {
  for (int size : {256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768})
    for (Fold fold : {Fold::pair, Fold::right_angle})
      EXPECT_LE(transform_error(Filter(size, size, false), size, fold), kTransformBound) << size << ' ' << name(fold);
}

TEST(Spectrum, FiltersAreCutWrappedOrFilledWithZeros) {
  EXPECT_LE(transform_error(Filter(1, 768, false), 768, Fold::right_angle), kTransformBound);
  EXPECT_LE(transform_error(Filter(100, 768, true), 768, Fold::pair), kTransformBound);
  EXPECT_LE(transform_error(Filter(2000, 700, true), 768, Fold::right_angle), kTransformBound);
  EXPECT_LE(transform_error(Filter(2000, 700, false), 768, Fold::right_angle), kTransformBound);
  EXPECT_LE(transform_error(Filter(20000, 8192, true), 8192, Fold::pair), kTransformBound);
}

constexpr Geometry kShapes[] = {
    {Algorithm::chain, Dtype::f16, Fold::pair, 1, 256},
    {Algorithm::chain, Dtype::bf16, Fold::right_angle, 3, 256},
    {Algorithm::exchange, Dtype::bf16, Fold::pair, 1, 64},
    {Algorithm::exchange, Dtype::f16, Fold::right_angle, 3, 32},
    {Algorithm::exchange, Dtype::f16, Fold::right_angle, 1, 256},
    {Algorithm::exchange, Dtype::f16, Fold::pair, 2, 256},
};

// y [H, N] of the whole kernel, in natural order, with the scale taken out.
std::vector<std::complex<double>> rounded_spectrum(const Geometry& g, const Filter& filter, int channels, int channel,
                                                   std::span<const std::uint8_t> kept = {}) {
  const std::vector<u32> table = make_spectrum_table(g, kept);
  std::vector<u32> spectrum(channels * g.size(), ~0u);
  SpectrumArguments a = arguments(filter, g.size(), g.fold);
  a.table = table.data(), a.spectrum = spectrum.data();
  host::Executor executor;
  executor.declare("k", filter.taps.data(), 4 * filter.taps.size(), false);
  executor.declare("table", table.data(), 4 * table.size(), false);
  executor.declare("spectrum", spectrum.data(), 4 * spectrum.size(), true);
  executor.run({.blocks = channels * a.parts,
                .threads = spectrum::kThreads,
                .shared_bytes = spectrum::kPointBytes * g.size() / a.parts,
                .order = host::Order::random},
               [&] { g.dtype == Dtype::f16 ? filter_spectrum<Dtype::f16>(a) : filter_spectrum<Dtype::bf16>(a); });
  const auto value = [&](std::size_t half) {
    const auto bits = std::uint16_t(spectrum[half / 2] >> 16 * (half % 2));
    return g.dtype == Dtype::f16 ? host::decode<Dtype::f16>(bits) : host::decode<Dtype::bf16>(bits);
  };
  const std::vector<std::int32_t> slots = spectrum_slots(g);
  std::vector<std::complex<double>> actual(g.size());
  for (int k = 0; k < g.size(); ++k) {
    const std::size_t half = std::size_t{2} * channel * g.size() + 4 * (slots[k] / 2) + slots[k] % 2;
    actual[k] = std::complex<double>(value(half), value(half + 2)) / spectrum_scale(g);
  }
  return actual;
}

TEST(Spectrum, EveryChannelIsRoundedOnceIntoItsSlots) {
  for (const Geometry& g : kShapes) {
    const int size = g.size();
    const Filter filter(size - 3, size, false, 2);
    for (int channel = 0; channel < 2; ++channel)
      EXPECT_LE(relative_error(exact_spectrum(filter, channel, size, g.fold), rounded_spectrum(g, filter, 2, channel)),
                unit_roundoff(g.dtype))
          << name(g.algorithm) << ' ' << size;
  }
}

TEST(Spectrum, MasksRemoveFrequenciesAndTakeTheMeanOfMirrors) {
  const Geometry g{Algorithm::chain, Dtype::f16, Fold::pair, 2, 256};
  const int size = g.size();
  const Filter filter(size, size, true);
  std::vector<std::uint8_t> kept(size, 1);
  kept[0] = kept[7] = kept[size - 7] = kept[20] = 0;  // 20 and its mirror keep half
  std::vector<std::complex<double>> expected = exact_spectrum(filter, 0, size, g.fold);
  expected[0] = expected[7] = expected[size - 7] = 0;
  expected[20] *= 0.5, expected[size - 20] *= 0.5;
  const auto actual = rounded_spectrum(g, filter, 1, 0, kept);
  EXPECT_LE(relative_error(expected, actual), unit_roundoff(g.dtype));
  EXPECT_EQ(actual[7], 0.0);
  EXPECT_THROW(make_spectrum_table(g, std::vector<std::uint8_t>(size - 1, 1)), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
