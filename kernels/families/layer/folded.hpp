// Points of a lane as products contract them: folded at the middle of their row, and once more at that of its halves.
#pragma once

#include "kernels/families/layer/operand.hpp"
#include "kernels/families/layer/points.hpp"

namespace danaus::layer::inline DANAUS_BACKEND {

// Of rows of a lane's two channels: its points from n on, their mirror images in the row, those in its halves of the
// ones and of the others; of a row of odd length, which is folded once, zeros.
template <class P>
struct Folded {
  static constexpr Layout layout = P::layout;
  Points<P> near[2], far[2], near_image[2], far_image[2];

  // p or q of points, plus or minus that of their images in halves: real parts or imaginary parts, as an A fragment of
  // even or odd frequencies.
  DANAUS_DEVICE Operand<P, 4> fragment(int parity, bool sum, int part) const {
    u32 words[4];
    DANAUS_UNROLL
    for (int r = 0; r < 2; ++r) DANAUS_UNROLL
    for (int h = 0; h < 2; ++h) words[r + 2 * h] = folded(r, sum, sum == (parity == 0), part, h);
    return Operand<P, 4>(words);
  }

 private:
  DANAUS_DEVICE u32 folded(int r, bool sum, bool plus, int part, int h) const {
    if constexpr (layout.halves) {
      constexpr Dtype T = layout.key.dtype;
      const auto sum_if = [](bool add, u32 a, u32 b) { return add ? device::add2<T>(a, b) : device::sub2<T>(a, b); };
      const auto of = [&](int i) {
        return sum_if(plus, sum_if(sum, near[r].word[i], far[r].word[i]),
                      sum_if(sum, near_image[r].word[i], far_image[r].word[i]));
      };
      if constexpr (layout.key.complex)
        return device::permute_bytes(of(2 * h), of(2 * h + 1), part == 0 ? 0x5410 : 0x7632);
      return of(h);
    } else {
      const int i = layout.key.complex ? 2 * h + part : h;
      const auto sum_if = [](bool add, float a, float b) { return add ? a + b : a - b; };
      device::count_fp32(2);  // those of a point and its image in the row serve both parities
      return operand<P>(sum_if(plus, sum_if(sum, float_of(near[r].word[i]), float_of(far[r].word[i])),
                               sum_if(sum, float_of(near_image[r].word[i]), float_of(far_image[r].word[i]))));
    }
  }
};

}  // namespace danaus::layer::inline DANAUS_BACKEND
