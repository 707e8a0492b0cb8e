// Products of a group of four warps: each warp has its sixteen rows, and what it began is done where it waits for it.
#include <Eigen/Core>
#include <cmath>

#include "kernels/executor/state.hpp"

namespace danaus::host {

using device::detail::GroupMma;

namespace {

constexpr int kGroupWarps = 4, kDepth = 16, kLineBytes = 128, kPieceBytes = 16;

// Of a column, 16 bytes of its points. The swizzle acts on address bits, as that of bulk copies does.
SharedAddress piece_of(SharedAddress b, int column, int piece) {
  const SharedAddress at = b + kLineBytes * column + kPieceBytes * piece;
  return at ^ (((at >> 7) & 7) << 4);
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
  for (int column = 0; column < 8 * of_first.tiles; ++column)
    for (int piece = 0; piece < 2; ++piece) {
      const SharedAddress at = piece_of(of_first.b, column, piece);
      read_shared(origin, *first.of, at, kPieceBytes, product.stamp);
      check_fenced(origin, *first.of, at, kPieceBytes);
    }
  counters.mma_group += std::uint64_t(of_first.tiles);
  first.products.push_back(std::move(product));
}

void Executor::State::commit_group_products() { ++warp.front().product_batch; }

// Operands and accumulators are those of mma_f32acc, column by column.
void Executor::State::finish_group_products() {
  Lane& first = warp.front();
  const auto pending = static_cast<std::uint64_t>(*static_cast<const int*>(first.request.data));
  std::erase_if(first.products, [&](const GroupProduct& product) {
    if (product.batch + pending >= first.product_batch) return false;
    const GroupMma& of_first = product.of_lanes[0];
    const auto value = [&](std::uint32_t word, int half) {
      const auto bits = std::uint16_t(word >> (16 * half));
      return of_first.bf16 ? float(decode<Dtype::bf16>(bits)) : float(decode<Dtype::f16>(bits));
    };
    std::array<Eigen::Array<float, 1, kDepth>, 16> a;
    for (int lane = 0; lane < kWarp; ++lane)
      for (int r = 0; r < 4; ++r)
        for (int e = 0; e < 2; ++e)
          a[lane / 4 + 8 * (r % 2)][2 * (lane % 4) + e + 8 * (r / 2)] = value(product.of_lanes[lane].a[r], e);
    for (int column = 0; column < 8 * of_first.tiles; ++column) {
      Eigen::Array<float, 1, kDepth> b;
      for (int piece = 0; piece < 2; ++piece) {
        const SharedAddress at = piece_of(of_first.b, column, piece);
        const auto* words = reinterpret_cast<const std::uint32_t*>(first.of->shared.data() + at);
        for (int i = 0; i < 8; ++i) b[8 * piece + i] = value(words[i / 2], i % 2);
        first.of->history.complete_read(product.stamp, {first.clock, first.number, product.stamp.site}, at,
                                        kPieceBytes);
      }
      for (int row = 0; row < 16; ++row) {
        const GroupMma& mine = product.of_lanes[row % 8 * 4 + column % 8 / 2];
        float& sum = mine.accumulators[column / 8][row / 8 * 2 + column % 2];
        accumulate(sum = mine.adds ? sum : 0, (a[row] * b).sum());
      }
    }
    return true;
  });
}

}  // namespace danaus::host
