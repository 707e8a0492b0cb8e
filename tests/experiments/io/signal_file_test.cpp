// Users' files: what is read comes back, what is wrong is named.
#include "experiments/io/signal_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sndfile.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <tuple>

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
  for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64})
    for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{{6}, {2, 3}, {1, 2, 3}}) {
      const Signal signal{dtype, shape, {0, -1, 0.5, 65280, 0x1p-14, std::numeric_limits<double>::infinity()}, 0};
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

// The bytes that numpy.save writes for 1, 2, 3 and 4 of ml_dtypes.bfloat16.
TEST_F(SignalFile, NpyOfBf16IsThatOfMlDtypes) {
  std::string header = dictionary("<V2", "(4,)");
  header = header.substr(0, header.size() - 1) + std::string(128 - 10 - header.size(), ' ') + '\n';
  const std::string bytes = npy(header, std::string("\x80\x3f\x00\x40\x40\x40\x80\x40", 8));
  write_file(folder_ / "a.npy", bytes);
  const Signal read = read_signal(folder_ / "a.npy");
  EXPECT_EQ(read.dtype, Dtype::bf16);
  EXPECT_EQ(read.values, (std::vector<double>{1, 2, 3, 4}));
  write("b.npy", read);
  EXPECT_EQ(read_file(folder_ / "b.npy"), bytes);
}

// By way of fp32 these would become ties, and other numbers.
TEST_F(SignalFile, NpyIsRoundedOnce) {
  write("a.npy", {Dtype::bf16, {1}, {1 + 0x1p-8 + 0x1p-40}, 0});
  EXPECT_EQ(read_signal(folder_ / "a.npy").values, std::vector<double>{1 + 0x1p-7});
  write("a.npy", {Dtype::f16, {1}, {1 + 0x1p-11 + 0x1p-40}, 0});
  EXPECT_EQ(read_signal(folder_ / "a.npy").values, std::vector<double>{1 + 0x1p-10});
}

// Julia writes vectors so; Python 2 has longs.
TEST_F(SignalFile, NpyOfOneLongAxisHasNoOrder) {
  const std::string eight("\0\0\x80\x3f\0\0\0\x40", 8);
  for (const auto& [shape, fortran, version] : {std::tuple{"(2,)", "True", 1},
                                                {"(2,)", "True", 2},
                                                {"(2, 1)", "True", 1},
                                                {"(1, 2, 1)", "True", 1},
                                                {"(2L,)", "False", 1},
                                                {"(1L, 2L)", "False", 1}}) {
    write_file(folder_ / "a.npy", npy(dictionary("<f4", shape, fortran), eight, static_cast<char>(version)));
    EXPECT_EQ(read_signal(folder_ / "a.npy").values, (std::vector<double>{1, 2})) << shape << ' ' << version;
  }
}

TEST_F(SignalFile, NamesInCapitalsAreTheSame) {
  write("a.npy", {Dtype::f32, {1}, {1}, 0});
  write("a.wav", {Dtype::f32, {1, 1}, {0.5}, 8000});
  for (const char* ending : {".npy", ".wav"}) {
    std::string upper = ending;
    std::ranges::transform(upper, upper.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
    std::filesystem::rename(folder_ / std::string("a") + ending, folder_ / "A" + upper);
    EXPECT_EQ(read_signal(folder_ / "A" + upper).values, read_signal(folder_ / "A" + upper).values);
    EXPECT_TRUE(is_signal_file("A" + upper));
  }
  EXPECT_EQ(read_recording(folder_ / "").size(), 1) << "A.WAV";
  EXPECT_FALSE(is_signal_file("npy"));
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
  EXPECT_THAT(refusal("a.npy", npy(dictionary(">f4", "(2,)"), eight)),
              HasSubstr("'>f4' is big-endian, must be little-endian; array.astype('<f4') converts it"));
  for (const char* type : {"<i4", ">i4", "|b1", "<c8"})
    EXPECT_THAT(refusal("a.npy", npy(dictionary(type, "(2,)"), eight)),
                testing::AllOf(HasSubstr(text("unsupported type '", type, "'")),
                               HasSubstr("array.astype('<f4') converts real numbers")));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("|V2", "(4,)"), eight)),
              testing::AllOf(HasSubstr("type '|V2'"), HasSubstr("array.view(ml_dtypes.bfloat16)")));
  EXPECT_THAT(refusal("a.npy", npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,)}", eight)),
              HasSubstr("structured type"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<f2", "(2, 2)", "True"), eight)), HasSubstr("Fortran order"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<f4", "()"), eight)), HasSubstr("rank 0, must be from 1 to 3"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<f4", "(1, 1, 2, 1)"), eight)),
              HasSubstr("rank 4, must be from 1 to 3"));
  EXPECT_THAT(refusal("a.npy", npy(dictionary("<f4", "(-2,)"), eight)), HasSubstr("must be whole numbers"));
  for (const char* shape : {"(1 2)", "(,2)", "(2,,1)", "(2, x)", "(L,)", "(2LL,)"})
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

// A pipe that nobody writes to would be waited for.
TEST_F(SignalFile, RefusesWhatIsNoFile) {
  for (const char* name : {"pipe.npy", "pipe.wav"}) {
    const std::string path = folder_ / name;
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT([&] { read_signal(path); }, testing::ThrowsMessage<std::invalid_argument>(HasSubstr(
                                                "cannot read " + path + ": a pipe or device, must be a file")));
  }
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
  std::string no_rate = whole;
  no_rate.replace(24, 8, 8, '\0');
  EXPECT_THAT(refusal("b.wav", no_rate), HasSubstr("its header has no sample rate, or more than one data chunk"));
}

