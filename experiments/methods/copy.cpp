// The floor: what every kernel reads and writes.
#include "experiments/methods/method.hpp"
#include "kernels/plan/arrays.hpp"
#include "reference/spectral/layer.hpp"

namespace danaus {
namespace {

Case copied(const Method& method, const Case& asked, const Device&) {
  const std::vector<Array> arrays = asked.arrays();
  const auto has = [&](std::string_view name) { return array_of(arrays, name) >= 0; };
  if (!has("y") || has("dy")) fail(method.name, ": a plain copy has no gradients");
  if (has("pregate") || has("postgate")) fail(method.name, ": a plain copy has no gates");
  if (has("x_initial") || has("x_final")) fail(method.name, ": a plain copy has no states");
  const Array &u = arrays[array_of(arrays, "u")], &y = arrays[array_of(arrays, "y")];
  if (u.size() == y.size()) return asked;
  const Spectral& p = *asked.as<Spectral>();  // whose channels alone may differ
  fail(method.name, ": u has ", p.inputs, " channels, y has ", p.outputs, ", a plain copy needs as many");
}

}  // namespace

std::vector<Method> copy_methods() {
  return {{kCopy, "a plain copy of u to y: what reading and writing once costs", copied}};
}

}  // namespace danaus
