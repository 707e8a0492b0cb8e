// What convolutions by state-space models must give.
#pragma once

#include "kernels/families/state/family.hpp"
#include "reference/state/recurrence.hpp"
#include "tests/kernels/layer_support.hpp"

namespace danaus {

// Errors within the bounds of the case.
inline void expect_right(const StateSpace& p, const StateInputs& inputs, const StateOutputs& outputs,
                         const Variant& variant) {
  const StateOutputs expected = by_recurrence(p, inputs);
  const auto expect_within = [&](const char* what, const Comparison& comparison, double bound, std::int64_t count) {
    SCOPED_TRACE(testing::Message() << what << ", worst at " << comparison.worst);
    testing::Test::RecordProperty(text("clearance_of_", what), std::to_string(comparison.rel_l2 / bound));
    EXPECT_LE(comparison.rel_l2, (count >= kManySamples ? kUsualShare : 1) * bound);
    EXPECT_LE(comparison.rel_max, bound_max(bound, count));
    EXPECT_LE(std::abs(comparison.gain_error), bound_gain(comparison.cancelled * bound, count));
  };
  const bool by_chunks = variant.shared_bytes > 0;
  const int chunk = by_chunks ? state::choose(p, {}, state::Work::convolve).layout().tuning.chunk : 1;
  expect_within("y", compare(expected.y, outputs.y, summed(p, inputs)),
                bound_l2_of_state(p, "y", chunk, variant.roundings()), std::ssize(outputs.y));
  if (p.final)
    expect_within("x_final",
                  compare(over_sizes(p, inputs, expected.x_final), over_sizes(p, inputs, outputs.x_final),
                          summed_states(p, inputs)),
                  bound_l2_of_state(p, "x_final", chunk, variant.roundings()), std::ssize(outputs.x_final));
}

}  // namespace danaus
