#include "experiments/timing/monitor.hpp"

#include <dlfcn.h>

#include <array>

namespace danaus {
namespace {

// Of nvml.h, which not every toolkit has.
constexpr int kSuccess = 0;
constexpr int kClockSm = 1;
constexpr int kTemperatureGpu = 0;

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

}  // namespace

template <class... Argument>
bool Monitor::call(const char* function, Argument... arguments) const {
  if (!library_) return false;
  const auto found = reinterpret_cast<int (*)(Argument...)>(dlsym(library_.get(), function));
  return found && found(arguments...) == kSuccess;
}

Monitor::Monitor(const std::string& bus) {
  library_ = std::shared_ptr<void>(dlopen("libnvidia-ml.so.1", RTLD_NOW), [](void* library) {
    if (library) dlclose(library);
  });
  if (!call("nvmlInit_v2") || !call("nvmlDeviceGetHandleByPciBusId_v2", bus.c_str(), &device_)) library_ = nullptr;
}

Monitor::~Monitor() { call("nvmlShutdown"); }

std::optional<std::string> Monitor::driver() const {
  std::array<char, 96> version{};
  if (!call("nvmlSystemGetDriverVersion", version.data(), static_cast<unsigned>(version.size()))) return std::nullopt;
  return version.data();
}

std::optional<double> Monitor::power_limit_watts() const {
  unsigned milliwatts = 0;
  if (!call("nvmlDeviceGetPowerManagementLimit", device_, &milliwatts)) return std::nullopt;
  return 1e-3 * milliwatts;
}

std::optional<bool> Monitor::mig() const {
  unsigned current = 0, pending = 0;
  if (!call("nvmlDeviceGetMigMode", device_, &current, &pending)) return std::nullopt;
  return current != 0;
}

std::optional<int> Monitor::sm_clock_mhz() const {
  unsigned mhz = 0;
  if (!call("nvmlDeviceGetClockInfo", device_, kClockSm, &mhz)) return std::nullopt;
  return static_cast<int>(mhz);
}

std::optional<double> Monitor::power_watts() const {
  unsigned milliwatts = 0;
  if (!call("nvmlDeviceGetPowerUsage", device_, &milliwatts)) return std::nullopt;
  return 1e-3 * milliwatts;
}

std::optional<int> Monitor::temperature_celsius() const {
  unsigned celsius = 0;
  if (!call("nvmlDeviceGetTemperature", device_, kTemperatureGpu, &celsius)) return std::nullopt;
  return static_cast<int>(celsius);
}

std::optional<int> Monitor::processes() const {
  std::array<ProcessInfo, 64> found;
  unsigned count = found.size();
  if (!call("nvmlDeviceGetComputeRunningProcesses_v3", device_, &count, found.data())) return std::nullopt;
  return static_cast<int>(count);
}

std::vector<std::string> Monitor::throttled_by() const {
  struct Reason {
    unsigned long long bits;
    const char* name;
  };
  constexpr std::array kReasons = {Reason{0x4, Monitor::kPowerCap}, Reason{0x8, "hardware_slowdown"},
                                   Reason{0x60, "thermal"}, Reason{0x80, "power_brake"}};
  unsigned long long bits = 0;
  std::vector<std::string> names;
  if (!call("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &bits)) return names;
  for (const Reason& reason : kReasons)
    if (bits & reason.bits) names.emplace_back(reason.name);
  return names;
}

}  // namespace danaus
