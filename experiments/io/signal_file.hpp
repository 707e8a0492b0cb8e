// A user's own arrays: .npy (fp16, fp32, fp64) and .wav files.
//
//                read as                                                       written as
//   .npy         rank 1 to 3, little-endian, C order; the type becomes dtype   version 1.0, the type of `dtype`
//   .wav         [channels, samples], integers scaled to -1 .. 1, dtype f32    32-bit float
//
// Anything else is refused by name (std::invalid_argument with the path, the value and the rule); nothing is converted
// silently.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/io/pending_file.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

struct Signal {
  Dtype dtype = Dtype::f64;
  std::vector<std::int64_t> shape;  // C order
  std::vector<double> values;       // exactly what the file holds
  int sample_rate = 0;              // of a .wav, else 0
};

enum class SignalFormat { npy, wav };

SignalFormat signal_format(const std::string& path);  // by the name's ending

Signal read_signal(const std::string& path);

// The same; throws where a value is not finite, with `whose`, path, value and index.
Signal read_finite_signal(std::string_view whose, const std::string& path);

// Of the values: another file under the same name has another.
std::string digest_of(std::span<const double> values);

// `values` are rounded to `dtype` in the file. A .wav takes [channels, samples] and a sample rate.
void write_signal(PendingFile& file, SignalFormat format, const Signal& signal);

// The same by format: NumPy's own (numpy.org/doc/stable/reference/generated/numpy.lib.format.html), and libsndfile's.
Signal read_npy(const std::string& path);
Signal read_wav(const std::string& path);
void write_npy(PendingFile& file, const Signal& signal);
void write_wav(PendingFile& file, const Signal& signal);

// A real recording to verify with: the speech samples of Debian's alsa-utils, where they are installed.
inline constexpr const char* kRecordingFolder = "/usr/share/sounds/alsa";

// First channel of every .wav file in `folder`, one after the other by name; empty where there is none.
std::vector<double> read_recording(const std::string& folder);

}  // namespace danaus
