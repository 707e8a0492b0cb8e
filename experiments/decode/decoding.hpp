// Decoding position by position, in three ways: what a position takes, predicted and measured.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "experiments/cli/environment.hpp"
#include "model/profile.hpp"
#include "reference/convolution/convolution.hpp"
#include "reference/names.hpp"
#include "reference/state/state.hpp"

namespace danaus {

enum class DecodeMethod { dot, tiles, recurrence };

inline constexpr std::array kDecodeMethods = {
    Named{DecodeMethod::dot, "dot", "products with all samples before, which are kept"},
    Named{DecodeMethod::tiles, "tiles", "convolutions of tiles of doubling size (kernels/plan/decode.hpp)"},
    Named{DecodeMethod::recurrence, "recurrence", "of a filter that is a state-space model: its state alone is kept"},
};

struct DecodeCase {
  Convolution whole;  // causal, without gates; L is how many positions there are
  DecodeMethod method = DecodeMethod::tiles;
  int states = 0;  // of a recurrence
};
// Throws std::invalid_argument where the case is none that is decoded.
void validate(const DecodeCase& asked);

// {"case", "method", "states": of a recurrence}
Json describe(const DecodeCase& asked);

// Positions from <= n < to, which double: what they take on average has one tile of every second size up to `from`.
struct Octave {
  std::int64_t from, to;
};
std::vector<Octave> octaves_of(std::int64_t length);

// The filter of a recurrence as a case of its own: all positions, or one of them.
StateSpace state_of(const DecodeCase& asked, std::int64_t length);

// Families of the kernels that are launched.
std::set<std::string> families_of(const DecodeCase& asked, const Device& device);

// By counted work and by the bytes that each launch moves:
//   {"positions": [{"from", "to", "us": of a position, on average}]}
Json predicted(const DecodeCase& asked, const HardwareProfile& profile);

// On a GPU, as launched one by one on a stream: {"verify": verdict_row() on some channels at all positions,
// "positions":
// [{"from", "to", "us": the median over repetitions of what a position takes on average, "q1", "q3"}], where it
// passed}. Throws in a build without CUDA.
Json timed(const DecodeCase& asked, const Device& device, int repetitions);

}  // namespace danaus
