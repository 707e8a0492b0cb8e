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

// Circular by the right angle: the taps once more, L samples before, where N - L samples on they are -i times as much.
std::vector<std::complex<double>> exact_spectrum(const Filter& filter, int channel, int size, Fold fold) {
  std::vector<std::complex<double>> z(size);
  for (int n = 0; n < filter.length; ++n) {
    if (!filter.wraps && n >= filter.period) break;
    const double tap = filter.taps[channel * filter.length + n];
    const int at = n % filter.period;
    z[at] += tap;
    if (filter.wraps && fold == Fold::right_angle) z[at + size - filter.period] -= std::complex<double>(0, tap);
  }
  if (fold == Fold::right_angle)
    for (int n = 0; n < size; ++n) z[n] *= std::polar(1.0, std::numbers::pi * n / (2.0 * size));
  return dft(z);
}

spectrum::Arguments arguments(const Filter& filter, int channels, int size, Fold fold, const spectrum::Split& split) {
  spectrum::Arguments a{};
  a.k = filter.taps.data();
  a.channels = channels, a.size = size, a.parts = split.parts;
  a.filter_length = filter.length, a.period = filter.period;
  a.circular = filter.wraps, a.right_angle = fold == Fold::right_angle, a.real_pairs = split.real_pairs;
  a.scale = 1, a.k_dtype = Dtype::f32;
  return a;
}

