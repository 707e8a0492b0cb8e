// Short convolutions and their gradients on a CUDA device against the truth in double. Skipped where there is none.
#include "tests/kernels/on_device.hpp"
#include "tests/kernels/short_support.hpp"

namespace danaus {
namespace {

class CudaShort : public OnCuda, public testing::WithParamInterface<std::tuple<const char*, const char*, const char*>> {
 protected:
  // Often enough that a filter is prepared while a convolution before still runs.
  void expect_right_on_device(const std::string& token) {
    const Case asked = parse_case(token);
    const Values values = make_values(asked);
    Plan plan(asked, cuda_machine());
    const CudaStream stream;
    for (const auto& [offset, offset_of_y] : {std::pair(0, 0), std::pair(3, 3), std::pair(2, 5)}) {
      SCOPED_TRACE(testing::Message() << token << ", offsets " << offset << " and " << offset_of_y);
      auto fields = fields_of(asked, values, offset, offset_of_y);
      AllOnDevice on_device(fields);
      for (int call = 0; call < 3; ++call) plan.whole_call(on_device.buffers(), {.stream = stream});
      stream.synchronize();
      on_device.fetch();
      expect_right(asked, values, fields, plan.variant());
    }
  }
  std::string token(const char* word) const {
    const auto [type, layout, shape] = GetParam();
    return text(word, type, '_', shape, layout);
  }
};

TEST_P(CudaShort, IsWithinItsBounds) { expect_right_on_device(token("shortconv_")); }
TEST_P(CudaShort, HasGradientsWithinTheirBounds) { expect_right_on_device(token("shortconvgrad_")); }

INSTANTIATE_TEST_SUITE_P(Shapes, CudaShort,
                         testing::Combine(testing::Values("f16", "bf16"), testing::Values("", "_channelslast"),
                                          testing::ValuesIn(kShortShapes)),
                         [](const auto& info) {
                           return text(std::get<0>(info.param), '_', std::get<2>(info.param), std::get<1>(info.param));
                         });

// Many blocks at once.
INSTANTIATE_TEST_SUITE_P(Large, CudaShort,
                         testing::Combine(testing::Values("bf16"), testing::Values("", "_channelslast"),
                                          testing::Values("causal_k4_l2048_b8_h96_bias", "same_k64_l2048_b8_h96",
                                                          "causal_k256_l1999_b8_h90_pregate")),
                         [](const auto& info) {
                           return text(std::get<0>(info.param), '_', std::get<2>(info.param), std::get<1>(info.param));
                         });

}  // namespace
}  // namespace danaus
