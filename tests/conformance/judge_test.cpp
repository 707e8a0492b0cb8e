// The judge itself: right outputs pass, and one wrong row among many does not.
#include "tests/conformance/judge.hpp"

#include <gtest/gtest.h>

#include "tests/conformance/cases.hpp"

namespace danaus::conformance {
namespace {

TEST(Judge, SeesOneRow) {
  for (const ConformanceCase& each : cases()) {
    const Case asked = parse_case(each.token);
    SCOPED_TRACE(each.token);
    EXPECT_EQ(asked.token(), each.token) << "as rows have it";
    const Values inputs = make_values(asked), right = truth(asked, inputs);
    const Arithmetic bounds = in_double(asked);
    EXPECT_EQ(complaint(asked, inputs, right, bounds), "");
    for (const auto& [name, values] : right) {
      Values wrong = right;
      double& last = wrong.at(name).back();
      last = last * 1.5 + 1;
      EXPECT_NE(complaint(asked, inputs, wrong, bounds).find(text(": ", name)), std::string::npos) << name;
      last = NAN;
      EXPECT_NE(complaint(asked, inputs, wrong, bounds).find(text(": ", name)), std::string::npos) << name;
    }
  }
}

}  // namespace
}  // namespace danaus::conformance
