// Makes a contender ready: the plan's kernels here, the baselines in their folder.
#include <array>

#include "experiments/bench/baselines/baselines.hpp"
#include "experiments/bench/contenders.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/plan.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/convolution/rounding.hpp"

namespace danaus {
namespace {

class Fused final : public Runner {
 public:
  Fused(const Convolution& problem, const Device& device)
      : problem_(problem),
        plan_(problem, cuda_machine(device.ordinal),
              problem.mask.empty() ? std::vector<std::uint8_t>() : kept_frequencies(problem)) {}

  void set_filter(const void* k, Stream stream) override {
    const std::int64_t size = bytes(filter_dtype(problem_)) * problem_.channels * problem_.filter_length;
    plan_.set_filter(std::span(static_cast<const std::byte*>(k), static_cast<std::size_t>(size)), {.stream = stream});
  }

  void launch(const DeviceArrays& arrays, Stream stream) override {
    const Convolution& p = problem_;
    const std::size_t bytes = sizeof(std::uint16_t) * static_cast<std::size_t>(p.batch * p.channels * p.length);
    std::array<Buffer, 4> buffers = {Buffer("u", arrays.u, bytes), Buffer("y", arrays.y, bytes), Buffer("", nullptr, 0),
                                     Buffer("", nullptr, 0)};
    std::size_t count = 2;
    if (p.pregate) buffers[count++] = {"pregate", arrays.pregate, bytes};
    if (p.postgate) buffers[count++] = {"postgate", arrays.postgate, bytes};
    plan_.execute(std::span(buffers).first(count), {.stream = stream});
  }

  std::string variant() const override { return plan_.variant().name; }
  std::int64_t fft_size() const override { return plan_.variant().size; }
  double bound() const override { return bound_l2_of_kernel(problem_, plan_.variant().roundings()); }

 private:
  Convolution problem_;
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
