#include "experiments/count/imitation.hpp"

#include <array>

#include "kernels/plan/registry.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

Device imitation(const HardwareProfile& profile) {
  constexpr std::array kCapability = {90, 80, 86};  // of the device classes
  static_assert(kCapability.size() == kDeviceClasses.size());
  Device device;
  device.name = profile.name;
  device.block_bytes = static_cast<int>(1024 * profile.shared_memory_per_block.value);
  device.multiprocessors = static_cast<int>(profile.sms.value);
  if (profile.l2_size) device.cache_bytes = static_cast<std::int64_t>(profile.l2_size->value * (1 << 20));
  for (std::size_t i = 0; i < kDeviceClasses.size(); ++i)
    if (device.block_bytes >= kDeviceClasses[i].block_bytes) {
      device.sm = kCapability[i];
      return device;
    }
  fail("profile ", profile.name, ": ", profile.shared_memory_per_block.value,
       " KiB of shared memory a block, kernels need at least ", kDeviceClasses.back().block_bytes / 1024);
}

}  // namespace danaus
