#include "experiments/explore/patterns.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "reference/convolution/mask.hpp"

namespace danaus {
namespace {

constexpr int kMostBlocks = 64, kMostOfGrid = 4096;

int product(const std::vector<int>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 1, std::multiplies<>());
}

// The list as it grows: each mask once.
class List {
 public:
  explicit List(const Convolution& problem) : problem_(problem) {}

  void add(PatternKind kind, const FrequencyMask& mask) {
    Convolution masked = problem_;
    masked.mask = mask;
    if (!known_.insert(token(masked)).second) return;
    try {
      if (sparsity(masked) > 0) list.push_back({kind, masked});
    } catch (const std::invalid_argument&) {  // blocks whose mirrors take the rest
    }
  }
  void add_bands(PatternKind kind, std::vector<Band> kept) {
    FrequencyMask mask;
    mask.kept = std::move(kept);
    add(kind, mask);
  }
  void add_blocks(PatternKind kind, const std::vector<int>& pieces, const std::vector<std::uint8_t>& blocks) {
    FrequencyMask mask;
    mask.pieces = pieces, mask.blocks = blocks;
    if (std::ranges::count(blocks, 1) > 0) add(kind, mask);
  }
  const Convolution& problem() const { return problem_; }

  std::vector<Pattern> list;

