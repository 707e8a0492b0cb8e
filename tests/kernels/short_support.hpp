// Arrays of short convolutions and of their gradients, and what their kernels must give.
#pragma once

#include <cmath>
#include <map>

#include "reference/short/direct.hpp"
#include "reference/short_backward/short_backward.hpp"
#include "tests/kernels/layer_support.hpp"

namespace danaus {

// The arrays of a case between guards; those that the case reads have values. `offset` in samples from an aligned
// address, of y, and of gradients, perhaps another one.
inline std::map<std::string, Field> fields_of(const Case& asked, const Values& values, int offset, int offset_of_y) {
  std::map<std::string, Field> fields;
  for (const Array& array : asked.arrays()) {
    const bool written = array.role == Role::output;
    const auto [field, added] =
        fields.try_emplace(std::string(array.name), array.dtype, array.size(), written ? offset_of_y : offset);
    if (!written) field->second.set(values.find(array.name)->second);
  }
  return fields;
}

// Roundings beside those of the kernel: of each gate.
inline int gates_of(const ShortConvolution& p) { return p.pregate + p.postgate; }

inline double norm(const std::vector<double>& squares) {
  double sum = 0;
  for (double value : squares) sum += value;
  return std::sqrt(sum);
}

inline void expect_within(const std::vector<double>& expected, const std::vector<double>& actual, double norm,
                          double bound, const char* name) {
  const Comparison comparison = compare(expected, actual, norm);
  EXPECT_LE(comparison.rel_l2, bound) << name << ", worst at " << comparison.worst;
  EXPECT_LE(comparison.rel_max, bound_max(bound, std::ssize(actual))) << name << ", worst at " << comparison.worst;
  EXPECT_LE(std::abs(comparison.gain_error), bound_gain(comparison.cancelled * bound, std::ssize(actual))) << name;
}

inline void expect_right(const ShortConvolution& p, const Values& values, std::map<std::string, Field>& fields,
                         const Variant& variant) {
  for (auto& [name, field] : fields) EXPECT_TRUE(field.guards_are_whole()) << name;
  expect_within(short_convolution(p, values), fields.at("y").values(), summed(p, values),
                bound_l2_of_roundings(p.dtype, variant.roundings() + gates_of(p)), "y");
}

// dk and dbias are sums of exact products in fp32: each addition of a part's rounds, or truncates, its sum; 2^-13 is
// for what the longest of these tests add.
inline void expect_right(const ShortBackward& asked, const Values& values, std::map<std::string, Field>& fields,
                         const Variant& variant) {
  const ShortConvolution& p = asked.forward;
  const ShortGradients expected = short_gradients(p, values), squares = summed_gradients(p, values);
  for (auto& [name, field] : fields) EXPECT_TRUE(field.guards_are_whole()) << name;
  // A gate of the forward pass, the other one, and its gradient's factor.
  const double bound = bound_l2_of_roundings(p.dtype, std::max(variant.roundings(), 2) + 2);
  const double of_sums = bound_l2_of_roundings(p.dtype, gates_of(p)) + 0x1p-13;
  const auto check = [&](const char* name, const std::vector<double>& truth, const std::vector<double>& squared,
                         double limit) {
    if (fields.contains(name)) expect_within(truth, fields.at(name).values(), norm(squared), limit, name);
  };
  check("du", expected.du, squares.du, bound);
  check("dpregate", expected.dpregate, squares.dpregate, bound);
  check("dpostgate", expected.dpostgate, squares.dpostgate, bound);
  check("dk", expected.dk, squares.dk, of_sums);
  check("dbias", expected.dbias, squares.dbias, of_sums);
}

inline void expect_right(const Case& asked, const Values& values, std::map<std::string, Field>& fields,
                         const Variant& variant) {
  if (const auto* p = asked.as<ShortConvolution>())
    expect_right(*p, values, fields, variant);
  else
    expect_right(*asked.as<ShortBackward>(), values, fields, variant);
}

// Shapes that every test of all of them takes: K even and odd and at the ends of what a kernel has room for, L below K
// and of several streams, one row, channels no multiple of eight.
inline constexpr const char* kShortShapes[] = {
    "causal_k2_l8_b1_h1",      "causal_k4_l300_b2_h8",         "same_k3_l77_b3_h5_bias",
    "causal_k9_l530_b1_h3",    "same_k8_l64_b2_h16_pregate",   "causal_k7_l1_b2_h9_bias_postgate",
    "causal_k10_l260_b2_h8",   "causal_k33_l20_b1_h17_bias",   "same_k33_l1040_b1_h3_pregate_postgate",
    "causal_k64_l1100_b2_h8",  "same_k65_l70_b3_h7_bias",      "causal_k66_l64_b1_h2_pregate",
    "same_k128_l2100_b1_h5",   "causal_k129_l1_b1_h1_bias",    "causal_k255_l1500_b1_h8_bias_pregate_postgate",
    "causal_k256_l2304_b1_h2", "same_k256_l100_b2_h9_postgate"};

}  // namespace danaus
