#include "reference/convolution/mask.hpp"

#include <algorithm>

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

// 1 where the frequency lies in a block that is kept.
std::vector<std::uint8_t> kept_by_blocks(const Convolution& p) {
  const std::size_t order = p.factors.size();
  const std::int64_t n = resolved(p).fft_size;
  std::vector<std::uint8_t> kept(n);
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t block = 0, stride = 1, rest = k;
    for (std::size_t stage = 0; stage < order; ++stage) {  // d1, the last dimension, first
      const int factor = p.factors[stage], pieces = p.mask.pieces[order - 1 - stage];
      block += stride * (rest % factor / (factor / pieces));
      stride *= pieces, rest /= factor;
    }
    kept[k] = p.mask.blocks[block];
  }
  return kept;
}

// Of what is kept alone, a frequency and its mirror: both where either is (or, where they have to be, both are).
std::vector<std::uint8_t> symmetric(const std::vector<std::uint8_t>& alone, bool both) {
  const std::int64_t n = std::ssize(alone);
  std::vector<std::uint8_t> kept(n);
  for (std::int64_t k = 0; k < n; ++k) {
    const bool one = alone[k], mirror = alone[(n - k) % n];
    kept[k] = both ? one && mirror : one || mirror;
  }
  return kept;
}

}  // namespace

std::vector<std::uint8_t> kept_frequencies(const Convolution& problem) {
  validate(problem);
  const FrequencyMask& mask = problem.mask;
  const std::int64_t n = resolved(problem).fft_size;
  if (!mask.zeroed.empty()) {
    const std::vector<std::uint8_t> literal = kept_literally(problem);
    return mask.reading == MaskReading::literal ? literal : symmetric(literal, false);
  }
  std::vector<std::uint8_t> kept(n, mask.empty());
  for (const auto& [first, last] : mask.kept)
    for (std::int64_t k = first; k <= last; ++k) kept[k] = kept[(n - k) % n] = 1;
  if (mask.pieces.empty()) return kept;
  kept = symmetric(kept_by_blocks(problem), true);
  if (std::ranges::count(kept, 0) == n) fail("fftconv: the mask and its mirror image remove everything");
  return kept;
}

std::vector<std::uint8_t> marks_of(const Case& asked) {
  const auto* problem = asked.as<Convolution>();
  return problem && !problem->mask.empty() ? kept_frequencies(*problem) : std::vector<std::uint8_t>();
}

double sparsity(const Convolution& problem) {
  const std::vector<std::uint8_t> kept = kept_frequencies(problem);
  return static_cast<double>(std::count(kept.begin(), kept.end(), 0)) / static_cast<double>(kept.size());
}

std::vector<double> real_mask_weights(const Convolution& problem) {
  if (problem.mask.empty()) return {};
  const std::vector<std::uint8_t> kept = kept_frequencies(problem);
  const std::size_t n = kept.size();
  std::vector<double> weights(n / 2 + 1);
  for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = (kept[k] + kept[(n - k) % n]) / 2.0;
  return weights;
}

}  // namespace danaus
