// Where rows and spectra lie, and who computes which: also where numbers need more than 32 bits.
#include <gtest/gtest.h>

#include <array>

#include "kernels/memory/rows.hpp"
#include "kernels/middle/multiply.hpp"
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

TEST(Rows, LieBeyond32BitsToo) {
  ConvolutionArguments a{};
  a.channels = 1000, a.length = 32768, a.batch = 1000;
  const std::int64_t begin = (std::int64_t{999} * 1000 + 7) * 32768;
  ASSERT_GT(begin, 7 * kTwo32);
  a.division = {500, 0};
  EXPECT_EQ(item_at<PairsOf32K>(a, 7 * 500 + 499).offset, begin - 1000 * 32768);
  EXPECT_EQ(row_place(a, Path::threads, item_at<PairsOf32K>(a, 7 * 500 + 499), 1).begin, begin);
  Item item = item_at<PairsOf32K>(a, 7 * 500 + 498);
  advance<PairsOf32K>(a, item);
  EXPECT_EQ(item.offset, begin - 1000 * 32768);

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
    spectrum.hold(spectra, kChannel, [](int) { return kVectors - 1; });
    device::sync_warp();
    EXPECT_EQ(spectrum.load(spectra, kChannel, 0, kVectors - 1)[3], u32(4 * device::lane_index() + 3));
  };
  EXPECT_EQ(violation([&] { executor.run({.shared_bytes = 512 * kVectors}, kernel); }), "no violation");
}

TEST(ChannelSpectra, LieBeyond32BitsToo) {
  expect_spectrum_of_late_channels<Keep::registers>();
  expect_spectrum_of_late_channels<Keep::shared>();
  expect_spectrum_of_late_channels<Keep::cache>();
}

}  // namespace
}  // namespace danaus
