#include "kernels/plan/live_blocks.hpp"

#include <algorithm>
#include <bit>

#include "kernels/product/slots.hpp"

namespace danaus {

std::vector<LiveStage> live_blocks(std::span<const std::uint8_t> kept, std::span<const int> factors) {
  std::int64_t points = 1;
  for (int factor : factors) points *= factor;
  if (std::ssize(kept) != points)
    fail("live blocks: ", kept.size(), " marks, must be ", points, ", the product of the factors");

  std::vector<LiveStage> stages(factors.size());
  std::int64_t prefixes = 1;  // N1 ... N(s-1)
  for (std::size_t s = 0; s < factors.size(); ++s) {
    LiveStage& stage = stages[s];
    const std::int64_t factor = factors[s], count = prefixes * factor;
    stage.factor = factors[s];
    stage.blocks.resize(count);
    // k modulo N1 ... Ns has the digits d1 ... ds, d1 fastest; blocks[] has d1 slowest.
    std::vector<std::int64_t> place(count);
    for (std::int64_t low = 0; low < count; ++low) {
      std::int64_t rest = low;
      for (std::size_t i = 0; i <= s; ++i) place[low] = place[low] * factors[i] + rest % factors[i], rest /= factors[i];
    }
    for (std::int64_t k = 0; k < points; ++k) stage.blocks[place[k % count]] |= kept[k] != 0;
    stage.live = std::ranges::count(stage.blocks, 1);
    for (int digit = 0; digit < factor; ++digit) {
      bool alive = false;
      for (std::int64_t block = digit; block < count; block += factor) alive |= stage.blocks[block] != 0;
      if (!alive) stage.dead_digits.push_back(digit);
    }
    prefixes = count;
  }
  return stages;
}

std::vector<std::uint8_t> live_with_mirrors(std::span<const std::uint8_t> kept) {
  std::vector<std::uint8_t> live(kept.size());
  for (std::size_t k = 0; k < kept.size(); ++k) live[k] = kept[k] || kept[(kept.size() - k) % kept.size()];
  return live;
}

int live_rows(std::int64_t samples, std::span<const int> factors) {
  std::int64_t of_row = 1;
  for (int factor : factors.subspan(1)) of_row *= factor;
  return static_cast<int>(std::min<std::int64_t>(factors.front(), (samples + of_row - 1) / of_row));
}

std::string LivePart::words() const {
  return text(blocks, " of ", blocks_of_all, " blocks and ", (100 * pieces + pieces_of_all / 2) / pieces_of_all,
              " % of the spectrum");
}

LivePart live_part(const Variant& sparse, std::span<const std::uint8_t> live) {
  if (std::ssize(live) != sparse.size)
    fail("live blocks: ", live.size(), " marks, must be ", sparse.size, ", the N of ", sparse.name);
  constexpr int kLanes = 32;
  LivePart part;
  part.pieces_of_all = sparse.spectrum_numbers() / kPieceNumbers, part.most_pieces = sparse.most_pieces();
  const int vectors = static_cast<int>(sparse.size / kPieceNumbers / kLanes);
  std::vector<std::uint32_t> lanes(vectors);
  const std::vector<std::int32_t> slots = sparse.spectrum_slots();
  for (std::size_t k = 0; k < live.size(); ++k) {
    const int piece = slots[k] / kPieceNumbers;
    if (live[k] && piece < part.pieces_of_all) lanes[piece / kLanes] |= 1u << piece % kLanes;
  }
  std::vector<std::uint8_t> of_blocks(vectors), is_block(vectors);
  part.marks.resize(kMarksOfVectors);
  for (int vector = 0; vector < vectors; ++vector) {
    part.marks.push_back(lanes[vector]);
    part.marks.push_back(static_cast<std::uint32_t>(part.pieces));
    part.pieces += std::popcount(lanes[vector]);
    if (kLanes * vector >= part.pieces_of_all) continue;
    is_block[sparse.live_block(vector)] = 1;
    of_blocks[sparse.live_block(vector)] |= lanes[vector] != 0;
  }
  part.marks[0] = static_cast<std::uint32_t>(part.pieces);
  part.blocks = std::ranges::count(of_blocks, 1), part.blocks_of_all = std::ranges::count(is_block, 1);
  return part;
}

int spectrum_numbers(const Variant& variant, const LivePart& of_sparse) {
  return variant.sparse ? static_cast<int>(kPieceNumbers * of_sparse.pieces) : variant.spectrum_numbers();
}

}  // namespace danaus
