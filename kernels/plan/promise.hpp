// What the kernels of a plan promise today, a line for each family: how outputs are rounded, and how rows of one
// transform affect each other. docs/domain.md and docs/causality.md say the same in words.
#pragma once

#include "kernels/families/variant.hpp"
#include "kernels/plan/machine.hpp"
#include "reference/operation.hpp"
#include "reference/promise.hpp"

namespace danaus {

// Where a NaN or an infinity of an input shows in outputs.
enum class Spread {
  reach,  // where taps reach
  row,    // in its row
};

Spread spread_of(const Variant& variant);

// Whether samples of any scale give outputs within their bounds, where those are in range of their type. Otherwise rows
// are within kLoudest and kQuietest times unit noise.
bool takes_any_loudness(const Variant& variant, const Case& asked);
inline constexpr double kLoudest = 8, kQuietest = 1e-3;

// All of it, where `variant` has most of the work of the case's plan.
Promise promise_of(const Case& asked, const Variant& variant, const Device& device);
// Of the plan for the device. Throws where no kernel computes the case.
Promise promise_of(const Case& asked, const Device& device);

}  // namespace danaus
