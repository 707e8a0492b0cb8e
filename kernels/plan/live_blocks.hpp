// What a transform may leave out where frequencies of the filter are removed, or samples are zero: its live blocks.
//
// index   a transform of N = N1 N2 ... Np points, N1 outermost: k = d1 + N1 (d2 + N2 (d3 + ...)). Stage s of the
//         forward transform makes digit ds of k; on the way back it takes ds again
// block   of stage s: what has the digits (d1 ... ds), N / (N1 ... Ns) complex numbers. Dead where every frequency with
//         these digits is removed: forward nobody makes it, back nobody reads it, and between them lie no spectrum and
//         no product. Those of the stages before an exchange are its lines, those of an outer pass its rows
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/families/variant.hpp"

namespace danaus {

struct LiveStage {
  int factor = 1;                    // Ns
  std::vector<std::uint8_t> blocks;  // [N1 ... Ns], d1 slowest: 1 live, 0 dead
  std::int64_t live = 0;             // of these
  // Of ds, ascending: dead whatever the other digits are. Rows of the stage's matrix that nobody needs before the
  // product, columns after it.
  std::vector<int> dead_digits;

  // Of the stage's products of matrices, there or back, and of what it moves.
  double fraction() const { return static_cast<double>(live) / static_cast<double>(blocks.size()); }
};

// A stage for each factor, outermost first, of a spectrum whose frequencies k are live where kept[k] is not 0. Throws
// std::invalid_argument unless there are as many marks as the factors multiply to.
std::vector<LiveStage> live_blocks(std::span<const std::uint8_t> kept, std::span<const int> factors);

// Marks of what is left of the spectrum of a real filter, of which frequency and mirror get the mean of their marks
// (make_table() in families/spectrum/family.hpp): live where either is kept.
std::vector<std::uint8_t> live_with_mirrors(std::span<const std::uint8_t> kept);

// Rows of N / factors[0] samples that are not all zero, of the N1 that the first stage takes, where `samples` of the N
// are there; as many of those that the last stage makes on the way back are wanted, where so many outputs are.
int live_rows(std::int64_t samples, std::span<const int> factors);

// What a sparse kernel keeps, reads and computes of a masked spectrum. Its blocks are those of the last stages, as far
// as instructions take them together: an instruction whose results are all dead is left out, and so are the loads and
// stores of rows that only such instructions read.
struct LivePart {
  std::vector<std::uint32_t> marks;            // that the kernel reads behind its constants (product/slots.hpp)
  std::int64_t pieces = 0, pieces_of_all = 0;  // of a channel's spectrum: 16 bytes, four numbers
  std::int64_t most_pieces = 0;                // Variant::most_pieces()
  std::int64_t blocks = 0, blocks_of_all = 0;  // Variant::live_block()

  // Whether the sparse kernel takes less time than the dense one.
  bool pays() const { return pieces < pieces_of_all && pieces <= most_pieces; }
  // "18 of 32 blocks and 40 % of the spectrum".
  std::string words() const;
};

// Of frequencies k that are live where live[k] is not 0 (live_with_mirrors()).
LivePart live_part(const Variant& sparse, std::span<const std::uint8_t> live);

// Numbers that a kernel keeps of a channel's spectrum.
int spectrum_numbers(const Variant& variant, const LivePart& of_sparse);

}  // namespace danaus
