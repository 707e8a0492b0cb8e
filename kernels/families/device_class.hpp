// What choosing a kernel needs to know of a GPU, and the classes of GPUs that kernels are tuned for.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace danaus {

// The limits of a GPU; by default those of an H200 with a single multiprocessor.
struct Device {
  std::string name = "executor";
  int sm = 90;                          // compute capability, 10 major + minor
  int block_bytes = 227 * 1024;         // shared memory that a block can have
  std::int64_t cache_bytes = 50 << 20;  // L2
  int multiprocessors = 1;
  int ordinal = 0;  // of a CUDA device

  bool has_tensor_copies() const { return sm >= 90; }
};

// Devices are told apart by the shared memory that a block can have.
struct DeviceClass {
  std::string_view devices;
  int block_bytes;  // of shared memory, at most
  int sm_bytes;     // of all blocks of an SM together, each with kReservedBytes more than it asks for

  constexpr bool fits(int shared_bytes, int blocks) const;
};

inline constexpr int kReservedBytes = 1024;

constexpr bool DeviceClass::fits(int shared_bytes, int blocks) const {
  return shared_bytes <= block_bytes && blocks * (shared_bytes + kReservedBytes) <= sm_bytes;
}

// Tables of tunings are for the first; for the others a family makes rings and blocks smaller until they fit.
inline constexpr std::array kDeviceClasses = {
    DeviceClass{"H100, H200, B200", 227 * 1024, 228 * 1024},
    DeviceClass{"A100", 163 * 1024, 164 * 1024},
    DeviceClass{"RTX", 99 * 1024, 100 * 1024},
};

}  // namespace danaus
