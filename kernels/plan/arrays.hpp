// Where the arrays of a convolution stand among those of its case, and what a plan prepares for it.
#pragma once

#include <algorithm>

#include "kernels/plan/program.hpp"

namespace danaus {

struct ConvolutionArrays {
  int u = -1, pregate = -1, postgate = -1, k = -1, y = -1;
  explicit ConvolutionArrays(const Case& asked) {
    const std::vector<Array> arrays = asked.arrays();
    const auto find = [&](std::string_view name) {
      const auto found = std::ranges::find(arrays, name, &Array::name);
      return found == arrays.end() ? -1 : static_cast<int>(found - arrays.begin());
    };
    u = find("u"), pregate = find("pregate"), postgate = find("postgate"), k = find("k"), y = find("y");
  }
};

// Of what one launch of a long convolution leaves for the next: so much stays in L2, beside what streams by.
inline std::int64_t chunk_bytes(const Device& device) { return device.cache_bytes / 2; }

inline void* at(const Call& call, int array) { return array < 0 ? nullptr : call.arrays[array]; }

// Spectra [H, N], of bf16 samples then the factors [H, N1] of their channels, N1 the rows of outer passes; without an
// FFT the filter.
inline std::int64_t prepared_bytes_of(const Convolution& p, const Variant& variant, int rows = 1) {
  if (variant.size == 0) return 4 * p.channels * p.filter_length;
  return 4 * p.channels * (variant.size + (p.dtype == Dtype::bf16 ? rows : 0));
}
inline float* factors_of(void* prepared, const Convolution& p, const Variant& variant) {
  return static_cast<float*>(prepared) + p.channels * variant.size;
}

}  // namespace danaus
