#include "reference/short/fields.hpp"
#include "reference/short_backward/short_backward.hpp"

namespace danaus {

std::string token(const ShortBackward& asked) { return with_word("shortconvgrad", token(asked.forward)); }

Grammar short_backward_grammar() { return {"shortconvgrad", short_fields(), "shortconvgrad_f16_causal_k4_l300_b2_h8"}; }

ShortBackward parse_short_backward(std::string_view token) {
  return {read_short(TokenFields(token, *find_grammar("shortconvgrad")))};
}

Operation short_backward_operation() {
  return {"shortconvgrad", "gradients of short convolutions: du, dk, dbias and those of the gates",
          [](std::string_view token) { return Case(parse_short_backward(token)); }};
}

std::vector<Array> arrays(const ShortBackward& asked) {
  const ShortConvolution& p = asked.forward;
  std::vector<Array> list = arrays(p);
  const Array rows = list.front();
  list.pop_back();
  const auto add = [&](std::string_view name, Role role) {
    list.push_back({name, role, rows.dtype, rows.extents, true, rows.shape});
  };
  add("dy", Role::input);
  add("du", Role::output);
  if (p.pregate) add("dpregate", Role::output);
  if (p.postgate) add("dpostgate", Role::output);
  const Dtype of_sums = p.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  list.push_back({"dk", Role::output, of_sums, {p.channels, p.taps}, false, "H*K"});
  if (p.bias) list.push_back({"dbias", Role::output, of_sums, {p.channels}, false, "H"});
  return list;
}

// Of du and dk one each, and of a postgate's gradient another; a pregate's takes a product of du's.
double useful_flops(const ShortBackward& asked) { return (2. + asked.forward.postgate) * useful_flops(asked.forward); }

}  // namespace danaus
