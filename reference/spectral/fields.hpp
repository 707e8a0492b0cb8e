// The fields of a spectral layer's token, which its gradients share.
#pragma once

#include "reference/spectral/spectral.hpp"
#include "reference/token.hpp"

namespace danaus {

// `with_adjoint`: whether the operation takes the adjoint of a layer.
std::vector<TokenField> spectral_fields(bool with_adjoint);
// The case that the fields ask for, validated.
Spectral read_spectral(const TokenFields& fields);

}  // namespace danaus
