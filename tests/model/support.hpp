// The GPU of the paper.
#pragma once

#include "model/profile.hpp"

namespace danaus {

inline const HardwareProfile& a100() {
  static const HardwareProfile profile = load_profile("A100-40GB");
  return profile;
}

}  // namespace danaus
