#include "experiments/bench/checked_rows.hpp"
#include "experiments/bench/contenders.hpp"
#include "experiments/bench/device_kernels.hpp"
#include "experiments/bench/device_memory.hpp"
#include "experiments/count/hardware.hpp"

namespace danaus {

void launch_once(const Convolution& p, const Device& device) {
  const DeviceScope scope(device.ordinal);
  const CudaStream stream;
  const std::int64_t samples = p.batch * p.channels * p.length;
  const auto filled = [&](BenchArray array, bool present) {
    auto buffer = room_for<std::uint16_t>(present ? samples : 0, "samples");
    if (present) fill_noise(p.dtype, buffer.data(), samples, array_key(p, array), stream);
    return buffer;
  };
  const auto k = room_for<float>(p.channels * p.filter_length, "k");
  fill_noise(k.data(), k.size(), array_key(p, BenchArray::k), filter_scale(p), stream);
  const auto u = filled(BenchArray::u, true), pregate = filled(BenchArray::pregate, p.pregate),
             postgate = filled(BenchArray::postgate, p.postgate);
  const auto y = room_for<std::uint16_t>(samples, "y");
  const auto runner = make_runner(Contender::kernel, p, device);
  runner->set_filter(k.data(), stream);
  runner->launch({u.data(), y.data(), pregate.data(), postgate.data()}, stream);
  stream.synchronize();
}

}  // namespace danaus
