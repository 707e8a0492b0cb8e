#include "experiments/recording.hpp"

#include <algorithm>
#include <filesystem>

#include "experiments/wav.hpp"

namespace danaus {

std::vector<double> read_recording(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing))
    if (entry.path().extension() == ".wav") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<double> samples;
  for (const std::string& path : paths) {
    const Signal signal = read_wav(path);
    samples.insert(samples.end(), signal.values.begin(), signal.values.begin() + signal.shape.at(1));
  }
  return samples;
}

}  // namespace danaus
