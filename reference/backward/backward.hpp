// What is asked: the gradients of one long convolution, the backward pass of y = v * conv(w * u, k).
#pragma once

#include "reference/convolution/convolution.hpp"

namespace danaus {

// Of sum(y * dy) with respect to u, k and the gates, from u, k, the gates and dy alone: nothing that the forward pass
// made is needed. dk [H, K] is fp32, summed over the batch; the others have the type of u.
struct Backward {
  Convolution forward;
  bool operator==(const Backward&) const = default;
};

// The convolution's token with another first word: fftconvgrad_f16_causal_l1024_b64_h768.
std::string token(const Backward& asked);
Backward parse_backward(std::string_view token);

// What reference/operation.hpp asks of every operation.
std::vector<Array> arrays(const Backward& asked);
double useful_flops(const Backward& asked);

}  // namespace danaus
