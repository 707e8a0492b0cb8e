// The convolution as an operation among others.
#include "reference/operation.hpp"

#include <cmath>

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/data.hpp"

namespace danaus {

Operation convolution_operation() {
  return {"fftconv", "long convolutions: y = postgate * conv(pregate * u, k)",
          [](std::string_view token) { return Case(parse_convolution(token)); }};
}

std::vector<Array> arrays(const Convolution& p) {
  const std::vector<std::int64_t> rows = {p.batch, p.channels, p.length};
  std::vector<Array> list = {{"u", Role::input, p.dtype, rows, true}};
  if (p.pregate) list.push_back({"pregate", Role::input, p.dtype, rows, true});
  if (p.postgate) list.push_back({"postgate", Role::input, p.dtype, rows, true});
  list.push_back(
      {"k", Role::filter, p.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32, {p.channels, p.filter_length}, false});
  list.push_back({"y", Role::output, p.dtype, rows, true});
  return list;
}

Values make_values(const Convolution& p, std::uint64_t seed) {
  DataSpec spec;
  spec.seed = seed;
  Inputs inputs = make_inputs(p, spec);
  Values values = {{"u", std::move(inputs.u)}, {"k", std::move(inputs.k)}};
  if (p.pregate) values["pregate"] = std::move(inputs.pregate);
  if (p.postgate) values["postgate"] = std::move(inputs.postgate);
  return values;
}

Values truth(const Convolution& p, const Values& values) {
  const auto of = [&](std::string_view name) {
    const auto found = values.find(name);
    return found == values.end() ? std::vector<double>() : found->second;
  };
  return {{"y", convolve(p, {of("u"), of("k"), of("pregate"), of("postgate")}, Method::fftw)}};
}

// 2.5 M log2 M for a real transform of M points, forward and backward, and 6 for each of the M / 2 complex products
// between. M is L (circular), or the 2 L of a padded linear convolution (causal). Gates take one a sample.
double useful_flops(const Convolution& p) {
  const double points = static_cast<double>(p.length) * (p.mode == Mode::causal ? 2 : 1);
  const double rows = static_cast<double>(p.batch) * static_cast<double>(p.channels);
  return rows *
         (5 * points * std::log2(points) + 3 * points + static_cast<double>(p.length) * (p.pregate + p.postgate));
}

}  // namespace danaus
