// .wav files, through libsndfile.
#include <sndfile.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>

#include "experiments/cli/memory.hpp"
#include "experiments/io/signal_file.hpp"

namespace danaus {
namespace {

struct Closer {
  void operator()(SNDFILE* file) const { sf_close(file); }
};
using SoundFile = std::unique_ptr<SNDFILE, Closer>;

constexpr std::int64_t kFramesAtOnce = 1 << 14;

// libsndfile reads what there is of a truncated file without a word; the RIFF header knows how long it should be.
void check_complete(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path))
    fail("cannot read ", path, ": ", file ? "a directory" : std::strerror(errno));
  std::array<char, 8> start{};
  file.read(start.data(), start.size());
  if (!file || std::string_view(start.data(), 4) != "RIFF") return;  // libsndfile names what it is instead
  std::uint32_t riff_bytes;
  std::memcpy(&riff_bytes, &start[4], sizeof riff_bytes);
  const auto expected = std::uintmax_t{riff_bytes} + start.size();
  const bool unknown = riff_bytes == std::numeric_limits<std::uint32_t>::max();  // written by a program that streams
  if (!unknown && std::filesystem::file_size(path) < expected)
    fail(path, ": truncated, ", std::filesystem::file_size(path), " bytes, must be ", expected);
}

}  // namespace

Signal read_wav(const std::string& path) {
  check_complete(path);
  SF_INFO info{};
  const SoundFile file(sf_open(path.c_str(), SFM_READ, &info));
  if (!file) fail("cannot read ", path, ": ", sf_strerror(nullptr));
  const double count = static_cast<double>(info.frames) * info.channels;
  require_memory("reading " + path, count * sizeof(double));

  Signal signal{
      Dtype::f32, {info.channels, info.frames}, std::vector<double>(static_cast<std::size_t>(count)), info.samplerate};
  std::vector<double> interleaved(static_cast<std::size_t>(kFramesAtOnce * info.channels));
  for (std::int64_t done = 0; done < info.frames;) {
    const std::int64_t frames =
        sf_readf_double(file.get(), interleaved.data(), std::min(kFramesAtOnce, info.frames - done));
    if (frames <= 0) fail("cannot read ", path, ": it ends after ", done, " of ", info.frames, " samples");
    for (std::int64_t frame = 0; frame < frames; ++frame)
      for (int channel = 0; channel < info.channels; ++channel)
        signal.values[channel * info.frames + done + frame] = interleaved[frame * info.channels + channel];
    done += frames;
  }
  return signal;
}

void write_wav(PendingFile& file, const Signal& signal) {
  const int channels = static_cast<int>(signal.shape.at(0));
  const std::int64_t frames = signal.shape.at(1);
  const double data_bytes = static_cast<double>(frames) * channels * sizeof(float);
  if (data_bytes > std::numeric_limits<std::uint32_t>::max() - 1000.)
    fail("wav: ", channels, " channels of ", frames, " samples, must be less than 4 GiB of data; write .npy instead");
  SF_INFO info{};
  info.channels = channels;
  info.samplerate = signal.sample_rate;
  info.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
  SoundFile sound(sf_open(file.written_path().c_str(), SFM_WRITE, &info));
  if (!sound) fail("cannot write ", file.path(), ": ", sf_strerror(nullptr));
  sf_command(sound.get(), SFC_SET_ADD_PEAK_CHUNK, nullptr, SF_FALSE);  // it holds the time: the same y, the same file

  std::vector<float> interleaved(static_cast<std::size_t>(kFramesAtOnce * channels));
  for (std::int64_t done = 0; done < frames;) {
    const std::int64_t count = std::min(kFramesAtOnce, frames - done);
    for (std::int64_t frame = 0; frame < count; ++frame)
      for (int channel = 0; channel < channels; ++channel)
        interleaved[frame * channels + channel] = static_cast<float>(signal.values[channel * frames + done + frame]);
    if (sf_writef_float(sound.get(), interleaved.data(), count) != count)
      fail("cannot write ", file.path(), ": ", sf_strerror(sound.get()));
    done += count;
  }
  if (const int error = sf_close(sound.release())) fail("cannot write ", file.path(), ": ", sf_error_number(error));
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
