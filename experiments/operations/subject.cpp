#include "experiments/operations/subject.hpp"

#include "kernels/plan/program.hpp"
#include "reference/spectral_gradient/spectral_gradient.hpp"
#include "reference/token.hpp"

namespace danaus {

std::unique_ptr<const Subject> subject_of(const Case& asked, std::string_view who) {
  for (const auto make : {convolution_subject, layer_subject, short_subject, state_subject})
    if (auto subject = make(asked)) return subject;
  fail(who, ": ", asked.token(), " is of an operation that is not timed");
}

std::optional<std::string> plan_obstacle(const Case& asked, const Device& device) try {
  make_program(asked, device);
  return std::nullopt;
} catch (const std::invalid_argument& refusal) {
  return refusal.what();
}

Shape shape_of(const Case& asked) {
  const std::string token = asked.token();
  const std::int64_t batch = number_in(token, "b").value();
  const auto* gradient = asked.as<SpectralGradient>();
  if (const auto* layer = gradient ? &gradient->forward : asked.as<Spectral>())
    return {batch, layer->inputs, layer->lengths.back()};
  return {batch, number_in(token, "h").value(), number_in(token, "l").value()};
}

Case with_batch(const Case& asked, std::int64_t batch) { return parse_case(with_number(asked.token(), "b", batch)); }

}  // namespace danaus
