// Products of matrices that four warps begin together and wait for later: wgmma (sm_90a alone; neither A100 nor B200
// has it, and a kernel that comes there stops with an error). Warps 4 i to 4 i + 3 of a block are a group; each has 16
// of the 64 rows. All four go through the same operations.
//
//   group_fence(r...)        of arrays of registers that a product reads or adds to: they have been written. Before the
//                            first product, and before what follows such a write
//   group_multiply<T, adds>(d, a, b)
//                            d += a b, or d = a b where it does not add: m64nNk16, N = 64 or 128, T operands, f32
//                            accumulators. A thread has a and, of columns 8 j to 8 j + 7, d[j] as operand and
//                            accumulators of mma_f32acc. b: shared address of B, 16 points of N columns: lines of 128
//                            bytes, from a multiple of 1024 bytes on, with the 128-byte swizzle
//                            (kernels/device/tensor_map.hpp); at 32, 64 and 96 bytes a line has 16 points more
//   group_commit()           what was begun since the last one is a batch
//   group_wait<n>(d)         all but the last n batches are done; until then nothing may touch what they read or add
//                            to. Work that follows is not moved before it, which a wait for nothing is good for
//
// B is read as bulk copies read: what threads wrote there takes fence_async() and a barrier before.
#pragma once

#include "kernels/device/operations.hpp"

#if defined(__CUDACC__)
#include "kernels/device/cuda_warpgroup.hpp"
#else
#include "kernels/executor/warpgroup.hpp"
#endif
