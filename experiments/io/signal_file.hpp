// A user's own arrays: .npy (fp16, bf16 as ml_dtypes saves it, fp32, fp64) and .wav files.
//
//                read as                                                       written as
//   .npy         rank 1 to 3, little-endian, C order; the type becomes dtype   version 1.0, the type of `dtype`
//   .wav         [channels, samples], integers scaled to -1 .. 1, dtype f32    32-bit float
//
// Anything else is refused by name (std::invalid_argument with the path, the value and the rule); nothing is converted
// silently.
#pragma once

#include <cstdint>
#include <ostream>
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
  std::string notice = {};          // what the user should know of the file; empty: nothing
};

enum class SignalFormat { npy, wav };

// By the name's ending, in small letters or capitals. The latter throws where it is neither .npy nor .wav.
bool is_signal_file(std::string_view word);
SignalFormat signal_format(const std::string& path);

// Throws where the path is there and no file: a pipe has no size to hold a header to, and may wait forever.
void require_file(const std::string& path);

Signal read_signal(const std::string& path);

// The same, and its notice goes to `notices`; throws, with `whose` and path, where there is no value or one is not
// finite.
Signal read_finite_signal(std::string_view whose, const std::string& path, std::ostream& notices);

// A line, where there is one.
void print_notice(std::ostream& out, const Signal& signal);

// A line where there are more rows than samples in a row: other programs write [frames, channels].
void print_frames_notice(std::ostream& out, const std::string& path, const Signal& signal);

std::string shape_text(const std::vector<std::int64_t>& shape);  // [2, 3]

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
