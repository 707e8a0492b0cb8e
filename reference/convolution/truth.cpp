#include "reference/truth.hpp"

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/data.hpp"

namespace danaus {
namespace {

Values make_convolution_values(const Case& asked, std::uint64_t seed) {
  const Convolution& p = *asked.as<Convolution>();
  DataSpec spec;
  spec.seed = seed;
  Inputs inputs = make_inputs(p, spec);
  Values values = {{"u", std::move(inputs.u)}, {"k", std::move(inputs.k)}};
  if (p.pregate) values["pregate"] = std::move(inputs.pregate);
  if (p.postgate) values["postgate"] = std::move(inputs.postgate);
  return values;
}

Values convolution_outputs(const Case& asked, const Values& values) {
  const auto of = [&](std::string_view name) {
    const auto found = values.find(name);
    return found == values.end() ? std::vector<double>() : found->second;
  };
  const Inputs inputs = {of("u"), of("k"), of("pregate"), of("postgate")};
  return {{"y", convolve(*asked.as<Convolution>(), inputs, Method::fftw)}};
}

}  // namespace

Truth convolution_truth() { return {"fftconv", &make_convolution_values, &convolution_outputs}; }

}  // namespace danaus
