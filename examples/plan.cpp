// One plan for many filters, each prepared into memory of the caller, in C++. Without a GPU it says so.
#include <danaus.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

void check(danaus_status status) {
  if (status != DANAUS_OK) throw std::runtime_error(danaus_last_error());
}

struct Destroy {
  void operator()(danaus_plan* plan) const { danaus_plan_destroy(plan); }
  void operator()(void* data) const { danaus_free(data); }
};
using DevicePointer = std::unique_ptr<void, Destroy>;

DevicePointer allocated(std::size_t bytes) {
  void* data = nullptr;
  check(danaus_allocate(0, bytes, &data));
  return DevicePointer(data);
}

}  // namespace

int main() try {
  if (danaus_device_count() == 0) {
    danaus_plan* none = nullptr;
    const bool refused =
        danaus_plan_create("fftconv_f16_circular_l512_b4_h8", 0, nullptr, 0, &none) == DANAUS_NO_DEVICE;
    std::printf("%s\n", danaus_last_error());
    return refused ? 0 : 1;
  }
  danaus_plan* made = nullptr;
  check(danaus_plan_create("fftconv_f16_circular_l512_b4_h8", 0, nullptr, 0, &made));
  const std::unique_ptr<danaus_plan, Destroy> plan(made);
  danaus_bytes bytes{};
  bytes.size = sizeof bytes;
  check(danaus_plan_bytes(plan.get(), 4, &bytes));
  std::printf("%s; %lld bytes a filter\n", danaus_plan_description(plan.get()), static_cast<long long>(bytes.prepared));

  constexpr std::size_t kSamples = 4 * 8 * 512;
  const DevicePointer u = allocated(2 * kSamples), y = allocated(2 * kSamples);
  const std::vector<std::uint16_t> ones(kSamples, 0x3c00);  // 1 in f16
  check(danaus_copy_to_device(0, u.get(), ones.data(), 2 * kSamples));
  std::vector<std::uint16_t> result(kSamples);
  for (const float gain : {1.f, 2.f}) {
    std::vector<float> k(8 * 512);
    for (std::size_t h = 0; h < 8; ++h) k[512 * h] = gain;
    const DevicePointer spectrum = allocated(static_cast<std::size_t>(bytes.prepared));
    danaus_call call{};
    call.size = sizeof call;
    call.prepared = spectrum.get(), call.prepared_bytes = static_cast<std::size_t>(bytes.prepared);
    call.prepared_for = danaus_plan_layout(plan.get());
    const danaus_array filter = {"k", k.data(), 4 * k.size()};
    check(danaus_prepare(plan.get(), &filter, 1, &call));
    const danaus_array arrays[] = {{"u", u.get(), 2 * kSamples}, {"y", y.get(), 2 * kSamples}};
    check(danaus_execute(plan.get(), arrays, 2, &call));
    check(danaus_copy_to_host(0, result.data(), y.get(), 2 * kSamples));
    std::printf("gain %g: y[0] = %#x in f16\n", gain, result[0]);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
