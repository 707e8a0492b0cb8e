#include "reference/backward/backward.hpp"
#include "reference/convolution/fields.hpp"

namespace danaus {
std::string token(const Backward& asked) { return with_word("fftconvgrad", token(asked.forward)); }

Grammar backward_grammar() { return {"fftconvgrad", convolution_fields(false), "fftconvgrad_f16_causal_l512_b2_h2"}; }

Backward parse_backward(std::string_view token) {
  return {read_convolution(TokenFields(token, *find_grammar("fftconvgrad")))};
}

Operation backward_operation() {
  return {"fftconvgrad", "gradients of long convolutions: du, dk and those of the gates",
          [](std::string_view token) { return Case(parse_backward(token)); }};
}

std::vector<Array> arrays(const Backward& asked) {
  const Convolution& p = asked.forward;
  const std::vector<std::int64_t> rows = {p.batch, p.channels, p.length};
  std::vector<Array> list;
  for (Array& array : arrays(p))
    if (array.role != Role::output) list.push_back(std::move(array));
  const auto add = [&](std::string_view name, Role role) {
    list.push_back({name, role, p.dtype, rows, true, "B*H*L"});
  };
  add("dy", Role::input);
  add("du", Role::output);
  if (p.pregate) add("dpregate", Role::output);
  if (p.postgate) add("dpostgate", Role::output);
  list.push_back({"dk",
                  Role::output,
                  p.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32,
                  {p.channels, p.filter_length},
                  false,
                  "H*K"});
  return list;
}

// Of du a convolution, of dk the transforms of u and the products, and of the channels' inverse transforms nothing, by
// the same counting: that of two convolutions. A postgate's gradient takes another.
double useful_flops(const Backward& asked) { return (2. + asked.forward.postgate) * useful_flops(asked.forward); }

}  // namespace danaus
