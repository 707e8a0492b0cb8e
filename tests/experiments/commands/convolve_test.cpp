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

// As NumPy does: one channel or row of one array serves all of another's.
TEST_F(Convolve, RowsAndFiltersBroadcast) {
  const auto k = put("k.npy", Dtype::f64, {3, 2}, {1, 1, 2, 0, 0, 1});
  const std::vector<double> y = {1, 3, 2, 4, 0, 1};  // of u = 1, 2 with each filter
  using Shape = std::vector<std::int64_t>;
  for (const auto& [shape, of_y] : {std::pair{Shape{2}, Shape{3, 2}}, {{1, 2}, {3, 2}}, {{1, 1, 2}, {1, 3, 2}}}) {
    ASSERT_EQ(convolve({put("u.npy", Dtype::f64, shape, {1, 2}), k, "-o", y_}).code, 0);
    EXPECT_EQ(read_signal(y_).shape, of_y);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(read_signal(y_).values[i], y[i], 1e-12) << i;
  }
  const auto u = put("u.npy", Dtype::f64, {2, 1, 2}, {1, 2, 3, 4});
  ASSERT_EQ(convolve({u, k, "-o", y_, "--method", "direct"}).code, 0);
  EXPECT_EQ(read_signal(y_).shape, (Shape{2, 3, 2}));
  EXPECT_EQ(read_signal(y_).values, (std::vector<double>{1, 3, 2, 4, 0, 1, 3, 7, 6, 8, 0, 3}));
  const auto one = put("one.npy", Dtype::f64, {1, 3, 2}, {1, 1, 2, 0, 0, 1}),
             v = put("v.npy", Dtype::f64, {2}, {1, -1});
  ASSERT_EQ(convolve({u, one, "-o", y_, "--method", "direct", "--postgate", v}).code, 0);
  EXPECT_EQ(read_signal(y_).values, (std::vector<double>{1, -3, 2, -4, 0, -1, 3, -7, 6, -8, 0, -3}));
}

// To the shape of y, on any axis.
TEST_F(Convolve, GatesBroadcast) {
  using Shape = std::vector<std::int64_t>;
  const auto u = put("u.npy", Dtype::f64, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto one = put("d.npy", Dtype::f64, {1}, {1});
  const auto gated = [&](const Shape& shape, const std::vector<double>& gate) {
    const Ran ran =
        convolve({u, one, "-o", y_, "--method", "direct", "--postgate", put("w.npy", Dtype::f64, shape, gate)});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return read_signal(y_).values;
  };
  EXPECT_EQ(gated({2}, {1, -1}), (std::vector<double>{1, -2, 3, -4, 5, -6, 7, -8}));
  EXPECT_EQ(gated({2, 2}, {1, 0, 0, 1}), (std::vector<double>{1, 0, 0, 4, 5, 0, 0, 8}));
  EXPECT_EQ(gated({2, 1, 2}, {1, 0, 0, 1}), (std::vector<double>{1, 0, 3, 0, 0, 6, 0, 8}));
  EXPECT_EQ(gated({1, 2, 1}, {1, -1}), (std::vector<double>{1, 2, -3, -4, 5, 6, -7, -8}));
  const auto x = put("x.npy", Dtype::f64, {2}), k = put("k.npy", Dtype::f64, {3, 1});
  for (const Shape& shape : {Shape{3, 2}, {1, 2}, {3}})
    refuses({x, one, "-o", folder_ / "z.npy", "--pregate", put("w.npy", Dtype::f64, shape)},
            "is " + shape_text(shape) + ", must be [2] as y, or broadcast to it");
  EXPECT_EQ(convolve({x, k, "-o", y_, "--pregate", put("w.npy", Dtype::f64, {3, 2})}).code, 0) << "3 rows, of k";
}

// A recording with one channel and a room with two.
TEST_F(Convolve, OneChannelWithTwoFiltersIsTwoChannels) {
  const auto u = put("u.wav", Dtype::f32, {1, 3}, {0.5, 0, 0.25}, 8000);
  const auto k = put("k.wav", Dtype::f32, {2, 2}, {0.5, 0, 0, 1}, 8000);
  ASSERT_EQ(convolve({u, k, "-o", folder_ / "y.wav", "--method", "direct"}).code, 0);
  EXPECT_EQ(read_signal(folder_ / "y.wav").shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(read_signal(folder_ / "y.wav").values, (std::vector<double>{0.25, 0, 0.125, 0, 0.5, 0}));
  PendingFile none(folder_ / "none.npy");
  write_signal(none, SignalFormat::npy, {Dtype::f32, {0, 2}, {}, 0});
  none.commit();
  refuses({u, folder_ / "none.npy", "-o", folder_ / "z.wav"},
          "z.wav would be [0, 3], a .wav must be [channels, samples]; write a .npy");
}

TEST_F(Convolve, WithoutRowsYIsEmpty) {
  const auto empty = [&](const char* name, const std::vector<std::int64_t>& shape) {
    PendingFile file(folder_ / name);
    write_signal(file, SignalFormat::npy, {Dtype::bf16, shape, {}, 0});
    file.commit();
    return folder_ / name;
  };
  const auto k = put("k.npy", Dtype::f32, {2});
  using Shape = std::vector<std::int64_t>;
  for (const Shape& shape : {Shape{0, 3, 8}, {2, 0, 8}, {0, 8}, {0, std::int64_t{1} << 32, std::int64_t{1} << 32}}) {
    const Ran ran = convolve({empty("u.npy", shape), k, "-o", y_});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("notice: " + (folder_ / "u.npy") + " is " + shape_text(shape)));
    EXPECT_EQ(read_signal(y_).shape, shape);
    EXPECT_EQ(read_signal(y_).dtype, Dtype::bf16);
  }
  std::filesystem::remove(y_);
  refuses({empty("u.npy", {0, 3, 8}), put("five.npy", Dtype::f32, {5, 2}), "-o", y_},
          "must be of 1 or the 3 of u [0, 3, 8]");
  refuses({empty("u.npy", {2, 3, 0}), k, "-o", y_}, "L=0, must be at least 1 (" + (folder_ / "u.npy") + " is empty)");
}

TEST_F(Convolve, Bf16IsReadAndWritten) {
  const auto u = put("u.npy", Dtype::bf16, {3}, {1, 2, 3}), k = put("k.npy", Dtype::f32, {2}, {1, 0.5});
  const Ran ran = convolve({u, k, "-o", y_});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("as written (bf16)"));
  EXPECT_EQ(read_signal(y_).dtype, Dtype::bf16);
  EXPECT_EQ(read_signal(y_).values, (std::vector<double>{1, 2.5, 4}));
}