 private:
  Convolution problem_;
  std::set<std::string> known_;
};

FrequencyMask pattern_of(const std::vector<int>& zeroed, MaskReading reading) {
  FrequencyMask mask;
  mask.zeroed = zeroed, mask.reading = reading;
  return mask;
}

void add_masks(List& list, PatternKind kind, const std::vector<FrequencyMask>& masks) {
  for (const FrequencyMask& mask : masks) list.add(kind, mask);
}

void add_grid(List& list) {
  const std::vector<int>& factors = list.problem().factors;
  std::vector<int> zeroed(factors.size());
  for (int made = 0; made < kMostOfGrid; ++made) {
    list.add(PatternKind::grid, pattern_of(zeroed, MaskReading::hermitian));
    std::size_t i = 0;  // the most significant dimension counts fastest: the first patterns are all of (a, b)
    for (; i < zeroed.size(); ++i) {
      const int extent = factors[factors.size() - 1 - i];
      zeroed[i] += std::max(1, extent / 8);
      if (zeroed[i] < extent) break;
      zeroed[i] = 0;
    }
    if (i == zeroed.size()) return;
  }
}

// In `count` steps of the half spectrum.
void add_bands(List& list, PatternKind kind, int count) {
  const std::int64_t half = list.problem().fft_size / 2;
  const auto at = [&](int step) { return half * step / (count + 1); };
  for (int step = 1; step <= count; ++step) {
    if (kind == PatternKind::low) list.add_bands(kind, {{0, at(step)}});
    if (kind == PatternKind::high) list.add_bands(kind, {{at(step), half}});
    if (kind == PatternKind::band) {  // an eighth of it
      const std::int64_t last = at(step) + half / 8;
      if (last < half) list.add_bands(kind, {{0, at(step)}, {last, half}});
    }
  }
}

void remove(std::vector<std::uint8_t>& blocks, const BlockPair& pair) {
  for (int block : pair.blocks) blocks[block] = 0;
}

void add_random(List& list, const std::vector<int>& pieces, const PatternRequest& request) {
  const std::vector<BlockPair> pairs = block_pairs(list.problem(), pieces);
  std::mt19937_64 random(request.seed);
  std::vector<std::size_t> order(pairs.size());
  std::iota(order.begin(), order.end(), 0);
  for (int i = 0; i < request.count; ++i) {
    for (std::size_t last = order.size(); last > 1; --last) std::swap(order[last - 1], order[random() % last]);
    std::vector<std::uint8_t> blocks(product(pieces), 1);
    const std::size_t removed = 1 + random() % std::max<std::size_t>(1, pairs.size() - 1);
    for (std::size_t j = 0; j < removed; ++j) remove(blocks, pairs[order[j]]);
    list.add_blocks(PatternKind::random, pieces, blocks);
  }
}

double energy_of(const BlockPair& pair, const std::vector<double>& energy) {
  double sum = 0;
  for (std::int64_t frequency : pair.frequencies) sum += energy[frequency];
  return sum;
}

void add_by_energy(List& list, const std::vector<int>& pieces, const Effect& effect) {
  std::vector<BlockPair> pairs = block_pairs(list.problem(), pieces);
  std::ranges::stable_sort(pairs, {}, [&](const BlockPair& pair) { return energy_of(pair, effect.filter_energy()); });
  std::vector<std::uint8_t> blocks(product(pieces), 1);
  for (const BlockPair& pair : pairs) {
    remove(blocks, pair);
    list.add_blocks(PatternKind::energy, pieces, blocks);
  }
}

// Removes one block after another. Each step removes the block that costs the least output energy for each microsecond
// saved. What a block costs and saves depends on the blocks that are removed already. The input that loses the largest
// share counts.
void add_greedily(List& list, const std::vector<int>& pieces, const PatternRequest& request, const Effect& effect,
                  const Savings& savings) {
  const std::vector<std::vector<double>>& energies = effect.output_energy();
  const double budget = std::pow(10, -request.least_snr_db / 10);
  std::vector<BlockPair> pairs = block_pairs(list.problem(), pieces);
  std::vector<std::uint8_t> blocks(product(pieces), 1);
  std::vector<double> lost(energies.size());
  Convolution masked = list.problem();
  masked.mask.pieces = pieces;
  double us = savings.dense().us;
  while (pairs.size() > 1) {
    struct Choice {
      double price, us;
      std::size_t pair;
    };
    std::optional<Choice> best;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      double loss = 0;
      for (std::size_t input = 0; input < energies.size(); ++input) {
        const double of_pair = energy_of(pairs[i], energies[input]);
        if (lost[input] + of_pair > budget) loss = INFINITY;
        loss = std::max(loss, of_pair);
      }
      if (std::isinf(loss)) continue;
      masked.mask.blocks = blocks;
      remove(masked.mask.blocks, pairs[i]);
      const double left = savings.of(masked).us;
      constexpr double kLeastSaved = 1e-6;  // of the time: what saves nothing is worth its loss alone
      const double price = loss / std::max(us - left, kLeastSaved * us);
      if (!best || price < best->price) best = {price, left, i};
    }
    if (!best) return;
    const BlockPair& pair = pairs[best->pair];
    for (std::size_t input = 0; input < energies.size(); ++input) lost[input] += energy_of(pair, energies[input]);
    remove(blocks, pair);
    us = best->us;
    pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(best->pair));
    list.add_blocks(PatternKind::greedy, pieces, blocks);
  }
}

std::vector<int> pieces_from(std::span<const int> extents) {
  std::vector<int> pieces(extents.size(), 1);
  int blocks = 1;
  for (std::size_t i = 0; i < extents.size() && blocks * extents[i] <= kMostBlocks; ++i)
    pieces[i] = extents[i], blocks *= extents[i];
  return pieces;
}

}  // namespace

std::vector<FrequencyMask> paper_masks(const std::vector<int>& factors) {
  constexpr int kZeroed[][4] = {{16, 0, 0, 0}, {16, 16, 0, 0}, {16, 16, 4, 4}, {16, 16, 8, 8}, {16, 16, 16, 16}};
  constexpr int kExtents[] = {32, 32, 32, 64};
  std::vector<FrequencyMask> masks;
  for (const auto& row : kZeroed)
    for (MaskReading reading : {MaskReading::hermitian, MaskReading::literal}) {
      std::vector<int> zeroed(factors.size());
      for (std::size_t i = 0; i < std::min(zeroed.size(), std::size(row)); ++i)
        zeroed[i] = factors[factors.size() - 1 - i] * row[i] / kExtents[i];
      masks.push_back(pattern_of(zeroed, reading));
    }
  return masks;
}

