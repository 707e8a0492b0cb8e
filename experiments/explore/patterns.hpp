// Masks to try on a case.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "experiments/explore/effect.hpp"
#include "experiments/explore/savings.hpp"
#include "reference/names.hpp"

namespace danaus {

enum class PatternKind { paper, grid, lines, low, high, band, random, energy, greedy, file };

inline constexpr std::array kPatternKinds = {
    Named{PatternKind::paper, "paper", "those of Table 10, as parts of the factors; both readings"},
    Named{PatternKind::grid, "grid", "every (a, b, ...) in steps of an eighth of a dimension, at most 4096"},
    Named{PatternKind::lines, "lines", "of the least significant digit alone: rows between the passes of long ones"},
    Named{PatternKind::low, "low", "low-pass"},
    Named{PatternKind::high, "high", "high-pass"},
    Named{PatternKind::band, "band", "band-stop"},
    Named{PatternKind::random, "random", "blocks at random"},
    Named{PatternKind::energy, "energy", "the blocks with most energy of the filters stay"},
    Named{PatternKind::greedy, "greedy", "one after the other goes the block that loses least for a saved microsecond"},
    Named{PatternKind::file, "file", "the masks of --mask"},
};

struct Pattern {
  PatternKind kind;
  Convolution problem;  // with the mask
};

// Dimension i (the last factor first) cut into so many pieces: as many blocks as there may be, at most 64, by the most
// significant digits (bands of frequencies), or by the least significant ones (lines of an exchange: frequencies that
// are alike modulo their number).
std::vector<int> band_pieces(std::span<const int> factors);
std::vector<int> line_pieces(std::span<const int> factors);

// A block and the one that its mirror image lies in.
struct BlockPair {
  std::vector<int> blocks;                // one or two
  std::vector<std::int64_t> frequencies;  // 0 to N/2, that go with them
};

std::vector<BlockPair> block_pairs(const Convolution& problem, const std::vector<int>& pieces);

// The paper's, Fu et al. 2023, Table 10, as they are and with their mirrors, cut to other factors than its own.
std::vector<FrequencyMask> paper_masks(const std::vector<int>& factors);

// Of the outermost factor 3/8, a quarter, an eighth and a sixteenth of the digits, with their mirrors twice as many.
std::vector<FrequencyMask> line_masks(const std::vector<int>& factors);

// Of a case without a mask that has fold, N and factors; each mask once, none that removes nothing or everything.
struct PatternRequest {
  std::vector<PatternKind> kinds;
  std::vector<std::vector<int>> pieces;  // blocks of each
  int count = 64;                        // of low, high, band; of random for each of `pieces`
  std::uint64_t seed = 0;
  double least_snr_db = 0;  // greedy and energy go no further
};
std::vector<Pattern> patterns(const Convolution& problem, const PatternRequest& request, const Effect& effect,
                              const Savings& savings);

}  // namespace danaus
