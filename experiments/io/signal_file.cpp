#include "experiments/io/signal_file.hpp"

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

}  // namespace danaus
