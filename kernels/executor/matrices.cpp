// What a warp does as one: moves matrices, multiplies them, shuffles.
#include <algorithm>
#include <cstring>

#include "kernels/executor/product_rule.hpp"
#include "kernels/executor/state.hpp"

namespace danaus::host {

using device::detail::MatrixAccess;
using device::detail::Mma;
using device::detail::Shuffle;

// Matrix m has its eight rows of 16 bytes at the addresses of lanes 8 m to 8 m + 7. Lane 4 g + t holds elements 2 t and
// 2 t + 1 of row g, or, transposed, of column g. The accesses are of the lanes that hold the elements.
void Executor::State::move_matrices(bool write) {
  const auto access = [&](int lane) -> MatrixAccess& { return *static_cast<MatrixAccess*>(warp[lane].request.data); };
  const char* operation = write ? "store_matrices" : "load_matrices";
  const int count = access(0).count;
  const bool transposed = access(0).transposed;
  Block& block = *warp.front().of;
  std::array<SharedAccess, kWarp> rows;
  for (int number = 0; number < 8 * count; ++number) {
    const int matrix = number / 8, row = number % 8;
    const SharedAddress address = access(number).row;
    shared_at({operation, warp[number].request.site, &warp[number]}, block, address, 16);
    rows[number] = {number, address, 16};
    const int pieces = transposed ? 8 : 4, bytes = 16 / pieces;
    for (int piece = 0; piece < pieces; ++piece) {
      Lane& holder = warp[transposed ? 4 * piece + row / 2 : 4 * row + piece];
      auto* words = static_cast<MatrixAccess*>(holder.request.data)->words;
      auto* held = reinterpret_cast<std::uint8_t*>(words + matrix) + (transposed ? row % 2 * 2 : 0);
      const Origin from{operation, holder.request.site, &holder};
      const SharedAddress at = address + bytes * piece;
      const Stamp mine = stamp(holder, holder.request.site);
      if (write)
        std::memcpy(write_shared(from, block, at, bytes, mine), held, bytes);
      else
        std::memcpy(held, read_shared(from, block, at, bytes, mine), bytes);
    }
  }
  count_shared({rows.data(), std::size_t(8 * count)});
}

// Lane 4 g + t holds, with e = 0, 1 the half of a register,
//   A [16 x 16]: a[0] (g, 2t+e)  a[1] (g+8, 2t+e)  a[2] (g, 2t+e+8)  a[3] (g+8, 2t+e+8)
//   B [16 x 8]:  b[0] (2t+e, g)  b[1] (2t+e+8, g)
//   C, D [16 x 8]: rows g and g+8, columns 2t+e
template <bool f32>
void multiply_tile(const std::array<const Mma*, kWarp>& of_lanes) {
  const int depth = of_lanes[0]->depth;  // of what the fragments hold, the rest being zero
  std::array<u32, 16 * 16> a;
  std::array<u32, 16 * 8> b, sums;
  const auto half = [](u32 word, int e) { return word >> (16 * e) & 0xffffu; };
  for (int lane = 0; lane < kWarp; ++lane) {
    const int g = lane / 4, t = lane % 4;
    const Mma& m = *of_lanes[lane];
    u32 held[4];
    std::memcpy(held, m.accumulators, f32 ? 16 : 8);
    for (int e = 0; e < 2; ++e) {
      for (int r = 0; r < depth / 8; ++r) {
        const int k = 2 * t + e + 8 * r;
        a[depth * g + k] = half(m.a[2 * r], e);
        a[depth * (g + 8) + k] = half(m.a[2 * r + 1], e);
        b[8 * k + g] = half(m.b[r], e);
      }
      for (int r = 0; r < 2; ++r) sums[8 * (g + 8 * r) + 2 * t + e] = f32 ? held[2 * r + e] : half(held[r], e);
    }
  }
  multiply_tile(kExecutedRule.halves, of_lanes[0]->bf16 ? Factor::bf16 : Factor::f16, !f32, depth, a.data(), b.data(),
                sums.data());
  for (int lane = 0; lane < kWarp; ++lane) {
    u32 held[4];
    for (int r = 0; r < 2; ++r) {
      const u32* two = &sums[8 * (lane / 4 + 8 * r) + 2 * (lane % 4)];
      if constexpr (f32)
        held[2 * r] = two[0], held[2 * r + 1] = two[1];
      else
        held[r] = two[0] | two[1] << 16;
    }
    std::memcpy(of_lanes[lane]->accumulators, held, f32 ? 16 : 8);
  }
}
template void multiply_tile<true>(const std::array<const Mma*, kWarp>&);

template <bool f32>
void Executor::State::multiply() {
  std::array<const Mma*, kWarp> of_lanes;
  for (int lane = 0; lane < kWarp; ++lane) of_lanes[lane] = static_cast<const Mma*>(warp[lane].request.data);
  ++(of_lanes[0]->depth == 8 ? counters.mma_depth8 : f32 ? counters.mma_f32acc : counters.mma_f16acc);
  multiply_tile<f32>(of_lanes);
}
template void Executor::State::multiply<false>();
template void Executor::State::multiply<true>();

// Lane 4 g + t holds A [16 x 8]: a[0] (g, t)  a[1] (g+8, t)  a[2] (g, t+4)  a[3] (g+8, t+4), B [8 x 8]: b[0] (t, g)
// b[1] (t+4, g), and C and D as above. The lowest 13 bits of an operand are not there.
void Executor::State::multiply_tf32() {
  const auto request = [&](int lane) -> Mma& { return *static_cast<Mma*>(warp[lane].request.data); };
  ++counters.mma_tf32;
  std::array<u32, 16 * 8> a, sums;
  std::array<u32, 8 * 8> b;
  for (int lane = 0; lane < kWarp; ++lane) {
    const int g = lane / 4, t = lane % 4;
    const Mma& m = request(lane);
    for (int r = 0; r < 4; ++r) a[8 * (g + 8 * (r % 2)) + t + 4 * (r / 2)] = m.a[r];
    for (int r = 0; r < 2; ++r) b[8 * (t + 4 * r) + g] = m.b[r];
    u32 held[4];
    std::memcpy(held, m.accumulators, 16);
    for (int i = 0; i < 4; ++i) sums[8 * (g + 8 * (i / 2)) + 2 * t + i % 2] = held[i];
  }
  multiply_tile(kExecutedRule.tf32, Factor::tf32, false, 8, a.data(), b.data(), sums.data());
  for (int lane = 0; lane < kWarp; ++lane) {
    u32 held[4];
    for (int i = 0; i < 4; ++i) held[i] = sums[8 * (lane / 4 + 8 * (i / 2)) + 2 * (lane % 4) + i % 2];
    std::memcpy(request(lane).accumulators, held, 16);
  }
}

void Executor::State::shuffle() {
  std::array<u32, kWarp> values;
  for (int i = 0; i < kWarp; ++i) values[i] = static_cast<Shuffle*>(warp[i].request.data)->value;
  for (const Lane& lane : warp) {
    auto& shuffle = *static_cast<Shuffle*>(lane.request.data);
    if (shuffle.source < 0 || shuffle.source >= kWarp)
      violate({"shuffle", lane.request.site, &lane}, "source lane ", shuffle.source, ", must be 0 to 31");
    shuffle.value = values[shuffle.source];
  }
}

void Executor::State::max_of_warp() {
  u32 greatest = 0;
  for (const Lane& lane : warp) greatest = std::max(greatest, *static_cast<const u32*>(lane.request.data));
  for (const Lane& lane : warp) *static_cast<u32*>(lane.request.data) = greatest;
}

}  // namespace danaus::host
