// The fields of a short convolution's token, which its gradients share.
#pragma once

#include "reference/short/short.hpp"
#include "reference/token.hpp"

namespace danaus {

std::vector<TokenField> short_fields();
// The case that the fields ask for, validated.
ShortConvolution read_short(const TokenFields& fields);

}  // namespace danaus
