// Where rows and spectra lie, and who computes which: also where numbers need more than 32 bits.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/device/halves.hpp"
#include "kernels/executor/aligned.hpp"
#include "kernels/families/outer/family.hpp"
#include "kernels/families/outer/kernel.hpp"
#include "kernels/families/pieces/kernel.hpp"
#include "kernels/memory/divisor.hpp"
#include "kernels/memory/rows.hpp"
#include "kernels/product/multiply.hpp"
#include "tests/kernels/executor_support.hpp"

namespace danaus {
namespace {

constexpr std::int64_t kTwo32 = std::int64_t{1} << 32;

// `data` as element number `index` of an array of which the rest does not exist.
template <class T>
T* as_element(T* data, std::int64_t index) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(data) - sizeof(T) * static_cast<std::uintptr_t>(index));
}

struct PairsOf32K {
  static constexpr RowLayout layout{Dtype::f16, Fold::pair, true, 32768, 8, 8, 4096, 512, Cache::normal};
};

TEST(Division, SharesAllItemsOnce) {
  for (const auto& [of_channel, channels, whole] : {std::array{32, 768, 0}, {32, 768, 528}, {1, 5, 3}, {3, 7, 7}})
    for (int workers : {whole + 1, whole + 2, whole + 264}) {
      const Division division{of_channel, whole};
      int next = 0;
      for (int worker = 0; worker < workers; ++worker) {
        const ItemRange range = division.of(worker, workers, channels);
        EXPECT_EQ(range.first, next);
        EXPECT_GE(range.count, 0);
        next += range.count;
      }
      EXPECT_EQ(next, of_channel * channels);
    }
}

TEST(Division, ManyItemsTimesManyWorkersNeedMoreThan32Bits) {
  const Division division{32768, 0};
  const int channels = 65535, workers = 4096;
  EXPECT_EQ(division.of(0, workers, channels).first, 0);
  const ItemRange last = division.of(workers - 1, workers, channels);
  EXPECT_EQ(last.first + last.count, 32768 * channels);
  EXPECT_EQ(division.of(workers / 2, workers, channels).first, 32768 * channels / 2);
}

TEST(Divisor, DividesAsDivisionDoes) {
  constexpr int kMost = std::numeric_limits<int>::max();
  for (const int d : {1, 2, 3, 5, 7, 12, 64, 641, 1023, 1 << 20, 6700417, 1 << 30, kMost - 1, kMost}) {
    const Divisor divisor(d);
    EXPECT_EQ(divisor, d);
    // Quotients change at multiples.
    for (const int multiple : {0, 1, 2, 3, 1000, kMost / d / 2, kMost / d - 1, kMost / d})
      for (const std::int64_t beside : {-1, 0, 1}) {
        const std::int64_t n = std::int64_t{multiple} * d + beside;
        if (n < 0 || n > kMost) continue;
        EXPECT_EQ(static_cast<int>(n) / divisor, n / d) << n << " / " << d;
        EXPECT_EQ(static_cast<int>(n) % divisor, n % d) << n << " % " << d;
      }
    EXPECT_EQ(kMost / divisor, kMost / d);
  }
}

TEST(Rows, LieBeyond32BitsToo) {
  ConvolutionArguments a{};
  a.channels = 1000, a.length = 32768, a.batch = 1000;
  const std::int64_t begin = (std::int64_t{999} * 1000 + 7) * 32768;
  ASSERT_GT(begin, 7 * kTwo32);
  a.division = {500, 0};
  const RowStrides strides = contiguous(1000, 32768);
  const Item last = item_at<PairsOf32K>(a, 7 * 500 + 499);
  EXPECT_EQ(offset_of(strides, last), begin - 1000 * 32768);
  EXPECT_EQ(row_place(a, strides, Path::threads, last, 1).begin, begin);
  Item item = item_at<PairsOf32K>(a, 7 * 500 + 498);
  advance<PairsOf32K>(a, item);
  EXPECT_EQ(offset_of(strides, item), begin - 1000 * 32768);

  alignas(16) std::uint16_t row[16];
  std::iota(std::begin(row), std::end(row), std::uint16_t{1});
  const std::uint16_t* rows = as_element(row, begin + 16);  // two chunks, 16 samples into its row
  host::Executor executor;
  executor.declare("u", row, sizeof row, true);
  for (Transfer transfer : {Transfer::vector, Transfer::element})
    EXPECT_EQ(violation([&] {
                executor.run({}, [&] {
                  const Words<4> words = load_chunk(rows, {begin, 0, 32}, 24, transfer);
                  EXPECT_EQ(words[0], 9u | 10u << 16);
                  if (device::thread_index() == 0)
                    store_chunk(as_element(row, begin + 16), {begin, 0, 32}, 16, transfer, words);
                });
              }),
              "no violation");
  EXPECT_EQ(row[0], 9);
}

