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

// What the fence saw of registers; nothing where it was not told of them.
FencedRegisters* fenced_at(Lane& lane, const void* begin, std::size_t bytes) {
  const auto* at = static_cast<const std::uint8_t*>(begin);
  for (FencedRegisters& fenced : lane.fenced_registers)
    if (at >= fenced.begin && at + bytes <= fenced.begin + fenced.bytes.size()) return &fenced;
  return nullptr;
}

}  // namespace

// All four warps go through the same operations.
void Executor::State::follow_group(const char* operation) {
  const Lane& first = warp.front();
  const Origin origin{operation, first.request.site, &first};
  if (first.of->lanes.size() % kGroupThreads != 0)
    violate(origin, "the block has ", first.of->lanes.size(), " threads, must be whole groups of four warps");
  const int of_group = first.thread / kWarp % kGroupWarps;
  GroupTrail& trail = first.of->groups[std::size_t(first.thread / kGroupThreads)];
  if (const auto other = trail.follow(of_group, {operation, first.request.site}))
    violate(origin, "another warp of the group went through ", other->operation, " at ", place(other->site),
            " instead");
}

// Its operand must be there and stay: it may be read until the product was waited for.
void Executor::State::begin_group_product() {
  Lane& first = warp.front();
  const auto request = [&](int lane) -> GroupMma& { return *static_cast<GroupMma*>(warp[lane].request.data); };
  const Origin origin{"group_multiply", first.request.site, &first};
  const GroupMma& of_first = request(0);
  follow_group("group_multiply");
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

void Executor::State::commit_group_products() {
  follow_group("group_commit");
  ++warp.front().product_batch;
}

// Column by column of tiles, each a product of mma_f32acc.
void Executor::State::finish_group_products() {
  Lane& first = warp.front();
  follow_group("group_wait");
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
    for (int lane = 0; lane < kWarp; ++lane) {
      const auto* sums = reinterpret_cast<const std::uint8_t*>(product.of_lanes[lane].accumulators);
      const std::size_t bytes = sizeof(float[4]) * std::size_t(of_first.tiles);
      if (FencedRegisters* fenced = fenced_at(warp[lane], sums, bytes))
        std::memcpy(fenced->bytes.data() + (sums - fenced->begin), sums, bytes);
    }
    return true;
  });
}

}  // namespace danaus::host

namespace danaus::inline host_backend::device::detail {

void group_fence(const void* registers, std::size_t bytes, Site site) {
  host::Lane& lane = *host::running_state().current;
  lane.warp_calls.push_back({"group_fence", site});
  const auto* begin = static_cast<const std::uint8_t*>(registers);
  std::erase_if(lane.fenced_registers, [&](const host::FencedRegisters& before) {
    return before.begin < begin + bytes && begin < before.begin + before.bytes.size();
  });
  lane.fenced_registers.push_back({begin, {begin, begin + bytes}, site});
}

// Registers that a product reads or adds to have been fenced since they were written.
void check_group_registers(const void* registers, std::size_t bytes, const char* what, Site site) {
  auto& s = host::running_state();
  const host::Origin origin{"group_multiply", site, s.current};
  const host::FencedRegisters* fenced = host::fenced_at(*s.current, registers, bytes);
  if (!fenced) s.violate(origin, "no group_fence was told of its ", what);
  const auto* begin = static_cast<const std::uint8_t*>(registers);
  if (std::memcmp(fenced->bytes.data() + (begin - fenced->begin), begin, bytes) != 0)
    s.violate(origin, "its ", what, " were written after group_fence at ", host::place(fenced->site),
              ", with none since");
}

}  // namespace danaus::inline host_backend::device::detail
