#include "experiments/calibrate/calibration.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "model/profile.hpp"

namespace danaus {
namespace {

// To the digits that a measurement has.
double rounded(double value) {
  std::array<char, 32> digits;
  std::snprintf(digits.data(), digits.size(), "%.4g", value);
  return std::atof(digits.data());
}

Json object_of(const Measurement& m, const std::string& date) {
  const bool count = m.unit == "elements" || m.unit == "SMs" || m.unit == "KiB" || m.unit == "MiB";
  Json object = {{"value", count ? m.value : rounded(m.value)}, {"unit", m.unit}, {"kind", "measured"}};
  object["source"] = m.source + "; calibration, " + date;
  if (m.clock_mhz) object["clock"] = std::round(*m.clock_mhz);
  if (m.spread > 0) object["spread"] = rounded(m.spread);
  if (m.ceiling) object["ceiling"] = rounded(*m.ceiling), object["ceiling_source"] = m.ceiling_source;
  return object;
}

}  // namespace

Json row_of(const Measurement& m, const Device& device) {
  const auto known = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  return {{"device", device_block(device)},
          {"number", m.key},
          {"value", m.value},
          {"unit", m.unit},
          {"spread", m.spread},
          {"clock_mhz", known(m.clock_mhz)},
          {"ceiling", known(m.ceiling)},
          {"measured_by", m.source}};
}

std::string profile_text(const std::string& name, const std::string& date, const Calibration& calibration) {
  std::string text = "{\n  \"name\": " + Json(name).dump() +
                     ",\n  \"device\": " + Json(calibration.device + ", one device, " + date).dump() + ",\n";
  if (!calibration.notes.empty()) text += "  \"notes\": " + Json(calibration.notes).dump() + ",\n";
  text += "  \"numbers\": {";
  for (const Measurement& m : calibration.measurements) {
    require_possible(m);
    text += (&m == &calibration.measurements.front() ? "\n    " : ",\n    ") + Json(m.key).dump() + ": " +
            object_of(m, date).dump();
  }
  text += "\n  }\n}\n";
  parse_profile(text, name);
  return text;
}

}  // namespace danaus
