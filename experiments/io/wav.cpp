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
#include <optional>
#include <utility>

#include "experiments/cli/memory.hpp"
#include "experiments/io/signal_file.hpp"
#include "reference/file_name.hpp"

namespace danaus {
namespace {

struct Closer {
  void operator()(SNDFILE* file) const { sf_close(file); }
};
using SoundFile = std::unique_ptr<SNDFILE, Closer>;

constexpr std::int64_t kFramesAtOnce = 1 << 14;

// Lengths in bytes that a header states.
struct StatedSizes {
  std::uint64_t riff, data;  // all but the first 8 bytes; the samples
};

// Nothing where the file is neither RIFF nor RF64.
std::optional<StatedSizes> stated_sizes(const std::string& path, SNDFILE* sound) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 36> start{};
  file.read(start.data(), start.size());
  StatedSizes sizes{};
  const std::string_view text(start.data(), start.size());
  if (text.starts_with("RF64") && text.substr(12, 4) == "ds64") {
    std::memcpy(&sizes.riff, &start[20], sizeof sizes.riff);
    std::memcpy(&sizes.data, &start[28], sizeof sizes.data);
    return sizes;
  }
  if (!text.starts_with("RIFF")) return std::nullopt;
  std::uint32_t riff;
  std::memcpy(&riff, &start[4], sizeof riff);
  SF_CHUNK_INFO chunk{};
  std::memcpy(chunk.id, "data", chunk.id_size = 4);
  if (SF_CHUNK_ITERATOR* const found = sf_get_chunk_iterator(sound, &chunk)) sf_get_chunk_size(found, &chunk);
  return StatedSizes{riff, chunk.datalen};
}

// A program that writes to a pipe cannot go back to its header. It leaves a number near 2 or 4 GiB there: sox
// 0x7ffff024, arecord 0x80000024, ffmpeg 0xffffffff, others 0x7fffffff.
bool is_of_pipe(std::uint64_t riff) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 31, kAll = std::uint64_t{1} << 32, kHeader = 4096;
  return (riff >= kHalf - kHeader && riff <= kHalf + kHeader) || (riff >= kAll - kHeader && riff < kAll);
}

// libsndfile reads what there is of a truncated file without a word. The header knows how long the file should be.
// Returns a notice for the user, or nothing.
std::string check_complete(const std::string& path, SNDFILE* sound) {
  const auto stated = stated_sizes(path, sound);
  if (!stated) return "";
  constexpr std::uint64_t kBeforeSize = 8;
  const std::uint64_t bytes = std::filesystem::file_size(path), after = bytes - kBeforeSize;
  const auto& [riff, data] = *stated;
  if (data == 0 && after > riff)
    fail(path, ": its header has a RIFF size of ", riff, " and a data size of 0, must be those of its ", bytes,
         " bytes (a program that never closed it leaves 0); sox --ignore-length IN OUT mends it");
  const bool is_pad_missing = after + 1 == riff && data % 2 == 1;  // the samples are there
  if (after >= riff || is_pad_missing) return "";
  if (!is_of_pipe(riff))
    fail(path, ": truncated, ", bytes, " bytes, must be the ", riff + kBeforeSize, " of its header");
  return text(path, ": its header has no length (RIFF size ", riff,
              ", as a program leaves it that writes to a pipe); all samples up to its end are taken");
}

}  // namespace

Signal read_wav(const std::string& path) {
  require_file(path);
  if (!std::ifstream(path, std::ios::binary)) fail("cannot read ", path, ": ", std::strerror(errno));
  SF_INFO info{};
  const SoundFile file(sf_open(path.c_str(), SFM_READ, &info));
  if (!file) {
    const std::string_view reason = sf_strerror(nullptr);
    if (reason.find("SF_INFO") != reason.npos)  // libsndfile's name for what the header left it without
      fail("cannot read ", path, ": its header has no sample rate, or more than one data chunk, must have one of each");
    fail("cannot read ", path, ": ", reason);
  }
  std::string notice = check_complete(path, file.get());
  if ((info.format & SF_FORMAT_SUBMASK) == SF_FORMAT_DOUBLE)
    notice += text(notice.empty() ? "" : "; ", path, " has 64-bit floats, of which y is computed; y is f32");
  const double count = static_cast<double>(info.frames) * info.channels;
  require_memory("reading " + path, count * sizeof(double));

  Signal signal{Dtype::f32,
                {info.channels, info.frames},
                std::vector<double>(static_cast<std::size_t>(count)),
                info.samplerate,
                std::move(notice)};
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
    if (has_ending(entry.path().string(), ".wav")) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<double> samples;
  for (const std::string& path : paths) {
    const Signal signal = read_wav(path);
    samples.insert(samples.end(), signal.values.begin(), signal.values.begin() + signal.shape.at(1));
  }
  return samples;
}

}  // namespace danaus
