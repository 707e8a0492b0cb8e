#include "reference/truth.hpp"

#include "reference/step/step.hpp"

namespace danaus {
namespace {

Values make_step_values(const Case& asked, std::uint64_t seed) {
  return make_values(Backward{asked.as<TrainingStep>()->forward}, seed);
}

Values step_outputs(const Case& asked, const Values& values) {
  const Convolution& p = asked.as<TrainingStep>()->forward;
  Values outputs = truth(p, values);
  outputs.merge(truth(Backward{p}, values));
  return outputs;
}

}  // namespace

Truth step_truth() { return {"fftconvstep", &make_step_values, &step_outputs}; }

}  // namespace danaus
