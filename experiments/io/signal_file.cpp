#include "experiments/io/signal_file.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "reference/file_name.hpp"

namespace danaus {

bool is_signal_file(std::string_view word) { return has_ending(word, ".npy") || has_ending(word, ".wav"); }

SignalFormat signal_format(const std::string& path) {
  if (has_ending(path, ".npy")) return SignalFormat::npy;
  if (has_ending(path, ".wav")) return SignalFormat::wav;
  fail(path, ": unknown file type, the name must end in .npy or .wav");
}

void require_file(const std::string& path) {
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path))
    fail("cannot read ", path, ": a ", std::filesystem::is_directory(path) ? "directory" : "pipe or device",
         ", must be a file");
}

Signal read_signal(const std::string& path) {
  return signal_format(path) == SignalFormat::npy ? read_npy(path) : read_wav(path);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::int64_t extent : shape) text += (text.empty() ? "[" : ", ") + std::to_string(extent);
  return text + "]";
}

void print_notice(std::ostream& out, const Signal& signal) {
  if (!signal.notice.empty()) out << "notice: " << signal.notice << '\n';
}

void print_frames_notice(std::ostream& out, const std::string& path, const Signal& signal) {
  const auto& shape = signal.shape;
  if (shape.size() == 2 && shape[0] > shape[1] && shape[1] > 0)
    out << "notice: " << path << " is " << shape_text(shape) << ", read as " << shape[0] << " channels of " << shape[1]
        << (shape[1] == 1 ? " sample" : " samples") << "; of [frames, channels] array.T is [channels, frames]\n";
}

Signal read_finite_signal(std::string_view whose, const std::string& path, std::ostream& notices) {
  Signal signal = read_signal(path);
  print_notice(notices, signal);
  if (signal.values.empty())
    fail(whose, ' ', path, " is ", shape_text(signal.shape), ", must have at least one sample");
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