template <Keep keep>
void expect_spectrum_of_late_channels() {
  constexpr int kSize = 32768, kVectors = kSize / 128, kChannel = 200000;
  alignas(16) std::array<u32, 4 * 32> vector;  // the channel's last
  std::iota(vector.begin(), vector.end(), 0u);
  const std::int64_t at = std::int64_t{kChannel} * kSize + 4 * 32 * (kVectors - 1);
  ASSERT_GT(at, kTwo32);
  const u32* spectra = as_element(vector.data(), at);
  host::Executor executor;
  executor.declare("spectrum", vector.data(), sizeof vector, false);
  const auto kernel = [&] {
    ChannelSpectrum<keep, Cache::normal, 1, kSize, 0> spectrum;
    spectrum.hold({spectra, nullptr}, kChannel, [](int) { return kVectors - 1; });
    device::sync_warp();
    EXPECT_EQ(spectrum.load({spectra, nullptr}, kChannel, 0, kVectors - 1)[3], u32(4 * device::lane_index() + 3));
  };
  EXPECT_EQ(violation([&] { executor.run({.shared_bytes = 512 * kVectors}, kernel); }), "no violation");
}

TEST(ChannelSpectra, LieBeyond32BitsToo) {
  expect_spectrum_of_late_channels<Keep::registers>();
  expect_spectrum_of_late_channels<Keep::shared>();
  expect_spectrum_of_late_channels<Keep::cache>();
}

// A row that is the last of so many, there and back.
TEST(OuterPasses, LieBeyond32BitsToo) {
  constexpr int kLength = 4096, kChannels = (1 << 21) + 1;
  constexpr std::int64_t kBegin = std::int64_t{kChannels - 1} * kLength;
  ASSERT_GT(kBegin, kTwo32);
  std::vector<std::uint16_t> u(kLength), y(kLength), planes(2 * kLength);
  for (int n = 0; n < kLength; ++n) u[n] = host::encode<Dtype::f16>(n % 7 - 3);
  const auto pass = [&]<bool back>(std::vector<std::uint16_t>& samples) {
    using P = outer::Shape<outer::Key{Dtype::f16, Fold::pair, 1, back}, outer::Tuning{2, 1}>;
    const host::AlignedArray<std::uint32_t> tables(outer::make_tables(P::layout, 64));
    outer::Arguments a{};
    a.samples = as_element(samples.data(), kBegin), a.planes = planes.data(), a.tables = tables.data();
    a.batch = 1, a.channels = kChannels, a.length = kLength, a.first_channel = kChannels - 1, a.channel_count = 1;
    a.samples_strides = contiguous(kChannels, kLength);
    a.columns = 64, a.aligned = false;
    host::Executor executor;
    executor.declare("samples", samples.data(), 2 * samples.size(), back);
    executor.declare("planes", planes.data(), 2 * planes.size(), !back);
    executor.declare("tables", tables.data(), 4 * tables.all().size(), false, false);
    executor.run({.threads = P::layout.threads, .shared_bytes = P::layout.shared_bytes},
                 [&] { outer::run<P, Path::any>(a); });
    return 64 * P::layout.scale * P::layout.scale;
  };
  pass.operator()<false>(u);
  const double scale = pass.operator()<true>(y);
  for (int n = 0; n < kLength; ++n) ASSERT_NEAR(host::decode<Dtype::f16>(y[n]), scale * (n % 7 - 3), 0.02) << n;
}

TEST(Pieces, LieBeyond32BitsToo) {
  constexpr int kLength = 4096, kChannels = 1 << 10, kRow = 1 << 11, kOfRow = 4;
  constexpr std::int64_t kBegin = (std::int64_t{kRow} * kChannels + 7) * kLength;
  ASSERT_GT(kBegin, kTwo32);
  std::vector<std::uint16_t> u(kLength), y(kLength), piece(256);
  std::iota(u.begin(), u.end(), std::uint16_t{1});
  pieces::Arguments a{};
  a.rows = as_element(u.data(), kBegin), a.result = as_element(y.data(), kBegin), a.pieces = piece.data();
  a.begin = 3000, a.end = 3700, a.step = 200, a.lead = 56, a.size = 256;  // the last one gives 100
  a.first_row = kRow * kOfRow + 3, a.rows_now = 1, a.of_row = kOfRow, a.first_channel = 7, a.channels_now = 1;
  a.channels = kChannels, a.length = kLength, a.aligned = false;
  a.rows_strides = a.result_strides = contiguous(kChannels, kLength);
  host::Executor executor;
  executor.declare("u", u.data(), 2 * u.size(), false);
  executor.declare("y", y.data(), 2 * y.size(), true);
  executor.declare("pieces", piece.data(), 2 * piece.size(), true);
  const auto run = [&]<pieces::Job job>() {
    using P = pieces::Shape<pieces::Key{Dtype::f16, job}, pieces::Tuning{1}>;
    EXPECT_EQ(violation([&] { executor.run({.threads = P::layout.threads}, [&] { pieces::run<P, Path::any>(a); }); }),
              "no violation");
  };
  run.operator()<pieces::Job::cut>();
  for (int n = 0; n < 256; ++n) ASSERT_EQ(piece[n], u[3600 - 56 + n]);
  run.operator()<pieces::Job::join>();
  for (int n = 0; n < kLength; ++n) ASSERT_EQ(y[n], n >= 3600 && n < 3700 ? piece[n - 3600] : 0) << n;
}

}  // namespace
}  // namespace danaus
