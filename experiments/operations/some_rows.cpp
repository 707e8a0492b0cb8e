#include "experiments/operations/some_rows.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace danaus {
namespace {

constexpr std::int64_t kMost = 8;                             // of batch and of channels
constexpr std::int64_t kMostSamples = std::int64_t{1} << 23;  // but for the first and the last, of all of them

}  // namespace

std::vector<std::int64_t> some_of(std::int64_t count, std::int64_t most, bool pairs) {
  std::set<std::int64_t> chosen;
  const auto take = [&](std::int64_t i) {
    chosen.insert(i);
    if (pairs && (i ^ 1) < count) chosen.insert(i ^ 1);
  };
  take(0), take(count - 1);
  std::mt19937_64 random;
  while (std::ssize(chosen) < std::min(count, most))
    take(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count)));
  return {chosen.begin(), chosen.end()};
}

std::vector<std::int64_t> all_of(std::int64_t count) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

std::int64_t most_of(std::int64_t samples) { return std::clamp<std::int64_t>(kMostSamples / samples, 1, kMost); }

std::vector<Block> rows_of(const std::vector<std::int64_t>& first, const std::vector<std::int64_t>& second,
                           std::int64_t seconds, std::int64_t count) {
  std::vector<Block> blocks;
  for (std::int64_t i : first)
    for (std::int64_t j : second) blocks.push_back({(i * seconds + j) * count, count});
  return blocks;
}

}  // namespace danaus
