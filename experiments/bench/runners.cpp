// Makes a contender ready: the plan's kernels here, the baselines in their folder.
#include "experiments/bench/as_convolution.hpp"
#include "experiments/bench/baselines/baselines.hpp"
#include "experiments/bench/device_kernels.hpp"
#include "experiments/bench/device_memory.hpp"
#include "experiments/operations/subject.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/arrays.hpp"
#include "reference/state/state.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

std::unique_ptr<Runner> of_convolution(Contender contender, const Case& by, const Device& device) {
  switch (contender) {
    case Contender::cufft_f32: return make_cufft_f32(by);
    case Contender::cufft_pairs: return make_cufft_pairs(by);
    default: return make_plan_runner(by, cuda_machine(device.ordinal));
  }
}

// Where the filter is a state-space model, its taps are made from that.
std::unique_ptr<Runner> by_convolution(Contender contender, const Case& asked, const Device& device) {
  const bool by_plan = contender == Contender::full_fft || contender == Contender::chunked_fft;
  const Case by = by_plan ? by_fft(contender, asked, device) : subject_of(asked, "bench")->as_convolution();
  auto runner = of_convolution(contender, by, device);
  if (convolution_of(asked)) return runner;
  const auto* state = asked.as<StateSpace>();
  if (!state) return as_convolution(asked, by, std::move(runner));
  const std::vector<Array> arrays = asked.arrays();
  const int a = array_of(arrays, "a"), b = array_of(arrays, "b"), c = array_of(arrays, "c");
  const StateSpace p = *state;
  const auto taps = std::make_shared<DeviceBuffer<float>>(room_for<float>(p.channels * p.length, "the filter's taps"));
  const auto make_filter = [=](const DeviceArrays& at, Stream stream) -> void* {
    const auto values = [&](int i) { return static_cast<const float*>(at[i]); };
    fill_taps(values(a), values(b), values(c), taps->data(), p.channels, p.states, p.length, stream);
    return taps->data();
  };
  return as_convolution(asked, by, std::move(runner), make_filter, static_cast<std::int64_t>(taps->bytes()));
}

}  // namespace

std::unique_ptr<Runner> make_runner(Contender contender, const Case& asked, const Device& device) {
  if (const auto why = obstacle(contender, asked, device)) fail("bench: ", *why);
  switch (contender) {
    case Contender::kernel: return make_plan_runner(asked, cuda_machine(device.ordinal));
    case Contender::copy: return make_copy(asked);
    case Contender::full_fft:
    case Contender::chunked_fft:
    case Contender::cufft_f32:
    case Contender::cufft_pairs: return by_convolution(contender, asked, device);
    case Contender::cufft_cublas_f32: return make_cufft_cublas(*asked.as<Spectral>(), false);
    case Contender::cufft_cublas_tf32: return make_cufft_cublas(*asked.as<Spectral>(), true);
  }
  fail("bench: contender ", int(contender), " is unknown");
}

}  // namespace danaus
