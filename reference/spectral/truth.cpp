#include "reference/truth.hpp"

#include "reference/spectral/layer.hpp"

namespace danaus {
namespace {

Values make_spectral_values(const Case& asked, std::uint64_t seed) {
  return values_of(make_inputs(*asked.as<Spectral>(), seed));
}

Values spectral_outputs(const Case& asked, const Values& values) {
  return {{"y", layer_by_fftw(*asked.as<Spectral>(), {values.at("u"), values.at("w")})}};
}

}  // namespace

Truth spectral_truth() { return {"spectral", &make_spectral_values, &spectral_outputs}; }

}  // namespace danaus
