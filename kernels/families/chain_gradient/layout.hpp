// Of the correlation of rows by a chain: what its kernel is compiled for and given, and the sizes and places that
// follow.
#pragma once

#include "kernels/families/chain/layout.hpp"
#include "kernels/memory/correlation.hpp"

namespace danaus::chain_gradient {

struct Key {
  Dtype dtype;
  bool pair;         // fold: pair or right angle
  int radix;         // N = 256 radix
  bool all = false;  // makes the gradients of rows, too
  constexpr int size() const { return 256 * radix; }
  constexpr bool has_path(Path path) const { return path == Path::tensor || path == Path::threads; }
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int warps = 0;   // of a block
  int ring = 0;    // items of each warp in shared memory
  int blocks = 0;  // on an SM at once: what registers and shared memory are limited for
  bool operator==(const Tuning&) const = default;
};

// An item is one of a convolution's: its rows of u and of dy.
struct Layout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t)
      : key(k),
        tuning(t),
        steps({k.dtype, k.pair ? Fold::pair : Fold::right_angle, false, k.radix},
              {.warps = t.warps, .ring = t.ring, .blocks = t.blocks}) {}

  chain::Layout steps;  // the convolution's, whose steps there these are
  int size = steps.size, threads = steps.threads;
  int workers = tuning.warps;  // that have a part each

  int array_stride = 2 * steps.row_bytes;
  int barriers_begin = steps.barriers_begin;
  int slabs_begin = steps.slabs_begin;
  int shared_bytes = slabs_begin + 2 * tuning.warps * tuning.ring * array_stride;

  constexpr const char* broken_rule() const {
    if (array_stride % 1024 != 0) return "array_stride: slabs are swizzled by their addresses";
    if (tuning.ring % 2 != 0) return "ring: an item takes two places if it has gates";
    return steps.broken_rule();
  }
};

}  // namespace danaus::chain_gradient
