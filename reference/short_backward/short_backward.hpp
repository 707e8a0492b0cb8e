// What is asked: the gradients of one short convolution, the backward pass of y = v * (conv(w * u, k) + bias).
#pragma once

#include "reference/short/short.hpp"

namespace danaus {

// Of sum(y * dy) with respect to u, k, the bias and the gates, from these and dy alone. dk [H, K] and dbias [H] are
// fp32, summed over batch and length; the others have the type of u.
struct ShortBackward {
  ShortConvolution forward;
  bool operator==(const ShortBackward&) const = default;
};

// The convolution's token with another first word: shortconvgrad_bf16_causal_k4_l1024_b64_h768.
std::string token(const ShortBackward& asked);
ShortBackward parse_short_backward(std::string_view token);

// What reference/operation.hpp asks of every operation.
std::vector<Array> arrays(const ShortBackward& asked);
double useful_flops(const ShortBackward& asked);

}  // namespace danaus
