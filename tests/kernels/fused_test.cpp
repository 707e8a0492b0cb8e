// Every variant of the table against the truth in double.
#include <bit>
#include <cmath>
#include <random>

#include "kernels/arguments.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {
namespace {

struct Family {
  int size;
  Dtype dtype;
};

class Fused : public testing::TestWithParam<Family> {
 protected:
  template <class Check>
  void for_each_variant(Check check) const {
    for (const Variant& v : variants())
      if (v.size() == GetParam().size && v.geometry.dtype == GetParam().dtype)
        check(v, executor_like(std::countr_zero(v.classes)));
  }
};

// Each variant moves rows in each way, those of large sizes by threads in one of two, those for smaller devices, which
// differ in the ring alone, only so. All else that can vary is drawn: gates, modes, batches, channels, filter lengths,
// scales, orders.
TEST_P(Fused, EveryVariantIsWithinItsBound) {
  std::mt19937 random(GetParam().size);
  const auto draw = [&](auto... options) { return std::array{options...}[random() % sizeof...(options)]; };
  int number = 0;
  for_each_variant([&](const Variant& v, Device device) {
    const bool pair = v.geometry.fold == Fold::pair, large = v.size() > 4096;
    const std::int64_t n = v.size();
    const Transfer by_threads = ++number % 2 == 0 ? Transfer::vector : Transfer::element;
    for (Transfer transfer : {Transfer::tensor, Transfer::vector, Transfer::element}) {
      if (transfer == Transfer::tensor && !v.suits(0)) continue;
      if (transfer != Transfer::tensor && transfer != by_threads && (large || !v.suits(0))) continue;
      // Large: three items in one block, so that its ring goes round.
      const std::int64_t batch = pair ? draw(5, 6) : large ? 3 : draw(1, 2, 5), channels = large ? 1 : draw(1, 2, 3);
      device.blocks = large ? 1 : draw(1, 2);
      const std::int64_t length = pair                           ? n
                                  : transfer == Transfer::tensor ? n
                                  : transfer == Transfer::vector ? n - 8
                                                                 : n - 13;
      Convolution p = problem_for(v, batch, channels, length);
      if (!pair && transfer != Transfer::tensor) p.mode = draw(Mode::causal, Mode::circular);
      p.filter_length = draw(length, length, length / 7, std::int64_t{1});
      if (v.gated) p.pregate = draw(true, true, false), p.postgate = !p.pregate || draw(true, false);
      DataSpec spec;
      spec.scale = draw(1., 0.02, 1e-4, 100.);
      if (p.filter_length == 1) spec.scale = std::max(spec.scale, 0.02);  // a single tap may be small itself
      device.order = draw(host::Order::ascending, host::Order::ascending, host::Order::random);
      device.seed = random();
      if (transfer != Transfer::tensor) device.sm = std::min(device.sm, 80);
      expect_right(p, spec, device, transfer == Transfer::element ? 1 : 0);
      ASSERT_EQ(choose(p, device).variant, &v);
    }
  });
}

// Small integers come out exact once rounded: a sample at a wrong place would be off by one at least, rounding is not.
// A few taps of +-1, so that outputs stay below 2^5 and their error below 1/2 in bf16 too.
TEST_P(Fused, SmallIntegersComeOutExactly) {
  for_each_variant([&](const Variant& v, const Device& device) {
    if (!v.preferred && v.size() > 4096) return;  // they share their transfers with the preferred split
    Convolution p = problem_for(v, 3, 1, v.size());
    p.pregate = p.postgate = v.gated;
    Inputs inputs = make_inputs(p, {});
    for (double& x : inputs.u) x = std::clamp(std::round(x), -2., 2.);
    for (double& x : inputs.pregate) x = x > 0 ? 1 : -1;
    for (double& x : inputs.postgate) x = x > 0 ? 2 : 1;
    std::fill(inputs.k.begin(), inputs.k.end(), 0.);
    for (std::int64_t n : {0, 1, v.size() / 3, v.size() - 1}) inputs.k[n] = n % 2 == 0 ? 1 : -1;
    std::vector<double> expected = convolve(p, inputs, Method::fftw), actual = execute_plan(p, inputs, device).y;
    for (double& x : expected) x = std::round(x);
    for (double& x : actual) x = std::round(x);
    EXPECT_EQ(expected, actual) << name(v);
  });
}

std::vector<Family> families() {
  std::vector<Family> list;
  for (const Variant& v : variants())
    if (list.empty() || list.back().size != v.size()) {
      list.push_back({v.size(), Dtype::f16});
      list.push_back({v.size(), Dtype::bf16});
    }
  return list;
}

std::string family_name(const testing::TestParamInfo<Family>& info) {
  return std::string(name(info.param.dtype)) + "_" + std::to_string(info.param.size);
}

INSTANTIATE_TEST_SUITE_P(Variants, Fused, testing::ValuesIn(families()), family_name);

}  // namespace
}  // namespace danaus