std::vector<FrequencyMask> line_masks(const std::vector<int>& factors) {
  std::vector<FrequencyMask> masks;
  for (int kept : {6, 4, 2, 1}) {
    std::vector<int> zeroed(factors.size());
    zeroed.back() = factors.front() * (16 - kept) / 16;
    masks.push_back(pattern_of(zeroed, MaskReading::hermitian));
  }
  return masks;
}

std::vector<int> band_pieces(std::span<const int> factors) {
  const std::vector<int> dimensions(factors.rbegin(), factors.rend());
  return pieces_from(dimensions);
}

std::vector<int> line_pieces(std::span<const int> factors) {
  std::vector<int> pieces = pieces_from(factors);
  std::ranges::reverse(pieces);
  return pieces;
}

std::vector<BlockPair> block_pairs(const Convolution& problem, const std::vector<int>& pieces) {
  Convolution masked = problem;
  masked.mask = {};
  masked.mask.pieces = pieces;
  masked.mask.blocks.assign(product(pieces), 1);
  validate(masked);
  const std::int64_t n = resolved(masked).fft_size;
  const std::vector<int>& factors = masked.factors;
  const auto block_of = [&](std::int64_t k) {
    int block = 0, stride = 1;
    for (std::size_t s = 0; s < factors.size(); ++s) {
      const int cut = pieces[factors.size() - 1 - s];
      block += stride * static_cast<int>(k % factors[s] / (factors[s] / cut));
      stride *= cut, k /= factors[s];
    }
    return block;
  };
  // The mirror of most of a block's frequencies lies in one block: its last frequency's, which no edge touches.
  const int blocks = product(pieces);
  std::vector<std::int64_t> last(blocks);
  for (std::int64_t k = 0; k < n; ++k) last[block_of(k)] = k;
  std::vector<int> pair_of(blocks, -1);
  std::vector<BlockPair> pairs;
  for (int block = 0; block < blocks; ++block) {
    if (pair_of[block] >= 0) continue;
    const int mirror = block_of((n - last[block]) % n);
    pair_of[block] = static_cast<int>(pairs.size());
    pairs.push_back({{block}, {}});
    if (mirror == block || pair_of[mirror] >= 0) continue;
    pair_of[mirror] = pair_of[block];
    pairs.back().blocks.push_back(mirror);
  }
  for (std::int64_t k = 0; 2 * k <= n; ++k) {
    const int of_one = pair_of[block_of(k)], of_mirror = pair_of[block_of((n - k) % n)];
    pairs[of_one].frequencies.push_back(k);
    if (of_mirror != of_one) pairs[of_mirror].frequencies.push_back(k);
  }
  return pairs;
}

std::vector<Pattern> patterns(const Convolution& problem, const PatternRequest& request, const Effect& effect,
                              const Savings& savings) {
  List list(problem);
  for (PatternKind kind : request.kinds) switch (kind) {
      case PatternKind::paper: add_masks(list, kind, paper_masks(problem.factors)); break;
      case PatternKind::grid: add_grid(list); break;
      case PatternKind::lines: add_masks(list, kind, line_masks(problem.factors)); break;
      case PatternKind::low:
      case PatternKind::high:
      case PatternKind::band: add_bands(list, kind, request.count); break;
      case PatternKind::random:
        for (const auto& pieces : request.pieces) add_random(list, pieces, request);
        break;
      case PatternKind::energy:
        for (const auto& pieces : request.pieces) add_by_energy(list, pieces, effect);
        break;
      case PatternKind::greedy:
        for (const auto& pieces : request.pieces) add_greedily(list, pieces, request, effect, savings);
        break;
      case PatternKind::file: break;  // of the caller
    }
  return list.list;
}

}  // namespace danaus
