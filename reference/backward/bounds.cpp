#include "reference/backward/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/convolution/conditioning.hpp"
#include "reference/convolution/rounding.hpp"

namespace danaus {
namespace {

std::vector<double> array_of(const Values& values, std::string_view name) {
  const auto found = values.find(name);
  return found == values.end() ? std::vector<double>() : found->second;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.);
}

std::vector<double> gated(std::vector<double> rows, const std::vector<double>& gate) {
  if (!gate.empty()) std::ranges::transform(rows, gate, rows.begin(), std::multiplies());
  return rows;
}

}  // namespace

Inputs inputs_of(const Values& values) {
  return {array_of(values, "u"), array_of(values, "k"), array_of(values, "pregate"), array_of(values, "postgate")};
}

double summed_to_taps(const Convolution& p, const Inputs& inputs, const std::vector<double>& dy, double seen) {
  const std::vector<double> u = gated(inputs.u, inputs.pregate), v_dy = gated(dy, inputs.postgate);
  const auto square = [&](const std::vector<double>& rows, std::int64_t row) {
    const auto begin = rows.begin() + row * p.length;
    return std::inner_product(begin, begin + p.length, begin, 0.);
  };
  double sum = 0;
  for (std::int64_t row = 0; row < p.batch * p.channels; ++row) sum += square(u, row) * square(v_dy, row);
  return std::sqrt(seen * sum);
}

std::vector<OutputBound> bounds_of_passes(const Convolution& p, const Values& values,
                                          const RoundingsOfPasses& roundings) {
  const Inputs inputs = inputs_of(values);
  const std::vector<double>& dy = values.at("dy");
  std::vector<OutputBound> bounds;
  const auto convolved = [&](std::string_view name, const std::vector<double>& rows, const std::vector<double>& before,
                             const std::vector<double>& after) {
    Convolution by = p;
    by.pregate = !before.empty(), by.postgate = !after.empty();
    const int count = name == "y" ? roundings.forward : roundings.of_rows;
    bounds.push_back({name, bound_l2_of_kernel(by, count), summed(by, {rows, inputs.k, before, after})});
  };
  convolved("y", inputs.u, inputs.pregate, inputs.postgate);
  convolved("du", dy, inputs.postgate, inputs.pregate);
  if (p.pregate) convolved("dpregate", dy, inputs.postgate, inputs.u);
  if (p.postgate) convolved("dpostgate", inputs.u, inputs.pregate, dy);
  const double share = static_cast<double>(p.filter_length) / static_cast<double>(p.length);
  const double seen = p.mode == Mode::circular ? share : std::min(share, 1.);
  bounds.push_back(
      {"dk", bound_l2_of_correlation(p, roundings.of_sums) / std::sqrt(seen), summed_to_taps(p, inputs, dy, seen)});
  return bounds;
}

std::vector<AdjointError> adjoint_errors(const Values& values, const Values& outputs, double product,
                                         const std::vector<OutputBound>& bounds, double of_bias) {
  constexpr double kDeviations = 4;
  const struct {
    std::string_view output, input;
    double product;
  } pairs[] = {{"y", "dy", product},
               {"du", "u", product - of_bias},
               {"dk", "k", product - of_bias},
               {"dw", "w", product},
               {"dbias", "bias", of_bias},
               {"dpregate", "pregate", product - of_bias},
               {"dpostgate", "postgate", product}};
  std::vector<AdjointError> errors;
  for (const auto& [output, input, right] : pairs) {
    const auto found = outputs.find(output);
    if (found == outputs.end()) continue;
    const std::vector<double>& other = values.find(input)->second;
    const OutputBound& bound = *std::ranges::find(bounds, output, &OutputBound::name);
    const double rms = std::sqrt(dot(other, other) / static_cast<double>(other.size()));
    errors.push_back({output, dot(found->second, other) - right, kDeviations * bound.l2 * bound.summed * rms});
  }
  return errors;
}

}  // namespace danaus
