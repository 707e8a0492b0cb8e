#include "reference/truth.hpp"

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/terms.hpp"

namespace danaus {
namespace {

Values make_convolution_values(const Case& asked, std::uint64_t seed) {
  const Convolution& p = *asked.as<Convolution>();
  DataSpec spec;
  spec.seed = seed;
  return values_of(make_inputs(p, spec));
}

Values convolution_outputs(const Case& asked, const Values& values) {
  return {{"y", convolve(*asked.as<Convolution>(), inputs_of(values), Algorithm::fftw)}};
}

}  // namespace

Truth convolution_truth() { return {"fftconv", &make_convolution_values, &convolution_outputs}; }

}  // namespace danaus
