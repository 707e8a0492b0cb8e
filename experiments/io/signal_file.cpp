#include "experiments/io/signal_file.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>

namespace danaus {

SignalFormat signal_format(const std::string& path) {
  if (path.ends_with(".npy")) return SignalFormat::npy;
  if (path.ends_with(".wav")) return SignalFormat::wav;
  fail(path, ": unknown file type, the name must end in .npy or .wav");
}

Signal read_signal(const std::string& path) {
  return signal_format(path) == SignalFormat::npy ? read_npy(path) : read_wav(path);
}

Signal read_finite_signal(std::string_view whose, const std::string& path) {
  Signal signal = read_signal(path);
  const auto wrong = std::ranges::find_if_not(signal.values, [](double value) { return std::isfinite(value); });
  if (wrong != signal.values.end())
    fail(whose, ' ', path, " has ", *wrong, " at index ", wrong - signal.values.begin(), ", must be finite");
  return signal;
}

std::string digest_of(std::span<const double> values) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (double value : values) hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3u;
  std::ostringstream digest;
  digest << std::hex << hash;
  return digest.str();
}

void write_signal(PendingFile& file, SignalFormat format, const Signal& signal) {
  format == SignalFormat::npy ? write_npy(file, signal) : write_wav(file, signal);
}

}  // namespace danaus
