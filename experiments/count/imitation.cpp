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
  for (std::size_t i = 0; i < kDeviceClasses.size(); ++i)
    if (device.block_bytes >= kDeviceClasses[i].block_bytes) {
      device.sm = kCapability[i];
      return device;
    }
  fail("profile ", profile.name, ": ", profile.shared_memory_per_block.value,
       " KiB of shared memory a block, kernels need at least ", kDeviceClasses.back().block_bytes / 1024);
}

}  // namespace danaus
