// What passes over long rows leave for the choice of items that are computed once more (families/rescaled): energies of
// both rows in a unit of eight columns, which a warp has.
#pragma once

#include "kernels/tile/range.hpp"
#include "kernels/tile/scaled.hpp"

namespace danaus::inline DANAUS_BACKEND {

// Single rows of bf16 have powers of two of their own anyway.
template <class P>
inline constexpr bool has_energies = P::layout.pair || P::layout.dtype == Dtype::f16;

// The energies of a unit: re has the samples, im those of a pair's second row, all divided by `factor`. A caller has
// no branch around it, so that its products of matrices run beside those of the transform.
template <class P, class Tiles>
DANAUS_DEVICE range::Energies unit_energies(const Tiles (&re)[P::layout.radix], const Tiles (&im)[P::layout.radix],
                                            float factor) {
  constexpr int kWords = sizeof(Tiles) / 4;
  range::LaneSquares<2> squares;
  DANAUS_UNROLL
  for (int nr = 0; nr < P::layout.radix; ++nr) {
    DANAUS_UNROLL
    for (int i = 0; i < kWords; ++i) {
      squares.template add<0>(re[nr][i], i);
      if constexpr (P::layout.pair) squares.template add<1>(im[nr][i], i);
    }
  }
  range::Energies energies = range::energies_of<P::layout.pair>(squares);
  if constexpr (P::layout.scaled) {
    // Silence alone has none.
    const auto of = [&](float energy) { return energy > 0 ? max(energy * factor * factor, 0x1p-126f) : energy; };
    energies = {of(energies.first), of(energies.second)};
    device::count_fp32(4);
  }
  return energies;
}
DANAUS_DEVICE void store_energies(float* to, const range::Energies& energies) {
  if (device::lane_index() == 0) device::store_global<8>(to, {word_of(energies.first), word_of(energies.second)});
}

// Whether a result of the unit in f16 is not finite.
template <class P, class Tiles>
DANAUS_DEVICE bool has_overflow(const Tiles (&re)[P::layout.radix], const Tiles (&im)[P::layout.radix]) {
  constexpr int kWords = sizeof(Tiles) / 4;
  u32 sums[4] = {};  // of zeros, or of NaN; four, since each waits for itself
  DANAUS_UNROLL
  for (int nr = 0; nr < P::layout.radix; ++nr) {
    DANAUS_UNROLL
    for (int i = 0; i < kWords; ++i) {
      u32& of_re = sums[i % 2];
      of_re = device::fma2(re[nr][i], 0, of_re);
      u32& of_im = sums[2 + i % 2];
      if constexpr (P::layout.pair) of_im = device::fma2(im[nr][i], 0, of_im);
    }
  }
  const u32 all = sums[0] | sums[1] | sums[2] | sums[3];
  return device::any_of_warp((all & 0x7fff7fffu) != 0);
}
// NaN in the place of the unit's energies.
DANAUS_DEVICE void note_overflow(float* to) {
  if (device::lane_index() == 0) device::store_global<4>(to, {word_of(__builtin_nanf(""))});
}

}  // namespace danaus::inline DANAUS_BACKEND
