// Rows with NaN or infinity are computed twice. Such a sample then shows in no output before it. Products of a chunk
// multiply it by zeros above their diagonal, and 0 x NaN = NaN.
//
// found by   the state after a row. Each sample is a term of each state, and no decay makes NaN or infinity finite. The
//            last chunk may have no state after it. There the sum of each group shows it
// result     The first time stores NaN or infinity from the sample on. The second time ends each row before its first
//            such sample. Zeros stand for the rest of the chunk, in the same order: outputs before it keep their bits
// registers  For lone warps the second time is a function call. If it is inlined, kernels of 128 states and more spill
//            the first time
#pragma once

#include "kernels/families/state/states.hpp"

namespace danaus::state::inline DANAUS_BACKEND {

// Of the class of a block: the second time, when the first is over.
template <class Block>
DANAUS_CALLED void run_again(const Arguments& a) {
  Block(a).run_again();
}

// Of a lane's states of each row: becomes NaN where the row has NaN or infinity.
DANAUS_DEVICE float probe_of(const Sums& x) {
  float probe = 0;
  DANAUS_UNROLL
  for (int i = 0; i < 4; ++i) probe = device::fma(0.0f, x[i], probe);
  return probe;
}
DANAUS_DEVICE bool is_nan_of_warp(float probe) { return device::max_of_warp(word_of(probe) << 1) != 0; }

// Of samples first <= n < end from u on, n = 0 at u[offset]: the first that is NaN or infinity, else `end`. A warp's.
template <Dtype T>
DANAUS_DEVICE int first_nonfinite(const void* u, long long offset, int first, int end) {
  constexpr u32 kInfinity = T == Dtype::f16 ? 0x7c00u : 0x7f80u;
  constexpr int kOfLane = 8;  // none waits for another
  const unsigned char* const from = static_cast<const unsigned char*>(u) + 2 * (offset + device::lane_index());
  DANAUS_UNROLL_BY(1)
  for (int begin = first; begin < end; begin += 32 * kOfLane) {
    u32 earliest = 0;  // ~n
    DANAUS_UNROLL
    for (int i = 0; i < kOfLane; ++i) {
      const int n = begin + 32 * i + device::lane_index();
      if (n < end && (device::load_global<2>(from + 2ll * (begin + 32 * i))[0] & kInfinity) == kInfinity)
        earliest = max(earliest, ~static_cast<u32>(n));
    }
    earliest = device::max_of_warp(earliest);
    if (earliest != 0) return static_cast<int>(~earliest);
  }
  return end;
}

}  // namespace danaus::state::inline DANAUS_BACKEND
