// danaus convolve, from files to files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "experiments/cli/environment.hpp"
#include "experiments/cli/interrupt.hpp"
#include "experiments/io/signal_file.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

class Convolve : public testing::Test {
 protected:
  std::string put(const std::string& name, Dtype dtype, const std::vector<std::int64_t>& shape,
                  std::vector<double> values = {}, int rate = 0) {
    if (values.empty()) {
      std::int64_t count = 1;
      for (std::int64_t extent : shape) count *= extent;
      for (std::int64_t i = 0; i < count; ++i)
        values.push_back(std::round(8 * std::sin(1.7 * static_cast<double>(i + 1) * name[0])));
    }
    PendingFile file(folder_ / name);
    write_signal(file, signal_format(name), {dtype, shape, values, rate});
    file.commit();
    return folder_ / name;
  }

  Ran convolve(std::vector<std::string> words) {
    words.insert(words.begin(), "convolve");
    return run(words);
  }

  // Exit 2, the message, and neither y nor anything else was written.
  void refuses(const std::vector<std::string>& words, const std::string& message) {
    const std::size_t files = folder_.files().size();
    const Ran ran = convolve(words);
    EXPECT_EQ(ran.code, 2) << message;
    EXPECT_EQ(ran.out, "") << message;
    EXPECT_THAT(ran.err, HasSubstr(message));
    EXPECT_EQ(folder_.files().size(), files) << message;
  }

  Folder folder_;
  std::string y_ = folder_ / "y.npy";
};

// Small integers: the sums are exact in every type, so the answer must be the direct sum's to the last bit, up to the
// transform's own rounding, which fp32 storage takes away.
TEST_F(Convolve, IsTheDirectSumInEveryModeMethodAndShape) {
  constexpr std::int64_t kBatch = 2, kChannels = 3, kLength = 20;
  const auto u = put("u.npy", Dtype::f32, {kBatch, kChannels, kLength});
  const std::vector<double> samples = read_signal(u).values;
  for (std::int64_t filter_length : {1, 7, 33})
    for (const char* mode : {"causal", "circular"})
      for (const char* method : {"direct", "fftw", "monarch"}) {
        const auto k = put("k.npy", Dtype::f64, {kChannels, filter_length});
        const std::vector<double> filter = read_signal(k).values;
        const Ran ran = convolve({u, k, "-o", y_, "--mode", mode, "--method", method});
        ASSERT_EQ(ran.code, 0) << ran.err;
        const Signal y = read_signal(y_);
        EXPECT_EQ(y.dtype, Dtype::f32);
        ASSERT_EQ(y.shape, (std::vector<std::int64_t>{kBatch, kChannels, kLength}));
        for (std::int64_t row = 0; row < kBatch * kChannels; ++row)
          for (std::int64_t n = 0; n < kLength; ++n) {
            double sum = 0;
            for (std::int64_t m = 0; m < filter_length; ++m) {
              if (n < m && mode == std::string("causal")) continue;
              const std::int64_t at = ((n - m) % kLength + kLength) % kLength;
              sum += filter[row % kChannels * filter_length + m] * samples[row * kLength + at];
            }
            EXPECT_NEAR(y.values[row * kLength + n], sum, 1e-4) << mode << ' ' << method << " K=" << filter_length;
          }
      }
}

TEST_F(Convolve, GatesMultiplyBeforeAndAfter) {
  const auto u = put("u.npy", Dtype::f64, {3}, {1, 2, 3}), k = put("k.npy", Dtype::f64, {2}, {1, 10});
  const auto w = put("w.npy", Dtype::f64, {3}, {1, 0, 2}), v = put("v.npy", Dtype::f64, {3}, {2, 3, -1});
  ASSERT_EQ(convolve({u, k, "-o", y_, "--pregate", w, "--postgate", v, "--method", "direct"}).code, 0);
  EXPECT_EQ(read_signal(y_).values, (std::vector<double>{2, 30, -6}));
}

TEST_F(Convolve, OneFilterServesEveryChannel) {
  const auto u = put("u.npy", Dtype::f64, {2, 2}, {1, 2, 3, 4});
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{{2}, {1, 2}}) {
    const auto k = put("k.npy", Dtype::f64, shape, {1, 1});
    ASSERT_EQ(convolve({u, k, "-o", y_, "--method", "direct"}).code, 0);
    EXPECT_EQ(read_signal(y_).values, (std::vector<double>{1, 3, 3, 7}));
  }
}

