// The fields of a convolution's token, which gradients and training steps share.
#pragma once

#include "reference/convolution/convolution.hpp"
#include "reference/token.hpp"

namespace danaus {

// `masked`: whether the operation takes a mask of the spectrum.
std::vector<TokenField> convolution_fields(bool masked);
// The case that the fields ask for, validated.
Convolution read_convolution(const TokenFields& fields);

}  // namespace danaus
