#include "experiments/record/check.hpp"

namespace danaus {

std::optional<std::string> gpu_driver(int) { return std::nullopt; }

}  // namespace danaus
