#include "reference/truth.hpp"

#include "reference/short/direct.hpp"
#include "reference/short_backward/short_backward.hpp"

namespace danaus {
namespace {

Values make_short_backward_values(const Case& asked, std::uint64_t seed) {
  const ShortConvolution& p = asked.as<ShortBackward>()->forward;
  Values values = make_inputs(p, seed);
  values["dy"] = make_inputs(p, ~seed).at("u");
  return values;
}

Values short_backward_outputs(const Case& asked, const Values& values) {
  const ShortConvolution& p = asked.as<ShortBackward>()->forward;
  ShortGradients g = short_gradients(p, values);
  Values outputs = {{"du", std::move(g.du)}, {"dk", std::move(g.dk)}};
  if (p.bias) outputs["dbias"] = std::move(g.dbias);
  if (p.pregate) outputs["dpregate"] = std::move(g.dpregate);
  if (p.postgate) outputs["dpostgate"] = std::move(g.dpostgate);
  return outputs;
}

}  // namespace

Truth short_backward_truth() { return {"shortconvgrad", &make_short_backward_values, &short_backward_outputs}; }

}  // namespace danaus
