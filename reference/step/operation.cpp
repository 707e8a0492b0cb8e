#include "reference/step/step.hpp"
#include "reference/token.hpp"

namespace danaus {

std::string token(const TrainingStep& asked) { return with_word("fftconvstep", token(asked.forward)); }

TrainingStep parse_step(std::string_view token) {
  if (operation_word(token) != "fftconvstep") fail("token '", token, "': a training step begins with 'fftconvstep'");
  return {parse_backward(with_word("fftconvgrad", token)).forward};
}

const Convolution* convolution_of(const Case& asked) {
  if (const auto* backward = asked.as<Backward>()) return &backward->forward;
  if (const auto* step = asked.as<TrainingStep>()) return &step->forward;
  return asked.as<Convolution>();
}

Operation step_operation() {
  return {"fftconvstep", "both: y and the gradients, one training step with its filter's transform",
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