TEST_F(Convolve, FramesFirstAreNoticed) {
  const auto column = put("u.npy", Dtype::f64, {4, 1}, {1, 2, 3, 4}), k = put("k.npy", Dtype::f64, {2}, {1, 0.5});
  EXPECT_THAT(
      convolve({column, k, "-o", y_}).err,
      HasSubstr("is [4, 1], read as 4 channels of 1 sample; of [frames, channels] array.T is [channels, frames]"));
  const auto row = put("r.npy", Dtype::f64, {1, 4}, {1, 2, 3, 4}), room = put("room.npy", Dtype::f64, {3, 2});
  EXPECT_THAT(convolve({row, room, "-o", y_}).err, HasSubstr("room.npy is [3, 2], read as 3 channels of 2 samples"));
  EXPECT_THAT(convolve({put("h.npy", Dtype::f64, {3, 4}), room, "-o", y_}).err, testing::Not(HasSubstr("array.T")))
      << "filters of three channels, which are short";
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
  for (const char* method : {"fftw", "direct"}) {
    const Ran ran = convolve({u, k, "-o", y_, "--method", method});
    EXPECT_THAT(ran.err, HasSubstr("1 samples of " + y_ + " are too large for f16"));
    EXPECT_THAT(ran.out, HasSubstr("not stated as written: 1 of 2 samples of y overflow f16, rightly; relative L2"));
    const Json verify = Json::parse(convolve({u, k, "-o", y_, "--method", method, "--json", "-"}).out).at("verify");
    EXPECT_THAT(verify.at("reason").get<std::string>(), HasSubstr("overflow f16"));
    EXPECT_LT(verify.at("rel_l2_in_double"), 1e-14);
  }
  std::filesystem::remove(y_);
  refuses({put("big.npy", Dtype::f64, {2}, {1e308, 1}), put("ten.npy", Dtype::f64, {1}, {10}), "-o", y_},
          "samples of y are not finite, sums must stay below 1.8e308");
}

