#include "experiments/bench/device_bus.hpp"
#include "experiments/bench/monitor.hpp"
#include "experiments/record/check.hpp"

namespace danaus {

std::optional<std::string> gpu_driver(int ordinal) { return Monitor(bus_of(ordinal)).driver(); }

}  // namespace danaus
