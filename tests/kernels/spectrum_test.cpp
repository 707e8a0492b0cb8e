// The filter's transform on the device against the transform in double.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "kernels/executor/executor.hpp"
#include "kernels/executor/operations.hpp"
#include "kernels/families/spectrum/family.hpp"
#include "kernels/families/spectrum/kernel.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/dft.hpp"

namespace danaus {
namespace {

template <Dtype dtype>
using Shape = spectrum::Shape<spectrum::Key{dtype}, spectrum::Tuning{}>;
constexpr int kThreads = spectrum::Tuning{}.threads;

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

spectrum::Arguments arguments(const Filter& filter, int size, Fold fold) {
  spectrum::Arguments a{};
  a.k = filter.taps.data();
  a.size = size, a.parts = spectrum::parts(size);
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
  const spectrum::Arguments a = arguments(filter, size, fold);
  const int points = size / a.parts;
  std::vector<float> parts(2 * size);
  host::Executor executor;
  executor.declare("k", filter.taps.data(), 4 * filter.taps.size(), false);
  executor.declare("parts", parts.data(), 4 * parts.size(), true);
  executor.run({.blocks = a.parts, .threads = kThreads, .shared_bytes = spectrum::kPointBytes * points}, [&] {
    const int q = device::block_index();
    spectrum::transform_part<Shape<Dtype::f16>>(a, 0, q);
    for (int i = device::thread_index(); i < points; i += kThreads)
      device::store_global<8>(parts.data() + 2 * (q * points + i), device::load_shared<8>(spectrum::kPointBytes * i));
  });
  std::vector<std::complex<double>> actual(size);
  for (int k = 0; k < size; ++k) {
    const int at = 2 * (k % a.parts * points + spectrum::place(k / a.parts, points));
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

// One of each family, type, fold and order of N.
std::vector<const Variant*> shapes() {
  std::vector<const Variant*> list;
  for (const auto& v : variants())
    if (v->preferred && !v->gated && v->suits(0) &&
        (v->size == 256 || v->size == 768 || v->size == 1024 || v->size == 6144 || v->size == 32768))
      list.push_back(v.get());
  return list;
}

// y [H, N] of the whole kernel, in natural order, with the scale taken out.
std::vector<std::complex<double>> rounded_spectrum(const Variant& v, const Filter& filter, int channels, int channel,
                                                   std::span<const std::uint8_t> kept = {}) {
  const std::vector<u32> table = spectrum::make_table(v, kept);
  std::vector<u32> spectrum(channels * v.size, ~0u);
  spectrum::Arguments a = arguments(filter, v.size, v.fold);
  a.table = table.data(), a.spectrum = spectrum.data();
  host::Executor executor;
  executor.declare("k", filter.taps.data(), 4 * filter.taps.size(), false);
  executor.declare("table", table.data(), 4 * table.size(), false);
  executor.declare("spectrum", spectrum.data(), 4 * spectrum.size(), true);
  executor.run({.blocks = channels * a.parts,
                .threads = kThreads,
                .shared_bytes = spectrum::kPointBytes * v.size / a.parts,
                .order = host::Order::random},
               [&] {
                 v.dtype == Dtype::f16 ? spectrum::run<Shape<Dtype::f16>, Path::any>(a)
                                       : spectrum::run<Shape<Dtype::bf16>, Path::any>(a);
               });
  const auto value = [&](std::size_t half) {
    const auto bits = std::uint16_t(spectrum[half / 2] >> 16 * (half % 2));
    return v.dtype == Dtype::f16 ? host::decode<Dtype::f16>(bits) : host::decode<Dtype::bf16>(bits);
  };
  const std::vector<std::int32_t> slots = v.spectrum_slots();
  std::vector<std::complex<double>> actual(v.size);
  for (int k = 0; k < v.size; ++k) {
    const std::size_t half = std::size_t{2} * channel * v.size + 4 * (slots[k] / 2) + slots[k] % 2;
    actual[k] = std::complex<double>(value(half), value(half + 2)) / v.spectrum_scale();
  }
  return actual;
}

TEST(Spectrum, EveryChannelIsRoundedOnceIntoItsSlots) {
  for (const Variant* v : shapes()) {
    const int size = v->size;
    const Filter filter(size - 3, size, false, 2);
    for (int channel = 0; channel < 2; ++channel)
      EXPECT_LE(
          relative_error(exact_spectrum(filter, channel, size, v->fold), rounded_spectrum(*v, filter, 2, channel)),
          unit_roundoff(v->dtype))
          << v->name;
  }
}

TEST(Spectrum, MasksRemoveFrequenciesAndTakeTheMeanOfMirrors) {
  const Variant& v = *shapes().front();
  ASSERT_TRUE(v.dtype == Dtype::f16 && v.fold == Fold::pair);
  const int size = v.size;
  const Filter filter(size, size, true);
  std::vector<std::uint8_t> kept(size, 1);
  kept[0] = kept[7] = kept[size - 7] = kept[20] = 0;  // 20 and its mirror keep half
  std::vector<std::complex<double>> expected = exact_spectrum(filter, 0, size, v.fold);
  expected[0] = expected[7] = expected[size - 7] = 0;
  expected[20] *= 0.5, expected[size - 20] *= 0.5;
  const auto actual = rounded_spectrum(v, filter, 1, 0, kept);
  EXPECT_LE(relative_error(expected, actual), unit_roundoff(v.dtype));
  EXPECT_EQ(actual[7], 0.0);
  EXPECT_THROW(spectrum::make_table(v, std::vector<std::uint8_t>(size - 1, 1)), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