TEST_F(Convolve, KeepsTypeAndStatesTheError) {
  const auto u = put("u.npy", Dtype::f16, {100}), k = put("k.npy", Dtype::f32, {10}, std::vector<double>(10, 0.1));
  const Ran ran = convolve({u, k, "-o", y_});
  EXPECT_EQ(read_signal(y_).dtype, Dtype::f16);
  EXPECT_THAT(ran.out, HasSubstr("as written (f16)"));
  EXPECT_THAT(ran.out, HasSubstr("the direct sum, all 100 samples"));
  EXPECT_THAT(convolve({u, k, "-o", y_, "--method", "direct"}).out, HasSubstr("FFTW, all samples"));
  const Json row = Json::parse(convolve({u, k, "-o", y_, "--json", "-"}).out);
  EXPECT_EQ(row.at("kind"), "convolve");
  EXPECT_LT(row.at("verify").at("rel_l2"), 1e-3);
}

TEST_F(Convolve, WavInWavOut) {
  const auto u = put("u.wav", Dtype::f32, {2, 4}, {0.5, 0, 0, 0, 0, 0.25, 0, 0}, 8000);
  const auto k = put("k.wav", Dtype::f32, {1, 2}, {1, -3}, 8000);
  const Ran ran = convolve({u, k, "-o", folder_ / "y.wav", "--method", "direct"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Signal y = read_signal(folder_ / "y.wav");
  EXPECT_EQ(y.sample_rate, 8000);
  EXPECT_EQ(y.values, (std::vector<double>{0.5, -1.5, 0, 0, 0, 0.25, -0.75, 0}));
  EXPECT_THAT(ran.err, HasSubstr("1 samples"));
  EXPECT_THAT(ran.err, HasSubstr("clip"));
  ASSERT_EQ(convolve({u, k, "-o", y_}).code, 0);
  EXPECT_EQ(read_signal(y_).shape, (std::vector<std::int64_t>{2, 4}));
}

TEST_F(Convolve, SaysWhatOverflowsItsType) {
  const auto u = put("u.npy", Dtype::f16, {2}, {60000, 1}), k = put("k.npy", Dtype::f32, {1}, {2});
  EXPECT_THAT(convolve({u, k, "-o", y_}).err, HasSubstr("1 samples of " + y_ + " are too large for f16"));
}

TEST_F(Convolve, RefusesWhatDoesNotMatch) {
  const auto u = put("u.npy", Dtype::f32, {2, 8}), k = put("k.npy", Dtype::f32, {2, 4});
  const auto wav = put("u.wav", Dtype::f32, {2, 8}, {}, 48000);
  refuses({u, put("k3.npy", Dtype::f32, {3, 4}), "-o", y_},
          "is [3, 4], must have one row, or as many as u [2, 8] has channels, 2");
  refuses({u, put("k4.npy", Dtype::f32, {1, 2, 4}), "-o", y_}, "is [1, 2, 4], must be [K] or [H, K]");
  refuses({u, k, "-o", y_, "--pregate", put("g.npy", Dtype::f32, {2, 7})},
          "pregate " + (folder_ / "g.npy") + " is [2, 7], must be [2, 8] like u");
  refuses({wav, put("k.wav", Dtype::f32, {1, 4}, {}, 44100), "-o", y_}, "has 44100 Hz, must have the 48000 Hz of");
  refuses({u, k, "-o", folder_ / "y.wav"}, "needs a sample rate");
  refuses({u, k, "-o", folder_ / "y.txt"}, "must end in .npy or .wav");
  refuses({u, k, "-o", folder_ / "none/y.npy"}, "No such file or directory");
  refuses({u, k, "-o", y_, "--mode", "linear"}, "mode 'linear', must be causal or circular");
  refuses({u, k, "-o", y_, "--method", "magic"}, "magic");
  refuses({folder_ / "absent.npy", k, "-o", y_}, "absent.npy");
  refuses({put("empty.npy", Dtype::f32, {2, 0}, {0}), k, "-o", y_}, "");
}

TEST_F(Convolve, RefusesAnEmptyArray) {
  PendingFile file(folder_ / "u.npy");
  write_signal(file, SignalFormat::npy, {Dtype::f32, {0}, {}, 0});
  file.commit();
  refuses({folder_ / "u.npy", put("k.npy", Dtype::f32, {1}), "-o", y_}, "L=0, must be at least 1");
  refuses({put("v.npy", Dtype::f32, {1}), folder_ / "u.npy", "-o", y_}, "K=0, must be at least 1");
}

TEST_F(Convolve, NonFiniteValuesOnlyOnRequest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto u = put("u.npy", Dtype::f32, {4}, {1, nan, 3, INFINITY}), k = put("k.npy", Dtype::f32, {1}, {1});
  refuses({u, k, "-o", y_}, "has 2 NaN or infinite values, the first at index 1, must be finite");
  refuses({k, u, "-o", y_}, "has 2 NaN or infinite values");
  const Ran ran = convolve({u, k, "-o", y_, "--allow-nonfinite", "--method", "direct"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("notice: "));
  EXPECT_THAT(ran.out, HasSubstr("not stated"));
  EXPECT_TRUE(std::isnan(read_signal(y_).values[1]));
}

TEST_F(Convolve, AnInterruptWritesNothing) {
  const auto u = put("u.npy", Dtype::f32, {4}), k = put("k.npy", Dtype::f32, {1});
  set_interrupt(true);
  const Ran ran = convolve({u, k, "-o", y_});
  set_interrupt(false);
  EXPECT_EQ(ran.code, 130);
  EXPECT_THAT(ran.err, HasSubstr("nothing was written"));
  EXPECT_EQ(folder_.files().size(), 2);
}

// A sum of 10^12 products, which takes many minutes: the test ends because it is broken off.
TEST_F(Convolve, ADirectSumOfOneChannelHearsAnInterrupt) {
  constexpr std::int64_t kLength = 1 << 20;
  const auto u = put("u.npy", Dtype::f32, {kLength}), k = put("k.npy", Dtype::f32, {kLength});
  for (const char* mode : {"causal", "circular"}) {
    set_interrupt(true);
    const Ran ran = convolve({u, k, "-o", y_, "--method", "direct", "--mode", mode});
    set_interrupt(false);
    EXPECT_EQ(ran.code, 130);
    EXPECT_EQ(folder_.files().size(), 2);
  }
}

// 20000 x 20000 products are several pieces.
TEST_F(Convolve, ADirectSumInPiecesIsTheWholeOne) {
  constexpr std::int64_t kLength = 20000;
  const auto u = put("u.npy", Dtype::f64, {kLength}), k = put("k.npy", Dtype::f64, {kLength});
  for (const char* mode : {"causal", "circular"}) {
    ASSERT_EQ(convolve({u, k, "-o", y_, "--method", "direct", "--mode", mode}).code, 0);
    const std::vector<double> direct = read_signal(y_).values;
    ASSERT_EQ(convolve({u, k, "-o", y_, "--mode", mode}).code, 0);
    const std::vector<double> by_fftw = read_signal(y_).values;
    for (std::int64_t n = 0; n < kLength; ++n) ASSERT_NEAR(direct[n], by_fftw[n], 1e-6) << mode << ' ' << n;
  }
}

TEST_F(Convolve, RefusesAFileThatIsTwoThings) {
  const auto u = put("u.wav", Dtype::f32, {1, 8}, {}, 8000), k = put("k.npy", Dtype::f32, {4});
  std::filesystem::create_hard_link(u, folder_ / "link.wav");
  const std::string before = read_file(u);
  refuses({u, k, "-o", folder_ / "y.wav", "--json", u}, "U " + u + " is the file of --json, must be another one");
  refuses({u, k, "-o", u}, "--output " + u + " is the file of U");
  refuses({u, k, "-o", folder_ / "link.wav"}, "is the file of U");
  refuses({u, k, "-o", y_, "--pregate", y_}, "--output " + y_ + " is the file of --pregate");
  refuses({u, k, "-o", y_, "--json", folder_ / "." + "/y.npy"}, "is the file of --json");
  EXPECT_EQ(read_file(u), before);
}

TEST_F(Convolve, AHeadersEscapeCodesDoNotReachTheTerminal) {
  std::string header = "{'descr': '\x1b[31m\xc2\x9b', 'fortran_order': False, 'shape': (1,), }\n";
  write_file(folder_ / "u.npy",
             std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header + "1234");
  const Ran ran = convolve({folder_ / "u.npy", put("k.npy", Dtype::f32, {1}), "-o", y_});
  EXPECT_THAT(ran.err, HasSubstr("unsupported type '\\x1b[31m\\x9b'"));
  EXPECT_EQ(ran.err.find('\x1b'), std::string::npos);
}

TEST_F(Convolve, AFullDiskLeavesNothing) {
  const auto u = put("u.npy", Dtype::f32, {4}), k = put("k.npy", Dtype::f32, {1});
  std::filesystem::create_symlink("/dev/full", folder_ / "full.npy");
  refuses({u, k, "-o", folder_ / "full.npy"}, "No space left on device");
}

}  // namespace
}  // namespace danaus
