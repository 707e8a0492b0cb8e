// What kernels of short convolutions and of their gradients must give.
#pragma once

#include "reference/short/direct.hpp"
#include "reference/short_backward/short_backward.hpp"
#include "tests/kernels/fields.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {

// Every output within its bounds, and nothing written beside them.
inline void expect_right(const Case& asked, const Values& values, std::map<std::string, Field>& fields,
                         const Variant& variant) {
  for (auto& [name, field] : fields) EXPECT_TRUE(field.guards_are_whole()) << name;
  expect_right(asked, values, outputs_of(asked, fields), promise_of(asked, variant, Device()));
}

// Shapes that every test of all of them takes: K even and odd and at the ends of what a kernel has room for, L below K
// and of several streams, one row, more rows than a channel's sums have parts, channels no multiple of eight.
inline constexpr const char* kShortShapes[] = {"causal_k2_l8_b1_h1",
                                               "causal_k4_l300_b2_h8",
                                               "same_k3_l77_b3_h5_bias",
                                               "causal_k9_l530_b1_h3",
                                               "same_k8_l64_b2_h16_pregate",
                                               "causal_k7_l1_b2_h9_bias_postgate",
                                               "causal_k10_l260_b2_h8",
                                               "causal_k33_l20_b1_h17_bias",
                                               "same_k33_l1040_b1_h3_pregate_postgate",
                                               "causal_k64_l1100_b2_h8",
                                               "same_k65_l70_b3_h7_bias",
                                               "causal_k66_l64_b1_h2_pregate",
                                               "same_k128_l2100_b1_h5",
                                               "causal_k129_l1_b1_h1_bias",
                                               "causal_k255_l1500_b1_h8_bias_pregate_postgate",
                                               "causal_k256_l2304_b1_h2",
                                               "same_k256_l100_b2_h9_postgate",
                                               "causal_k4_l303_b2_h8",
                                               "causal_k16_l300_b2_h70_bias",
                                               "same_k5_l700_b2_h3",
                                               "causal_k3_l9_b530_h2_bias",
                                               "same_k12_l40_b2_h130_bias_pregate_postgate"};

}  // namespace danaus
