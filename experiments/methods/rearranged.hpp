// A case by who computes it of other samples, or of rows that lie otherwise.
#pragma once

#include <memory>

#include "experiments/methods/runner.hpp"

namespace danaus {

// A runner for `asked` whose `runner` computes `by`, the same but for types of arrays and for [B, H, L] in place of
// [B, L, H]: of arrays that differ it has copies. Filters come as `by` has them. Throws where the device has too little
// memory left.
std::unique_ptr<Runner> rearranged(const Case& asked, const Case& by, std::unique_ptr<Runner> runner);

}  // namespace danaus
