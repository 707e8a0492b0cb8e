#include "reference/truth.hpp"

#include "reference/spectral/layer.hpp"
#include "reference/spectral_gradient/spectral_gradient.hpp"

namespace danaus {
namespace {

Values make_spectral_gradient_values(const Case& asked, std::uint64_t seed) {
  const Spectral& p = asked.as<SpectralGradient>()->forward;
  SpectralInputs inputs = make_inputs(p, seed);
  return {{"u", std::move(inputs.u)}, {"w", std::move(inputs.w)}, {"dy", make_inputs(adjoint_of(p), seed + 1).u}};
}

Values spectral_gradient_outputs(const Case& asked, const Values& values) {
  const Spectral& p = asked.as<SpectralGradient>()->forward;
  return {{"du", layer_by_fftw(adjoint_of(p), {values.at("dy"), values.at("w")})},
          {"dw", gradient_of_weights(p, values.at("u"), values.at("dy"))}};
}

}  // namespace

Truth spectral_gradient_truth() { return {"spectralgrad", &make_spectral_gradient_values, &spectral_gradient_outputs}; }

}  // namespace danaus
