// What a warp does as one: moves matrices, multiplies them, shuffles.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/executor/state.hpp"

namespace danaus::host {

using device::detail::MatrixAccess;
using device::detail::Mma;
using device::detail::Shuffle;

namespace {

// Tensor cores cut sums in fp32 off, toward zero.
void accumulate(float& sum, float product) {
  const double exact = double{sum} + double{product};
  sum = static_cast<float>(exact);
  if (std::abs(double{sum}) > std::abs(exact)) sum = std::nextafter(sum, 0.0f);
}

}  // namespace

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
  using Row = Eigen::Array<float, 8, 1>;
  std::array<std::uint16_t, 256> a_bits{};
  std::array<std::uint16_t, 128> b_bits{};
  for (int lane = 0; lane < kWarp; ++lane) {
    const int g = lane / 4, t = lane % 4;
    const Mma& m = *of_lanes[lane];
    for (int r = 0; r < depth / 8; ++r)
      for (int e = 0; e < 2; ++e) {
        const int k = 2 * t + e + 8 * r;
        a_bits[16 * g + k] = std::uint16_t(m.a[2 * r] >> (16 * e));
        a_bits[16 * (g + 8) + k] = std::uint16_t(m.a[2 * r + 1] >> (16 * e));
        b_bits[8 * k + g] = std::uint16_t(m.b[r] >> (16 * e));
      }
  }
  std::array<float, 256> a;
  std::array<float, 128> b;
  const auto take = [&]<Dtype T>() {
    std::ranges::transform(a_bits, a.begin(), decode<T>);
    std::ranges::transform(b_bits, b.begin(), decode<T>);
  };
  of_lanes[0]->bf16 ? take.template operator()<Dtype::bf16>() : take.template operator()<Dtype::f16>();
  std::array<Row, 16> product;
  for (int row = 0; row < 16; ++row) {
    product[row].setZero();
    for (int k = 0; k < depth; ++k) product[row] += a[16 * row + k] * Eigen::Map<const Row>(&b[8 * k]);
  }
  for (int lane = 0; lane < kWarp; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int r = 0; r < 2; ++r)
      for (int e = 0; e < 2; ++e) {
        const float sum = product[g + 8 * r][2 * t + e];
        if constexpr (f32) {
          accumulate(static_cast<float*>(of_lanes[lane]->accumulators)[2 * r + e], sum);
        } else {
          auto* halves = reinterpret_cast<std::uint16_t*>(static_cast<u32*>(of_lanes[lane]->accumulators) + r) + e;
          *halves = encode<Dtype::f16>(decode<Dtype::f16>(*halves) + sum);
        }
      }
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
  using Row = Eigen::Array<float, 8, 1>;
  std::array<std::array<float, 8>, 16> a;
  std::array<Row, 8> b;
  const auto value = [](u32 word) { return std::bit_cast<float>(word & ~0x1fffu); };
  for (int lane = 0; lane < kWarp; ++lane) {
    const int g = lane / 4, t = lane % 4;
    const Mma& m = request(lane);
    for (int r = 0; r < 4; ++r) a[g + 8 * (r % 2)][t + 4 * (r / 2)] = value(m.a[r]);
    for (int r = 0; r < 2; ++r) b[t + 4 * r][g] = value(m.b[r]);
  }
  std::array<Row, 16> product;
  for (int row = 0; row < 16; ++row) {
    product[row].setZero();
    for (int k = 0; k < 8; ++k) product[row] += a[row][k] * b[k];
  }
  for (int lane = 0; lane < kWarp; ++lane)
    for (int i = 0; i < 4; ++i)
      accumulate(static_cast<float*>(request(lane).accumulators)[i],
                 product[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2]);
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
