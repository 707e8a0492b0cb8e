// Makes a method ready: the plan's kernels here, the baselines in their folder.
#include "experiments/methods/as_convolution.hpp"
#include "experiments/methods/baselines/baselines.hpp"
#include "experiments/methods/method.hpp"
#include "experiments/timing/device_kernels.hpp"
#include "experiments/timing/device_memory.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/arrays.hpp"
#include "reference/state/state.hpp"

namespace danaus {
namespace {

// What times a method that runs no plan; another baseline is one more line.
constexpr struct {
  std::string_view method;
  std::unique_ptr<Runner> (*make)(const Case& by);
} kBaselines[] = {
    {kCopy, make_copy},
    {"cufft_f32", make_cufft_f32},
    {"cufft_pairs", make_cufft_pairs},
    {"cufft_cublas_f32", [](const Case& by) { return make_cufft_cublas(*by.as<Spectral>(), false); }},
    {"cufft_cublas_tf32", [](const Case& by) { return make_cufft_cublas(*by.as<Spectral>(), true); }},
};

std::unique_ptr<Runner> make(const Method& method, const Case& by, const Device& device) {
  if (method.runs_plan) return make_plan_runner(by, cuda_machine(device.ordinal));
  for (const auto& baseline : kBaselines)
    if (baseline.method == method.name) return baseline.make(by);
  fail("bench: method ", method.name, " has no code");
}

}  // namespace

// Where the filter is a state-space model, a convolution's taps are made from that.
std::unique_ptr<Runner> make_runner(const Method& method, const Case& asked, const Device& device) {
  if (const auto why = obstacle(method, asked, device)) fail("bench: ", *why);
  const Case by = method.by(method, asked, device);
  auto runner = make(method, by, device);
  if (by.token() == asked.token()) return runner;
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

}  // namespace danaus
