// Users' files: what is read comes back, what is wrong is named.
#include "experiments/io/signal_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sndfile.h>

#include <cmath>
#include <limits>

#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

std::string npy(const std::string& dictionary, const std::string& data, char version = 1) {
  const auto length = static_cast<std::uint32_t>(dictionary.size());
  std::string bytes = "\x93NUMPY";
  bytes += {version, '\0', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  if (version > 1) bytes += {static_cast<char>(length >> 16), '\0'};
  return bytes + dictionary + data;
}

std::string dictionary(const std::string& type, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

class SignalFile : public testing::Test {
 protected:
  std::string refusal(const std::string& name, const std::string& bytes) {
    write_file(folder_ / name, bytes);
    try {
      read_signal(folder_ / name);
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr(folder_ / name));
      return error.what();
    }
    return "";
  }

  void write(const std::string& name, const Signal& signal) {
    PendingFile file(folder_ / name);
    write_signal(file, signal_format(name), signal);
    file.commit();
  }

  Folder folder_;
};

TEST_F(SignalFile, NpyRoundTripsEveryTypeAndRank) {
  for (Dtype dtype : {Dtype::f16, Dtype::f32, Dtype::f64})
    for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{{6}, {2, 3}, {1, 2, 3}}) {
      const Signal signal{dtype, shape, {0, -1, 0.5, 65504, 0x1p-14, std::numeric_limits<double>::infinity()}, 0};
      write("a.npy", signal);
      const Signal read = read_signal(folder_ / "a.npy");
      EXPECT_EQ(read.dtype, dtype);
      EXPECT_EQ(read.shape, shape);
      EXPECT_EQ(read.values, signal.values);
    }
}

TEST_F(SignalFile, NpyLargerThanOneChunkRoundTrips) {
  Signal signal{Dtype::f32, {150001}, std::vector<double>(150001), 0};
  for (std::size_t i = 0; i < signal.values.size(); ++i) signal.values[i] = static_cast<double>(i);
  write("a.npy", signal);
  EXPECT_EQ(read_signal(folder_ / "a.npy").values, signal.values);
}

TEST_F(SignalFile, NpyIsWhatNumpyWrites) {
  write("a.npy", {Dtype::f16, {3}, {1, 2, -2}, 0});
  std::string header = dictionary("<f2", "(3,)");
  header = header.substr(0, header.size() - 1) + std::string(128 - 10 - header.size(), ' ') + '\n';
  EXPECT_EQ(read_file(folder_ / "a.npy"), npy(header, std::string("\x00\x3c\x00\x40\x00\xc0", 6)));
}

TEST_F(SignalFile, NpyVersion2IsRead) {
  write_file(folder_ / "a.npy", npy(dictionary("<f2", "(1, 1)"), std::string("\x00\x3c", 2), 2));
  EXPECT_EQ(read_signal(folder_ / "a.npy").values, std::vector<double>{1});
}

TEST_F(SignalFile, RefusesBadNpyByName) {
  const std::string eight(8, '\0');
  EXPECT_THAT(refusal("a.npy", ""), HasSubstr("not a .npy file"));
  EXPECT_THAT(refusal("a.npy", "PK\x03\x04 something else"), HasSubstr("not a .npy file"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<f4", "(2,)"), eight).substr(0, 9)),
              HasSubstr("inside its .npy header"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<f4", "(2,)"), eight).substr(0, 40)),
              HasSubstr("inside its .npy header"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<f4", "(2,)"), eight.substr(1))),
              HasSubstr("truncated, 7 bytes of data, must be 8"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<f4", "(2,)"), eight + '\0')), HasSubstr("9 bytes of data, must be 8"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary(">f4", "(2,)"), eight)), HasSubstr("'>f4' is big-endian"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<i4", "(2,)"), eight)), HasSubstr("unsupported type '<i4'"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("|V2", "(4,)"), eight)), HasSubstr("unsupported type '|V2'"));
  EXPECT_THAT(refusal("a.npy", npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,)}", eight)),
              HasSubstr("structured type"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<f4", "(2, 1)", "True"), eight)), HasSubstr("Fortran order"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<f4", "()"), eight)), HasSubstr("rank 0, must be from 1 to 3"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<f4", "(1, 1, 2, 1)"), eight)),
              HasSubstr("rank 4, must be from 1 to 3"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<f4", "(-2,)"), eight)), HasSubstr("must be whole numbers"));
  for (const char* shape : {"(1 2)", "(,2)", "(2,,1)", "(2, x)", "(2L,)"})
    EXPECT_THAT(refusal("a.npy", npy(dictionary("<f4", shape), eight)), HasSubstr("whole numbers with commas"))
        << shape;
  EXPECT_THAT(refusal("a.npy", npy("{'descr': '<f4'}", eight)), HasSubstr("has no 'shape'"));
  EXPECT_THAT(refusal("a.npy", npy("{'descr': '<f4', 'shape': (2", eight)), HasSubstr("malformed at (2"));
  EXPECT_THAT(refusal("a.npy", npy("{'descr': '<f4', 'shape':", eight)), HasSubstr("has no 'shape'"));
  EXPECT_THAT(refusal("a.npy", npy("'descr'", eight)), HasSubstr("has no 'descr'"));
  EXPECT_THAT(refusal("a.npy", npy(std::string(100000, ' '), eight, 2)), HasSubstr("header of 100000 bytes"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<f4", "(4611686018427387904, 4)"), eight)), HasSubstr("truncated"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<f4", "(2,)"), eight, 9)), HasSubstr(".npy version 9"));
  EXPECT_THAT(refusal("a.mp3", ""), HasSubstr("must end in .npy or .wav"));
}

