// Products of a group of four warps: each warp has its sixteen rows, and what it began is done where it waits for it.
#include <cstring>

#include "kernels/executor/state.hpp"

namespace danaus::host {

using device::detail::GroupMma;
using device::detail::Mma;

namespace {

constexpr int kGroupWarps = 4, kDepth = 16, kLineBytes = 128, kPieceBytes = 16, kTileColumns = 8;

// Of a column, 16 bytes of its points.
SharedAddress piece_of(SharedAddress b, int column, int piece) {
  return swizzled(b + kLineBytes * column + kPieceBytes * piece);
}

}  // namespace

// Its operand must be there and stay: it may be read until the product was waited for.
void Executor::State::begin_group_product() {
  Lane& first = warp.front();
  const auto request = [&](int lane) -> GroupMma& { return *static_cast<GroupMma*>(warp[lane].request.data); };
  const Origin origin{"group_multiply", first.request.site, &first};
  const GroupMma& of_first = request(0);
  if (first.of->lanes.size() % (kGroupWarps * kWarp) != 0)
    violate(origin, "the block has ", first.of->lanes.size(), " threads, must be whole groups of four warps");
  if (of_first.b % 32 != 0 || of_first.b % 1024 >= kLineBytes)
    violate(origin, "shared address ", of_first.b, ", must be a multiple of 32 in the first 128 bytes of 1024");
  GroupProduct product{origin, {kInFlight, first.number, sites.number(origin.site)}, first.product_batch, {}};
  for (int lane = 0; lane < kWarp; ++lane) {
    product.of_lanes[lane] = request(lane);
    if (request(lane).b != of_first.b) violate(origin, "lane ", lane, " has another shared address than lane 0");
  }
  for (int column = 0; column < kTileColumns * of_first.tiles; ++column)
    for (int piece = 0; piece < 2; ++piece) {
      const SharedAddress at = piece_of(of_first.b, column, piece);
      read_shared(origin, *first.of, at, kPieceBytes, product.stamp);
      check_fenced(origin, *first.of, at, kPieceBytes);
    }
  counters.mma_group += std::uint64_t(of_first.tiles);
  first.products.push_back(std::move(product));
}

void Executor::State::commit_group_products() { ++warp.front().product_batch; }

// Column by column of tiles, each a product of mma_f32acc.
void Executor::State::finish_group_products() {
  Lane& first = warp.front();
  const auto pending = static_cast<std::uint64_t>(*static_cast<const int*>(first.request.data));
  std::erase_if(first.products, [&](const GroupProduct& product) {
    if (product.batch + pending >= first.product_batch) return false;
    const GroupMma& of_first = product.of_lanes[0];
    for (int tile = 0; tile < of_first.tiles; ++tile) {
      u32 b[kWarp][2];
      std::array<Mma, kWarp> tiles;
      std::array<const Mma*, kWarp> of_lanes;
      for (int lane = 0; lane < kWarp; ++lane) {
        const GroupMma& mine = product.of_lanes[lane];
        for (int piece = 0; piece < 2; ++piece) {
          const SharedAddress at = piece_of(of_first.b, kTileColumns * tile + lane / 4, piece) + 4 * (lane % 4);
          std::memcpy(&b[lane][piece], first.of->shared.data() + at, 4);
          first.of->history.complete_read(product.stamp, {first.clock, first.number, product.stamp.site}, at, 4);
        }
        float(&sums)[4] = mine.accumulators[tile];
        if (!mine.adds) std::ranges::fill(sums, 0.f);
        tiles[lane] = {mine.a, b[lane], sums, mine.bf16, kDepth};
        of_lanes[lane] = &tiles[lane];
      }
      multiply_tile<true>(of_lanes);
    }
    return true;
  });
}

}  // namespace danaus::host
