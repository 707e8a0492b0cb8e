#include "reference/convolution/mask.hpp"

#include <algorithm>

#include "reference/convolution/monarch.hpp"

namespace danaus {
namespace {

// 1 where the frequency survives the paper's slices: every digit below its extent less its count.
std::vector<std::uint8_t> kept_literally(const Convolution& p) {
  const std::size_t order = p.factors.size();
  std::vector<std::uint8_t> kept = {1};
  for (std::size_t stage = 0; stage < order; ++stage) {  // d1 first: the least significant digit
    const int factor = p.factors[stage], live = factor - p.mask.zeroed[order - 1 - stage];
    std::vector<std::uint8_t> longer;
    longer.reserve(kept.size() * factor);
    for (int digit = 0; digit < factor; ++digit)
      for (std::uint8_t below : kept) longer.push_back(below && digit < live);
    kept = std::move(longer);
  }
  return kept;
}

}  // namespace

std::vector<std::uint8_t> kept_frequencies(const Convolution& problem) {
  validate(problem);
  const std::int64_t n = resolved(problem).fft_size;
  if (problem.mask.zeroed.empty()) return std::vector<std::uint8_t>(n, 1);
  const std::vector<std::uint8_t> literal = kept_literally(problem);
  if (problem.mask.reading == MaskReading::literal) return literal;
  std::vector<std::uint8_t> kept(n);
  for (std::int64_t k = 0; k < n; ++k) kept[k] = literal[k] || literal[(n - k) % n];
  return kept;
}

double sparsity(const Convolution& problem) {
  const std::vector<std::uint8_t> kept = kept_frequencies(problem);
  return static_cast<double>(std::count(kept.begin(), kept.end(), 0)) / static_cast<double>(kept.size());
}

std::vector<double> real_mask_weights(const Convolution& problem) {
  if (problem.mask.zeroed.empty()) return {};
  const std::vector<std::uint8_t> kept = kept_frequencies(problem);
  const std::size_t n = kept.size();
  std::vector<double> weights(n / 2 + 1);
  for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = (kept[k] + kept[(n - k) % n]) / 2.0;
  return weights;
}

std::vector<std::vector<std::uint8_t>> dead_blocks(const Convolution& problem) {
  const std::vector<std::uint8_t> kept = kept_frequencies(problem);
  const std::size_t stages = problem.factors.size();
  std::vector<std::vector<std::uint8_t>> dead(stages);
  if (stages == 0) return dead;
  for (std::int64_t k : monarch_order(problem.factors)) dead.back().push_back(!kept[k]);
  for (std::size_t s = stages - 1; s > 0; --s) {
    const std::int64_t factor = problem.factors[s];
    for (auto block = dead[s].begin(); block != dead[s].end(); block += factor)
      dead[s - 1].push_back(std::all_of(block, block + factor, [](std::uint8_t is_dead) { return is_dead; }));
  }
  return dead;
}

std::vector<std::vector<int>> dead_digits(const Convolution& problem) {
  const std::vector<std::vector<std::uint8_t>> dead = dead_blocks(problem);
  std::vector<std::vector<int>> digits(dead.size());
  for (std::size_t s = 0; s < dead.size(); ++s) {
    const int factor = problem.factors[s];
    for (int digit = 0; digit < factor; ++digit) {
      bool all = true;
      for (std::size_t block = digit; block < dead[s].size(); block += factor) all = all && dead[s][block];
      if (all) digits[s].push_back(digit);
    }
  }
  return digits;
}

}  // namespace danaus
