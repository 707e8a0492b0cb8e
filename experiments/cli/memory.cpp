#include "experiments/cli/memory.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <limits>
#include <optional>
#include <sstream>

#include "experiments/cli/table.hpp"

namespace danaus {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The number after `label` in `path`, or the first where there is no label; nothing where there is none ("max").
std::optional<double> number_in(const char* path, std::string_view label = "") {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(label, 0) != 0) continue;
    double value;
    if (std::istringstream rest(line.substr(label.size())); rest >> value) return value;
    break;
  }
  return std::nullopt;
}

// What the control group (v2) leaves; pages of the file cache that it counts are given back when they are needed.
double left_in_control_group() {
  const std::optional<double> most = number_in("/sys/fs/cgroup/memory.max");
  if (!most) return kUnlimited;
  const auto cached = [](const char* which) { return number_in("/sys/fs/cgroup/memory.stat", which).value_or(0); };
  return *most - number_in("/sys/fs/cgroup/memory.current").value_or(0) + cached("inactive_file ") +
         cached("active_file ");
}

std::string in_words(double bytes) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(0) << bytes << " bytes (" << human_bytes(bytes) << ')';
  return text.str();
}

}  // namespace

double memory_of(const Convolution& resolved) {
  constexpr double kReal = sizeof(double), kComplex = 2 * sizeof(double);
  const double rows = static_cast<double>(resolved.batch) * static_cast<double>(resolved.channels);
  // u, y, the truth and one copy on the way; each gate
  const double samples = rows * static_cast<double>(resolved.length) * (4 + resolved.pregate + resolved.postgate);
  const double filter = static_cast<double>(resolved.channels) * static_cast<double>(resolved.filter_length);
  const double points = static_cast<double>(std::max(resolved.fft_size, 2 * resolved.length));
  // two spectra, work space and a table for each stage of the transform
  return kReal * (samples + 2 * filter) +
         kComplex * points * (6.0 + 2.0 * static_cast<double>(resolved.factors.size()));
}

double memory_of(const Case& asked) {
  double bytes_of_all = 0;
  for (const Array& array : asked.arrays())
    bytes_of_all += static_cast<double>(array.size()) * (3. * sizeof(double) + bytes(array.dtype));
  return bytes_of_all;
}

double available_memory() {
  double available = left_in_control_group();
  if (const auto kibibytes = number_in("/proc/meminfo", "MemAvailable:"))
    available = std::min(available, 1024 * *kibibytes);
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    available = std::min(available, static_cast<double>(limit.rlim_cur));
  return available;
}

void require_memory(const std::string& operation, double bytes) {
  const double available = available_memory();
  if (bytes <= available) return;
  fail(operation, ": needs ", in_words(bytes), " of memory, must be at most the ", in_words(available), " available");
}

}  // namespace danaus
