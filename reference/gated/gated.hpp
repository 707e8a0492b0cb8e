// What is asked: a long convolution of rows that short filters convolve first, as Hyena's and H3's operators have it.
#pragma once

#include "reference/convolution/convolution.hpp"

namespace danaus {

// y = postgate' * (conv(x, k) + D x), x = pregate' * u'. A part, u or a gate, is X'[n] = sum_t taps[t] X[n - t] + bias:
// causal, zeros before the row, also where the long convolution is circular. Shapes: taps [P, H, T], bias [P, H], of
// the P parts u, pregate, postgate that there are, in this order; D [H], as skip; the rest as of the convolution.
struct GatedConvolution {
  Convolution conv;       // without N, fold, factors and mask
  std::int64_t taps = 0;  // T, 0 (no short filters) or 2 to 8
  bool bias = false;      // of the short filters
  bool skip = false;      // D
  bool operator==(const GatedConvolution&) const = default;
};

inline constexpr std::int64_t kMostTapsOfGated = 8;

// The case as one word, and back: the fields of the convolution, then those of the short filters:
//   gatedconv_<dtype>_<mode>_l<L>[_k<K>][_kf16|_kbf16]_b<B>_h<H>[_pregate][_postgate][_taps<T>][_bias][_skip]
std::string token(const GatedConvolution& asked);
GatedConvolution parse_gated(std::string_view token);

// P: u and the gates that there are.
inline std::int64_t parts(const GatedConvolution& p) { return 1 + p.conv.pregate + p.conv.postgate; }

// What reference/operation.hpp asks of every operation.
std::vector<Array> arrays(const GatedConvolution& asked);
double useful_flops(const GatedConvolution& asked);

void validate(const GatedConvolution& asked);

}  // namespace danaus