TEST_F(SignalFile, NamesAFileThatIsNotThere) {
  EXPECT_THROW(read_signal(folder_ / "none.npy"), std::invalid_argument);
  EXPECT_THROW(read_signal(folder_ / "none.wav"), std::invalid_argument);
}

TEST_F(SignalFile, WavRoundTripsChannelsAndRate) {
  const Signal signal{Dtype::f32, {2, 3}, {0, 0.5, -0.25, 1.5, -2, 0.125}, 44100};
  write("a.wav", signal);
  const Signal read = read_signal(folder_ / "a.wav");
  EXPECT_EQ(read.shape, signal.shape);
  EXPECT_EQ(read.values, signal.values);
  EXPECT_EQ(read.sample_rate, 44100);
  const std::string first = read_file(folder_ / "a.wav");
  write("a.wav", signal);
  EXPECT_EQ(read_file(folder_ / "a.wav"), first);
}

TEST_F(SignalFile, WavIntegersAreScaledToOne) {
  SF_INFO info{};
  info.channels = 1;
  info.samplerate = 8000;
  info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  SNDFILE* file = sf_open((folder_ / "a.wav").c_str(), SFM_WRITE, &info);
  const short samples[] = {16384, -32768};
  sf_write_short(file, samples, 2);
  sf_close(file);
  EXPECT_EQ(read_signal(folder_ / "a.wav").values, (std::vector<double>{0.5, -1}));
}

TEST_F(SignalFile, RefusesBadWavByName) {
  write("a.wav", {Dtype::f32, {1, 100}, std::vector<double>(100), 8000});
  const std::string whole = read_file(folder_ / "a.wav");
  EXPECT_THAT(refusal("b.wav", whole.substr(0, whole.size() - 10)), HasSubstr("truncated"));
  EXPECT_THAT(refusal("b.wav", "RIFF"), HasSubstr("cannot read"));
  EXPECT_THAT(refusal("b.wav", "this is no sound at all"), HasSubstr("cannot read"));
}

TEST_F(SignalFile, AppearsCompleteOrNotAtAll) {
  write_file(folder_ / "y.npy", "old");
  {
    PendingFile file(folder_ / "y.npy");
    file.write("new, but never committed");
  }
  EXPECT_EQ(read_file(folder_ / "y.npy"), "old");
  EXPECT_EQ(folder_.files().size(), 1);
}

TEST_F(SignalFile, WhatIsReplacedKeepsItsMode) {
  write_file(folder_ / "y.npy", "old");
  const auto mode = std::filesystem::perms(0604);
  std::filesystem::permissions(folder_ / "y.npy", mode);
  write("y.npy", {Dtype::f32, {1}, {1}, 0});
  EXPECT_EQ(std::filesystem::status(folder_ / "y.npy").permissions(), mode);
  EXPECT_EQ(read_signal(folder_ / "y.npy").values, std::vector<double>{1});
}

TEST_F(SignalFile, AFullDiskIsReported) {
  PendingFile file("/dev/full");
  EXPECT_THROW(write_signal(file, SignalFormat::npy, {Dtype::f64, {1}, {1}, 0}), std::invalid_argument);
  EXPECT_THROW(write_signal(file, SignalFormat::wav, {Dtype::f32, {1, 1}, {1}, 8000}), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
