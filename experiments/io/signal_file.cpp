#include "experiments/io/signal_file.hpp"

#include <algorithm>
#include <filesystem>

namespace danaus {

SignalFormat signal_format(const std::string& path) {
  if (path.ends_with(".npy")) return SignalFormat::npy;
  if (path.ends_with(".wav")) return SignalFormat::wav;
  fail(path, ": unknown file type, the name must end in .npy or .wav");
}

Signal read_signal(const std::string& path) {
  return signal_format(path) == SignalFormat::npy ? read_npy(path) : read_wav(path);
}

void write_signal(PendingFile& file, SignalFormat format, const Signal& signal) {
  format == SignalFormat::npy ? write_npy(file, signal) : write_wav(file, signal);
}

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
