#pragma once

namespace danaus {

// What a bulk tensor copy is told about global memory: opaque, the same size on every machine, made by the one that is
// to run the kernel. On a GPU it is a CUtensorMap; for the executor, kernels/executor/tensor_view.hpp.
//
// The view has at most five dimensions, the first contiguous, and is copied box by box; elements are of two bytes.
// Coordinates outside the extents read zero and are not written. The 16-byte chunk c of line l (128 bytes) of shared
// memory lands at chunk c ^ (l mod 8): the 128-byte swizzle.
struct alignas(128) TensorMap {
  unsigned char opaque[128];
};

}  // namespace danaus