TEST_F(SignalFile, WavOf64BitFloatsIsNoticed) {
  SF_INFO info{};
  info.channels = 1;
  info.samplerate = 8000;
  for (const int type : {SF_FORMAT_FLOAT, SF_FORMAT_DOUBLE}) {
    info.format = SF_FORMAT_WAV | type;
    SNDFILE* file = sf_open((folder_ / "a.wav").c_str(), SFM_WRITE, &info);
    const double sample = 1. / 3;
    sf_write_double(file, &sample, 1);
    sf_close(file);
    EXPECT_THAT(read_signal(folder_ / "a.wav").notice,
                HasSubstr(type == SF_FORMAT_DOUBLE ? "a.wav has 64-bit floats" : ""));
    EXPECT_EQ(read_signal(folder_ / "a.wav").notice.empty(), type == SF_FORMAT_FLOAT);
  }
}

// 5 samples of 16 bits, 8 kHz, whose header says of lengths what it likes; `bits` 8: 3 samples.
std::string wav(std::uint32_t riff, std::uint32_t data, const std::string& samples, int bits = 16) {
  const auto number = [](std::uint32_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
  };
  return "RIFF" + number(riff, 4) + "WAVEfmt " + number(16, 4) + number(1, 2) + number(1, 2) + number(8000, 4) +
         number(8000 * bits / 8, 4) + number(bits / 8, 2) + number(bits, 2) + "data" + number(data, 4) + samples;
}

const std::string kFive("\0\x40\0\xe0\0\x10\0\0\0\x60", 10);
const std::vector<double> kFiveValues = {0.5, -0.25, 0.125, 0, 0.75};

// sox, others, arecord, newer arecord, ffmpeg, others; all with a notice.
TEST_F(SignalFile, WavOfAPipeIsReadToItsEnd) {
  for (const auto& [riff, data] : {std::pair{0x7ffff024u, 0x7ffff000u},
                                   {0x7fffffffu, 0x7fffffffu},
                                   {0x80000024u, 0x80000000u},
                                   {0x7fffff24u, 0x7fffff00u},
                                   {0xffffffffu, 0xffffffffu},
                                   {0xffffffffu, 0xffffffdbu}}) {
    write_file(folder_ / "a.wav", wav(riff, data, kFive));
    const Signal read = read_signal(folder_ / "a.wav");
    EXPECT_EQ(read.values, kFiveValues) << std::hex << riff;
    EXPECT_THAT(read.notice, HasSubstr(text(folder_ / "a.wav", ": its header has no length (RIFF size ", riff)));
  }
  write_file(folder_ / "a.wav", wav(46, 10, kFive));
  EXPECT_EQ(read_signal(folder_ / "a.wav").notice, "");
}

TEST_F(SignalFile, WavWithoutItsPadByteIsComplete) {
  const std::string three("\x40\x80\xc0", 3);
  for (const std::string& samples : {three, three + '\0'}) {
    write_file(folder_ / "a.wav", wav(40, 3, samples, 8));
    EXPECT_EQ(read_signal(folder_ / "a.wav").values, (std::vector<double>{-0.5, 0, 0.5}));
  }
  EXPECT_THAT(refusal("a.wav", wav(40, 4, three, 8)), HasSubstr("truncated, 47 bytes, must be the 48"));
  EXPECT_THAT(refusal("a.wav", wav(46, 10, kFive.substr(0, 9))), HasSubstr("truncated"));
}

TEST_F(SignalFile, WavThatWasNeverClosedIsRefusedByItsHeader) {
  EXPECT_THAT(refusal("a.wav", wav(0, 0, kFive)),
              HasSubstr("its header has a RIFF size of 0 and a data size of 0, must be those of its 54 bytes"));
  EXPECT_THAT(refusal("a.wav", wav(36, 0, kFive)), HasSubstr("sox --ignore-length IN OUT mends it"));
  write_file(folder_ / "a.wav", wav(0, 10, kFive));
  EXPECT_EQ(read_signal(folder_ / "a.wav").values, kFiveValues) << "where its samples are is said";
  write_file(folder_ / "a.wav", wav(36, 0, ""));
  EXPECT_EQ(read_signal(folder_ / "a.wav").shape, (std::vector<std::int64_t>{1, 0}));
}

// 64-bit lengths stand in a chunk of their own.
TEST_F(SignalFile, WavOf64BitLengthsIsReadAndHeldToThem) {
  std::string whole = wav(0xffffffff, 0xffffffff, kFive);
  const std::string sizes = std::string("R\0\0\0\0\0\0\0", 8) + std::string("\n\0\0\0\0\0\0\0", 8) +
                            std::string("\5\0\0\0\0\0\0\0\0\0\0\0", 12);
  whole = "RF64" + whole.substr(4, 8) + "ds64" + std::string("\x1c\0\0\0", 4) + sizes + whole.substr(12);
  write_file(folder_ / "a.wav", whole);
  EXPECT_EQ(read_signal(folder_ / "a.wav").values, kFiveValues);
  EXPECT_EQ(read_signal(folder_ / "a.wav").notice, "");
  EXPECT_THAT(refusal("b.wav", whole.substr(0, whole.size() - 4)), HasSubstr("truncated, 86 bytes, must be the 90"));
  EXPECT_THAT(refusal("b.wav", whole.substr(0, whole.size() - 1)), HasSubstr("truncated"));
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
