// What NVML says of a device, where there is NVML: its library is looked for when the program runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace danaus {

class Monitor {
 public:
  // The device on this PCI bus, "0000:1b:00.0". Without NVML everything below is nothing.
  explicit Monitor(const std::string& bus);
  ~Monitor();

  static constexpr const char* kPowerCap = "power_cap";  // any heavy work meets it, it is no disturbance

  bool works() const { return library_ != nullptr; }

  std::optional<std::string> driver() const;
  std::optional<double> power_limit_watts() const;
  std::optional<bool> mig() const;

  // At this moment.
  std::optional<int> sm_clock_mhz() const;
  std::optional<double> power_watts() const;
  std::optional<int> temperature_celsius() const;
  std::optional<int> processes() const;  // that compute on the device, this one among them
  // Why the clock is below its highest: kPowerCap, "thermal", "hardware_slowdown", "power_brake".
  std::vector<std::string> throttled_by() const;

 private:
  template <class... Argument>
  bool call(const char* function, Argument... arguments) const;

  std::shared_ptr<void> library_;
  void* device_ = nullptr;
};

}  // namespace danaus
