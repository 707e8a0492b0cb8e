// Causality and independence of every family on a CUDA device. Skipped where there is none.
#include "tests/kernels/causality_support.hpp"
#include "tests/kernels/on_device.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {
namespace {

class CudaCausality : public OnCuda, public testing::WithParamInterface<std::string> {
 protected:
  // Of a plan on the device, for one case.
  void expect(const Case& asked, double scale, const std::function<void(const Properties&)>& properties) {
    const auto* p = asked.as<Convolution>();
    Plan plan(asked, cuda_machine(), p ? marks_of(*p) : std::vector<std::uint8_t>());
    const CudaStream stream;
    const auto execute = [&](const Values& values) {
      auto fields = fields_of(asked, values, 0, 0);
      AllOnDevice on_device(fields);
      plan.whole_call(on_device.buffers(), {.stream = stream});
      stream.synchronize();
      on_device.fetch();
      return outputs_of(asked, fields);
    };
    const Variant& variant = plan.variant();
    properties({asked, property_of(variant, asked), variant.name, variant.roundings(), execute, scale});
  }
};

TEST_P(CudaCausality, HoldsAndRowsAreIndependent) {
  const std::vector<TestedCase> cases = cases_of(GetParam());
  ASSERT_FALSE(cases.empty()) << "no case of the family: causality_support.hpp lists them";
  for (const TestedCase& tested : cases)
    expect(tested.asked, 1, [&](const Properties& of) { of.expect_all(middle_of(tested.asked)); });
}

TEST_P(CudaCausality, KeepsBitsBeforeTheLargestSample) {
  for (const TestedCase& tested : cases_of(GetParam()))
    if (const auto change = largest_behind(tested.asked))
      expect(tested.asked, kSmall, [&](const Properties& of) { of.expect(*change); });
}

std::vector<std::string> families() {
  std::set<std::string> names;
  for (const auto& v : variants()) names.insert(std::string(v->family));
  for (const CausalityCase& of : kCausalityCases) names.insert(std::string(of.family));
  return {names.begin(), names.end()};
}

INSTANTIATE_TEST_SUITE_P(Of, CudaCausality, testing::ValuesIn(families()), [](const auto& info) { return info.param; });

using CudaCausalityOfDecoding = OnCuda;
TEST_F(CudaCausalityOfDecoding, HoldsAndRowsAreIndependent) {
  expect_causal_decoding(cuda_machine(), [](Decoding& decoding, Dtype dtype, const std::vector<double>& now) {
    const auto u = uploaded(host::encode(dtype, now));
    const auto y = uploaded(std::vector<std::uint16_t>(now.size(), GuardedSamples::kPoison));
    decoding.next(u.data(), y.data());
    std::vector<std::uint16_t> words(now.size());
    DANAUS_CUDA(cudaMemcpy(words.data(), y.data(), 2 * words.size(), cudaMemcpyDeviceToHost));
    return host::decode(dtype, words);
  });
}

}  // namespace
}  // namespace danaus
