#include "experiments/io/asked_fields.hpp"

#include <gtest/gtest.h>

#include "reference/grammar.hpp"
#include "reference/operation.hpp"

namespace danaus {
namespace {

TEST(AskedFields, HaveTheTypeOfTheirField) {
  EXPECT_EQ(
      asked_fields("fftconv_f16_circular_l1024_k20_kf16_b64_h768_pregate_pair_r8x128_keep0to63+128to255").dump(),
      R"({"operation":"fftconv","dtype":"f16","mode":"circular","l":1024,"k":20,"type_of_k":"kf16","b":64,"h":768,)"
      R"("pregate":true,"fold":"pair","r":[8,128],"keep":"0to63+128to255"})");
  EXPECT_EQ(asked_fields("spectral_f32_tf32_b5_c20x3_l128x96_m27x33_twosided").dump(),
            R"({"operation":"spectral","dtype":"f32","tf32":true,"b":5,"c":[20,3],"l":[128,96],"m":[27,33],)"
            R"("twosided":true})");
}

TEST(AskedFields, NameEveryFieldOfEveryExample) {
  for (const Grammar& grammar : grammars()) {
    const std::string token = parse_case(grammar.example).token();
    EXPECT_EQ(asked_fields(token).size(), 1 + std::ranges::count(token, '_')) << token;
  }
}

}  // namespace
}  // namespace danaus
