#include "experiments/environment.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <limits>
#include <sstream>
#include <thread>

#include "experiments/table.hpp"
#include "reference/problem.hpp"

namespace danaus {
namespace {

// The rest of the first line of `path` that begins with `label` and `separator`.
std::string field_of_file(const char* path, std::string_view label, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(label, 0) != 0) continue;
    std::string value = line.substr(std::min(line.size(), line.find(separator) + 1));
    std::erase(value, '"');
    return value.substr(std::min(value.size(), value.find_first_not_of(" \t")));
  }
  return "unknown";
}

double number_in_file(const char* path) {
  double value = std::numeric_limits<double>::infinity();  // no such file, or "max": no limit
  if (std::ifstream file(path); !(file >> value)) return std::numeric_limits<double>::infinity();
  return value;
}

}  // namespace

Json host_block() {
  return {{"cpu", field_of_file("/proc/cpuinfo", "model name", ':')},
          {"threads", std::thread::hardware_concurrency()},
          {"os", field_of_file("/etc/os-release", "PRETTY_NAME", '=')},
          {"compiler", "g++ " __VERSION__}};
}

Json provenance(const Console& console) {
  return {{"git", kRevision.git},
          {"dirty", kRevision.dirty},
          {"sources", kRevision.sources},
          {"argv", console.argv},
          {"host", host_block()}};
}

double available_memory() {
  double available = std::numeric_limits<double>::infinity();
  if (std::istringstream kibibytes(field_of_file("/proc/meminfo", "MemAvailable", ':')); kibibytes >> available)
    available *= 1024;
  else
    available = std::numeric_limits<double>::infinity();
  available = std::min(
      available, number_in_file("/sys/fs/cgroup/memory.max") - [] {
        const double used = number_in_file("/sys/fs/cgroup/memory.current");
        return used == std::numeric_limits<double>::infinity() ? 0 : used;
      }());
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    available = std::min(available, static_cast<double>(limit.rlim_cur));
  return available;
}

void require_memory(const std::string& operation, double bytes) {
  const double available = available_memory();
  if (bytes <= available) return;
  std::ostringstream needed, left;
  needed << std::fixed << std::setprecision(0) << bytes << " bytes (" << human_bytes(bytes) << ')';
  left << std::fixed << std::setprecision(0) << available << " bytes (" << human_bytes(available) << ')';
  fail(operation, ": needs ", needed.str(), " of memory, must be at most the ", left.str(), " available");
}

}  // namespace danaus
