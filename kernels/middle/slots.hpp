// The order in which kernels read a filter's spectrum.
#pragma once

#include <cstdint>

namespace danaus {

// Slot of the complex number in half e of registers 2 j (re) and 2 j + 1 (im) of a lane's vector of four. Which
// frequency is there is the kernel's; so one filter kernel serves every layout.
constexpr std::int32_t spectrum_slot(int vector, int lane, int j, int e) {
  return ((vector * 32 + lane) * 2 + j) * 2 + e;
}

}  // namespace danaus