TEST_F(Convolve, RefusesWhatDoesNotMatch) {
  const auto u = put("u.npy", Dtype::f32, {2, 8}), k = put("k.npy", Dtype::f32, {2, 4});
  const auto wav = put("u.wav", Dtype::f32, {2, 8}, {}, 48000);
  refuses({u, put("k3.npy", Dtype::f32, {3, 4}), "-o", y_},
          "is [3, 4] of 3 channels, must be of 1 or the 2 of u [2, 8]");
  refuses({u, put("k4.npy", Dtype::f32, {2, 2, 4}), "-o", y_}, "is [2, 2, 4], must be [K], [H, K] or [1, H, K]");
  refuses({u, k, "-o", y_, "--pregate", put("g.npy", Dtype::f32, {2, 7})},
          "pregate " + (folder_ / "g.npy") + " is [2, 7], must be [2, 8] as y, or broadcast to it");
  refuses({wav, put("k.wav", Dtype::f32, {1, 4}, {}, 44100), "-o", y_}, "has 44100 Hz, must have the 48000 Hz of");
  refuses({u, k, "-o", folder_ / "y.wav"}, "needs a sample rate");
  refuses({u, k, "-o", folder_ / "y.txt"}, "must end in .npy or .wav");
  refuses({u, k, "-o", folder_ / "none/y.npy"}, "No such file or directory");
  refuses({u, k, "-o", y_, "--mode", "linear"}, "mode 'linear', must be causal or circular");
  refuses({u, k, "-o", y_, "--method", "magic"}, "magic");
  refuses({folder_ / "absent.npy", k, "-o", y_}, "absent.npy");
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
  EXPECT_THAT(ran.out, HasSubstr("not stated"));
  EXPECT_TRUE(std::isnan(read_signal(y_).values[1]));
}

// How far a value goes that is not finite, and that the notice says so.
TEST_F(Convolve, ANoticeSaysHowFarNonFiniteValuesGo) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto u = put("u.npy", Dtype::f64, {2, 6}, {1, 1, nan, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  const auto k = put("k.npy", Dtype::f64, {2}, {1, 1}), one = put("one.npy", Dtype::f64, {6}, {1, 1, 1, 1, 1, 1});
  const auto hole = put("hole.npy", Dtype::f64, {2}, {1, nan}),
             gate = put("g.npy", Dtype::f64, {6}, {1, 1, nan, 1, 1, 1});
  const auto nans = [&](std::vector<std::string> words, const std::string& notice) {
    words.insert(words.end(), {"-o", y_, "--allow-nonfinite"});
    const Ran ran = convolve(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("1 NaN or infinite values; " + notice));
    std::string marks;
    for (double value : read_signal(y_).values) marks += std::isnan(value) ? 'x' : '.';
    return marks;
  };
  const std::string whole = "a transform spreads them over whole rows of y; --method direct does not";
  const std::string taps = "the direct sum carries each to 2 samples of y: its own and those after it";
  EXPECT_EQ(nans({u, k, "--method", "direct"}, taps), "..xx........");
  EXPECT_EQ(nans({one, k, "--method", "direct", "--pregate", gate}, taps), "..xx..");
  EXPECT_EQ(nans({one, k, "--method", "direct", "--postgate", gate}, "each stays in its own sample of y"), "..x...");
  EXPECT_EQ(nans({one, hole, "--method", "direct"}, "the direct sum carries each to up to all samples of its channel"),
            "xxxxxx");
  const auto last = put("last.npy", Dtype::f64, {6}, {1, 1, 1, 1, 1, nan});
  EXPECT_EQ(nans({last, k, "--method", "direct", "--mode", "circular"}, taps), "x....x");
  for (const char* method : {"fftw", "monarch"}) {
    EXPECT_EQ(nans({u, k, "--method", method}, whole), "xxxxxx......") << method;
    EXPECT_EQ(nans({one, k, "--method", method, "--postgate", gate}, "each stays in its own sample of y"), "..x...");
  }
  const auto pair = put("pair.npy", Dtype::f64, {2, 1, 4}, {1, 1, nan, 1, 1, 1, 1, 1});
  EXPECT_EQ(nans({pair, k, "--mode", "circular"}, whole), "xxxx....");
  EXPECT_EQ(nans({pair, k, "--mode", "circular", "--method", "monarch"},
                 "a transform spreads them over whole rows of y and those paired with them; --method direct does not"),
            "xxxxxxxx");
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