// Calls visit.operator()<Shape>() for the line of the table.
template <std::size_t line = 0, class Visit>
void with_shape(std::size_t wanted, Visit visit) {
  if constexpr (line < spectrum::kLines.size()) {
    constexpr spectrum::Line kLine = spectrum::kLines[line];
    if (line == wanted) return visit.template operator()<spectrum::Shape<kLine.key(), kLine.tuning>>();
    with_shape<line + 1>(wanted, visit);
  }
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

// Before the rounding.
double transform_error(const Filter& filter, int size, Fold fold, int block_bytes = 227 * 1024) {
  const spectrum::Split split = spectrum::split_of(fold == Fold::pair, size, block_bytes);
  spectrum::Arguments a = arguments(filter, 1, size, fold, split);
  const std::vector<u32> roots = spectrum::roots_of(split.layout().points);
  a.roots = roots.data();
  std::vector<float> spectrum(2 * size);
  host::Executor executor;
  executor.declare("k", filter.taps.data(), 4 * filter.taps.size(), false);
  executor.declare("roots", roots.data(), 4 * roots.size(), false);
  executor.declare("spectrum", spectrum.data(), 4 * spectrum.size(), true);
  const auto keep = [&](int k, fp32::Complex x) {
    device::store_global<8>(spectrum.data() + 2 * k, {word_of(x.re), word_of(x.im)});
    if (fold == Fold::pair && k > 0 && 2 * k < size)
      device::store_global<8>(spectrum.data() + 2 * (size - k), {word_of(x.re), word_of(-x.im)});
  };
  with_shape(split.line, [&]<class P>() {
    const int transforms = P::layout.tuning.transforms;
    executor.run({.blocks = (split.parts + transforms - 1) / transforms,
                  .threads = P::layout.threads,
                  .shared_bytes = P::layout.shared_bytes},
                 [&] {
                   spectrum::Transform<P> transform(a);
                   transform.run([&](int f, fp32::Complex x, SharedAddress) {
                     if (transform.channel() == 0) keep(transform.part() + split.parts * f, x);
                   });
                 });
  });
  std::vector<std::complex<double>> actual(size);
  for (int k = 0; k < size; ++k) actual[k] = {spectrum[2 * k], spectrum[2 * k + 1]};
  return relative_error(exact_spectrum(filter, 0, size, fold), actual);
}

// fp32 throughout: roundings of 6e-8 in each stage, as a random walk, and the right angle's weights, each from the one
// before; 4.1e-7 was measured at 32768, 1.5e-7 without weights.
constexpr double kTransformBound = 5e-7;

TEST(Spectrum, EverySizeIsTransformedInSinglePrecision) {
  for (int size : {256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768})
    for (Fold fold : {Fold::pair, Fold::right_angle})
      EXPECT_LE(transform_error(Filter(size, size, false), size, fold), kTransformBound) << size << ' ' << name(fold);
}

// On devices with less shared memory more blocks share a channel.
TEST(Spectrum, PartsOfAChannelAreTransformedApart) {
  for (int block_bytes : {163 * 1024, 99 * 1024, 20 * 1024})
    EXPECT_LE(transform_error(Filter(16384, 16384, false), 16384, Fold::right_angle, block_bytes), kTransformBound);
  EXPECT_EQ(spectrum::split_of(false, 16384, 20 * 1024).parts, 8);
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

// y [H, N] of the whole kernel, in natural order, with the scale taken out; what it does not read of mirrors, from what
// it reads twice.
std::vector<std::complex<double>> rounded_spectrum(const Variant& v, const Filter& filter, int channels, int channel,
                                                   std::span<const std::uint8_t> kept = {}) {
  const spectrum::Split split = spectrum::split_of(v.wraps(), v.size, 227 * 1024);
  const spectrum::Table table = spectrum::make_table(v, split, kept);
  std::vector<u32> spectrum(channels * v.spectrum_numbers(), ~0u);
  std::vector<float> factors(channels, 1);
  spectrum::Arguments a = arguments(filter, channels, v.size, v.fold, split);
  a.size = v.spectrum_numbers();
  a.entries = table.words.data(), a.roots = a.entries + table.roots_at, a.spectrum = spectrum.data();
  if (table.numbers_at >= 0) a.numbers = table.words.data() + table.numbers_at;
  if (table.marks_at >= 0) a.marks = table.words.data() + table.marks_at;
  a.scale = static_cast<float>(v.spectrum_scale());
  if (v.dtype == Dtype::bf16) a.factors = factors.data();
  host::Executor executor;
  executor.declare("k", filter.taps.data(), 4 * filter.taps.size(), false);
  executor.declare("table", table.words.data(), 4 * table.words.size(), false);
  executor.declare("spectrum", spectrum.data(), 4 * spectrum.size(), true);
  executor.declare("factors", factors.data(), 4 * factors.size(), true);
  with_shape(split.line, [&]<class P>() {
    const int transforms = P::layout.tuning.transforms;
    executor.run({.blocks = (channels * split.parts + transforms - 1) / transforms,
                  .threads = P::layout.threads,
                  .shared_bytes = P::layout.shared_bytes,
                  .order = host::Order::random},
                 [&] { spectrum::run<P, Path::any>(a); });
  });
  const auto value = [&](std::size_t half) {
    const auto bits = std::uint16_t(spectrum[half / 2] >> 16 * (half % 2));
    return factors[channel] * double(host::decode<Dtype::f16>(bits));
  };
  const std::vector<std::int32_t> slots = v.spectrum_slots();
  std::vector<std::complex<double>> actual(v.size);
  for (int k = 0; k < v.size; ++k) {
    if (slots[k] >= v.spectrum_numbers()) continue;
    const std::size_t half = std::size_t{2} * channel * v.spectrum_numbers() + 4 * (slots[k] / 2) + slots[k] % 2;
    actual[k] = std::complex<double>(value(half), value(half + 2)) / v.spectrum_scale();
    const int mirror = (v.size - k) % v.size;
    if (slots[mirror] >= v.spectrum_numbers()) actual[k] /= 2, actual[mirror] = std::conj(actual[k]);
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
          unit_roundoff(Dtype::f16))
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
  EXPECT_THROW(spectrum::make_table(v, spectrum::split_of(v.fold == Fold::pair, size, 227 * 1024),
                                    std::vector<std::uint8_t>(size - 1, 1)),
               std::invalid_argument);
}

}  // namespace
}  // namespace danaus
