// What outputs of kernels must be: the one judge's verdict (reference/judge.hpp), as expectations.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "kernels/plan/promise.hpp"
#include "reference/judge.hpp"

namespace danaus {

// A case with its inputs and the truth, which several ways of computing it are compared with.
struct KnownCase {
  KnownCase(const Case& asked, Values inputs)
      : asked(asked), inputs(std::move(inputs)), judge(judge_of(asked)), expected(judge->expected(this->inputs)) {}
  Case asked;
  Values inputs;
  std::unique_ptr<const Judge> judge;
  Expected expected;
};

// Every output within its bounds, over all rows and row by row. The product of each gradient with its own input is that
// of y with dy, which knows nothing of how a gradient is computed. `gaussian`: inputs are, at scale 1.
inline void expect_right(const KnownCase& known, const Values& outputs, const Promise& promise, bool gaussian = false) {
  const std::vector<OutputTerms> terms = known.judge->terms(known.inputs, promise);
  const Verdict verdict = verdict_on(*known.judge, known.inputs, outputs, known.expected, terms,
                                     {.usual_share = gaussian ? kUsualShare : 1});
  for (const OutputVerdict& of : verdict.outputs) {
    testing::Test::RecordProperty("clearance_of_" + of.output, std::to_string(of.clearance));
    EXPECT_TRUE(of.passed) << known.asked.token() << ": " << of.output << " takes " << of.clearance
                           << " of its bounds: over all rows " << of.all.rel_l2 << " of " << of.bound << ", worst at "
                           << of.all.worst << "; at " << of.row.place << ' ' << of.row.error << " of " << of.row.bound
                           << ", " << of.row.clearance << " of its bounds. " << of.reason;
  }
  const auto product = known.judge->product(known.inputs);
  if (!product) return;
  for (const AdjointError& each : adjoint_errors(known.inputs, outputs, *product, terms))
    EXPECT_LE(std::abs(each.error), each.bound) << each.output << " and the product of y with dy";
}

inline void expect_right(const Case& asked, const Values& inputs, const Values& outputs, const Promise& promise,
                         bool gaussian = false) {
  expect_right(KnownCase(asked, inputs), outputs, promise, gaussian);
}

}  // namespace danaus
