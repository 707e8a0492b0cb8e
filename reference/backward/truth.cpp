#include "reference/truth.hpp"

#include "reference/backward/backward.hpp"
#include "reference/convolution/data.hpp"
#include "reference/convolution/gradient.hpp"
#include "reference/convolution/terms.hpp"

namespace danaus {
namespace {

Values make_backward_values(const Case& asked, std::uint64_t seed) {
  const Backward& backward = *asked.as<Backward>();
  Values values = make_values(backward.forward, seed);
  DataSpec other;
  other.seed = seed + 1;
  values["dy"] = make_inputs(backward.forward, other).u;
  return values;
}

Values backward_outputs(const Case& asked, const Values& values) {
  const Convolution& p = asked.as<Backward>()->forward;
  Gradients result = gradients(p, inputs_of(values), array_in(values, "dy"), truth_of_gradients(p));
  Values outputs = {{"du", std::move(result.du)}, {"dk", std::move(result.dk)}};
  if (p.pregate) outputs["dpregate"] = std::move(result.dpregate);
  if (p.postgate) outputs["dpostgate"] = std::move(result.dpostgate);
  return outputs;
}

}  // namespace

Truth backward_truth() { return {"fftconvgrad", &make_backward_values, &backward_outputs}; }

}  // namespace danaus
