#include "experiments/cli/environment.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <thread>

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

}  // namespace

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16] = "";
  std::strftime(text, sizeof(text), "%F", std::gmtime(&now));
  return text;
}

std::string compiler_in_words() { return DANAUS_COMPILER; }

std::string sources_in_words() {
  return std::string(kRevision.sources) + ", git " + kRevision.git + (kRevision.dirty ? ", dirty" : "");
}

Json host_block() {
  return {{"cpu", field_of_file("/proc/cpuinfo", "model name", ':')},
          {"threads", std::thread::hardware_concurrency()},
          {"os", field_of_file("/etc/os-release", "PRETTY_NAME", '=')},
          {"compiler", "g++ " __VERSION__}};
}

Json device_block(const Device& device) {
  return {{"name", device.name}, {"sm", device.sm}, {"multiprocessors", device.multiprocessors}};
}

int without_gpu(Console& console, std::string_view operation, std::string_view needs) {
  console.err << "danaus: " << operation << ": no CUDA device; " << needs
              << " a GPU and a build with CUDA (this one's: " << DANAUS_CUDA_PARTS << ")\n";
  return kExitNoDevice;
}

Json provenance(const Console& console) {
  return {{"date", today()},      {"git", kRevision.git}, {"dirty", kRevision.dirty}, {"sources", kRevision.sources},
          {"argv", console.argv}, {"host", host_block()}};
}

}  // namespace danaus
