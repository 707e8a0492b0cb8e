#include "reference/convolution/fields.hpp"
#include "reference/step/step.hpp"

namespace danaus {

std::string token(const TrainingStep& asked) { return with_word("fftconvstep", token(asked.forward)); }

Grammar step_grammar() { return {"fftconvstep", convolution_fields(false), "fftconvstep_f16_causal_l512_b2_h2"}; }

TrainingStep parse_step(std::string_view token) {
  return {read_convolution(TokenFields(token, *find_grammar("fftconvstep")))};
}

const Convolution* convolution_of(const Case& asked) {
  if (const auto* backward = asked.as<Backward>()) return &backward->forward;
  if (const auto* step = asked.as<TrainingStep>()) return &step->forward;
  return asked.as<Convolution>();
}

Operation step_operation() {
  return {"fftconvstep", "training steps of long convolutions: y and all gradients, with the filter's transform",
          [](std::string_view token) { return Case(parse_step(token)); }};
}

std::vector<Array> arrays(const TrainingStep& asked) {
  std::vector<Array> list = arrays(Backward{asked.forward});
  list.push_back(arrays(asked.forward).back());  // y
  return list;
}

double useful_flops(const TrainingStep& asked) {
  return useful_flops(asked.forward) + useful_flops(Backward{asked.forward});
}

}  // namespace danaus
