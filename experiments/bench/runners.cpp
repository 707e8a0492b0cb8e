// Makes a contender ready: the plan's kernels here, the baselines in their folder.
#include "experiments/bench/baselines/baselines.hpp"
#include "experiments/bench/contenders.hpp"
#include "kernels/plan.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/convolution/rounding.hpp"

namespace danaus {
namespace {

class Fused final : public Runner {
 public:
  Fused(const Convolution& problem, const Device& device)
      : plan_(problem, device, problem.mask.zeroed.empty() ? std::vector<std::uint8_t>() : kept_frequencies(problem)) {}

  void set_filter(const float* k, Stream stream) override {
    const Convolution& p = plan_.problem();
    plan_.set_filter({k, static_cast<std::size_t>(p.channels * p.filter_length)}, stream);
  }

  void launch(const DeviceArrays& arrays, Stream stream) override {
    const Convolution& p = plan_.problem();
    const auto count = static_cast<std::size_t>(p.batch * p.channels * p.length);
    plan_.execute({arrays.u, count}, {arrays.y, count}, {arrays.pregate, p.pregate ? count : 0},
                  {arrays.postgate, p.postgate ? count : 0}, stream);
  }

  std::string variant() const override { return name(plan_.variant()); }
  std::int64_t fft_size() const override { return plan_.variant().size(); }
  double bound() const override {
    const Convolution& p = plan_.problem();
    return bound_l2_of_roundings(p.dtype, roundings(plan_.variant().geometry) + p.pregate + p.postgate);
  }

 private:
  Plan plan_;
};

}  // namespace

std::unique_ptr<Runner> make_runner(Contender contender, const Convolution& problem, const Device& device) {
  if (const auto why = obstacle(contender, problem, device)) fail("bench: ", *why);
  switch (contender) {
    case Contender::kernel: return std::make_unique<Fused>(problem, device);
    case Contender::copy: return make_copy(problem);
    case Contender::cufft_f32: return make_cufft_f32(problem);
    case Contender::cufft_pairs: return make_cufft_pairs(problem);
  }
  fail("bench: contender ", int(contender), " is unknown");
}

}  // namespace danaus
