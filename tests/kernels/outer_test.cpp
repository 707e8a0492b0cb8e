// The outer passes of a long convolution against sums in double.
#include <gtest/gtest.h>

#include <complex>
#include <random>

#include "kernels/device/halves.hpp"
#include "kernels/executor/aligned.hpp"
#include "kernels/executor/executor.hpp"
#include "kernels/executor/operations.hpp"
#include "kernels/families/outer/family.hpp"
#include "kernels/families/outer/kernel.hpp"
#include "kernels/tile/table.hpp"
#include "reference/bounds.hpp"

namespace danaus {
namespace {

using Complex = std::complex<double>;

// Two channels of three, five rows, two tiles, in a launch of three blocks.
template <Dtype dtype, Fold fold, bool gated, int radix>
class Both {
 public:
  static constexpr outer::Tuning kTuning{2, 1};
  template <bool back>
  using ShapeOf = outer::Shape<outer::Key{dtype, fold, radix, back}, kTuning>;
  static constexpr bool kPair = fold == Fold::pair;
  static constexpr int kRows = 64 * radix, kBatch = 5, kChannels = 3, kFirst = 1, kCount = 2, kColumns = 2 * 64;
  static constexpr int kSize = kRows * kColumns, kPlaneRows = kPair ? 6 : 10;

  explicit Both(int length) : length_(length) {
    std::mt19937 random(length);
    std::normal_distribution<double> normal;
    const auto draw = [&](std::vector<std::uint16_t>& bits, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) bits.push_back(host::encode<dtype>(normal(random)));
    };
    draw(u_, std::size_t{1} * kBatch * kChannels * length);
    if (gated) draw(gate_, u_.size());
    planes_.assign(std::size_t{1} * kPlaneRows * kCount * kSize, 0x7fff);
    y_.assign(u_.size(), 0x7fff);
  }

  // Row b of channel h of the chunk, with its gate, weighted.
  Complex sample(int b, int h, int n, bool gate) const {
    if (b >= kBatch || n >= length_) return 0;
    const std::size_t at = (std::size_t(b) * kChannels + kFirst + h) * length_ + n;
    double value = host::decode<dtype>(u_[at]);
    if (gate && gated) value *= host::decode<dtype>(gate_[at]);
    return value * (kPair ? Complex(1) : weight(kSize, n));
  }
  void run() {
    launch<false>();
    launch<true>();
  }
  void expect_spectra() const {
    double error = 0, size = 0;
    for (int item = 0; item < kPlaneRows / 2; ++item)
      for (int h = 0; h < kCount; ++h)
        for (int n_lo = 0; n_lo < kColumns; n_lo += 13)
          for (int k = 0; k < kRows; ++k) {
            Complex sum = 0;
            for (int n_hi = 0; n_hi < kRows; ++n_hi) {
              const int n = n_hi * kColumns + n_lo;
              Complex z = sample(kPair ? 2 * item : item, h, n, true);
              if (kPair) z += Complex(0, 1) * sample(2 * item + 1, h, n, true);
              sum += z * root(kRows, n_hi * k);
            }
            const Complex expected = kScale * sum * root(kSize, n_lo * k);
            error += std::norm(plane(item, h, k * kColumns + n_lo) - expected), size += std::norm(expected);
          }
    EXPECT_LE(std::sqrt(error / size), kUsualShare * bound(outer::roundings_of_pass(ShapeOf<false>::layout)));
  }
  // There and back is N1 times the scales, and both gates.
  void expect_samples() const {
    double error = 0, size = 0;
    for (int b = 0; b < kBatch; ++b)
      for (int h = 0; h < kChannels; ++h)
        for (int n = 0; n < length_; ++n) {
          const std::size_t at = (std::size_t(b) * kChannels + h) * length_ + n;
          if (h < kFirst || h >= kFirst + kCount) {
            ASSERT_EQ(y_[at], 0x7fff) << "of another chunk";
            continue;
          }
          const double gate = gated ? host::decode<dtype>(gate_[at]) : 1;
          const double expected = kRows * kScale * kScale * host::decode<dtype>(u_[at]) * gate * gate;
          error += std::pow(host::decode<dtype>(y_[at]) - expected, 2), size += expected * expected;
        }
    EXPECT_LE(std::sqrt(error / size), kUsualShare * bound(2 * outer::roundings_of_pass(ShapeOf<false>::layout) + 2));
  }

 private:
  static constexpr double kScale = ShapeOf<false>::layout.scale;

  static double bound(int roundings) {
    return bound_l2_of_roundings(Dtype::f16, roundings) + (dtype == Dtype::bf16 ? 3 * 0x1p-8 : 0);
  }
  Complex plane(int item, int h, int at) const {
    const auto part = [&](int number) {
      return host::decode<dtype>(planes_[(std::size_t(2 * item + number) * kCount + h) * kSize + at]);
    };
    return {part(0), part(1)};
  }
  template <bool back>
  void launch() {
    using P = ShapeOf<back>;
    const host::AlignedArray<std::uint32_t> tables(outer::make_tables(P::layout, kColumns));
    outer::Arguments a{};
    a.samples = back ? y_.data() : u_.data(), a.gate = gated ? gate_.data() : nullptr, a.planes = planes_.data();
    a.tables = tables.data();
    a.batch = kBatch, a.channels = kChannels, a.length = length_, a.first_channel = kFirst, a.channel_count = kCount;
    a.columns = kColumns, a.aligned = length_ % 8 == 0;
    a.samples_strides = a.gate_strides = contiguous(kChannels, length_);
    host::Executor executor;
    executor.declare("u", u_.data(), 2 * u_.size(), false);
    executor.declare("y", y_.data(), 2 * y_.size(), back);
    if (gated) executor.declare("gate", gate_.data(), 2 * gate_.size(), false);
    executor.declare("planes", planes_.data(), 2 * planes_.size(), !back);
    executor.declare("tables", tables.data(), 4 * tables.all().size(), false, false);
    // As many blocks for each tile of columns, as plans launch.
    executor.run({.blocks = 4, .threads = P::layout.threads, .shared_bytes = P::layout.shared_bytes},
                 [&] { outer::run<P, Path::any>(a); });
  }

  int length_;
  std::vector<std::uint16_t> u_, gate_, planes_, y_;
};

template <class Passes>
class Outer : public testing::Test {};
using AllPasses = testing::Types<Both<Dtype::f16, Fold::pair, false, 1>, Both<Dtype::f16, Fold::right_angle, true, 1>,
                                 Both<Dtype::bf16, Fold::pair, true, 2>, Both<Dtype::f16, Fold::right_angle, false, 2>,
                                 Both<Dtype::f16, Fold::pair, false, 3>, Both<Dtype::bf16, Fold::right_angle, false, 3>,
                                 Both<Dtype::bf16, Fold::pair, false, 4>, Both<Dtype::f16, Fold::right_angle, true, 4>,
                                 Both<Dtype::f16, Fold::pair, true, 5>, Both<Dtype::bf16, Fold::right_angle, false, 5>,
                                 Both<Dtype::f16, Fold::pair, false, 7>, Both<Dtype::f16, Fold::right_angle, false, 7>>;
TYPED_TEST_SUITE(Outer, AllPasses);

TYPED_TEST(Outer, TransformsDownTheColumnsAndBack) {
  for (int length : {TypeParam::kSize, TypeParam::kSize - 40, TypeParam::kSize - 997}) {
    SCOPED_TRACE(length);
    TypeParam passes(length);
    passes.run();
    passes.expect_spectra();
    passes.expect_samples();
  }
}

}  // namespace
}  // namespace danaus
