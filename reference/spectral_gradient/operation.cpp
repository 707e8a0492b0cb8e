#include "reference/spectral/fields.hpp"
#include "reference/spectral_gradient/spectral_gradient.hpp"

namespace danaus {

std::string token(const SpectralGradient& asked) { return with_word("spectralgrad", token(asked.forward)); }

Grammar spectral_gradient_grammar() {
  return {"spectralgrad", spectral_fields(false), "spectralgrad_f32_b2_c4x8_l32_m8"};
}

SpectralGradient parse_spectral_gradient(std::string_view token) {
  return {read_spectral(TokenFields(token, *find_grammar("spectralgrad")))};
}

Operation spectral_gradient_operation() {
  return {"spectralgrad", "gradients of spectral layers: du and dw",
          [](std::string_view token) { return Case(parse_spectral_gradient(token)); }};
}

std::vector<Array> arrays(const SpectralGradient& asked) {
  std::vector<Array> list = arrays(asked.forward);
  const auto as = [](Array array, std::string_view name, Role role) {
    array.name = name, array.role = role;
    return array;
  };
  return {list[0], list[1], as(list[2], "dy", Role::input), as(list[0], "du", Role::output),
          as(list[1], "dw", Role::output)};
}

// Of du a layer; of dw transforms there and the products, which is what another one counts.
double useful_flops(const SpectralGradient& asked) { return 2 * useful_flops(asked.forward); }

}  // namespace danaus
