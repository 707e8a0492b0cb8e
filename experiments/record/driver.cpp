#include "experiments/record/check.hpp"
#include "experiments/timing/device_bus.hpp"
#include "experiments/timing/monitor.hpp"

namespace danaus {

std::optional<std::string> gpu_driver(int ordinal) { return Monitor(bus_of(ordinal)).driver(); }

}  // namespace danaus
