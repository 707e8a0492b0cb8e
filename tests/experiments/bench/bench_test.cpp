// danaus bench: what it asks, checks and refuses; on a GPU, where there is one, what its rows hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "experiments/bench/checked_rows.hpp"
#include "experiments/bench/contenders.hpp"
#include "experiments/bench/difference.hpp"
#include "experiments/bench/noise.hpp"
#include "experiments/bench/statistics.hpp"
#include "experiments/bench/sweeps.hpp"
#include "experiments/bench/timings.hpp"
#include "experiments/bench/work.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/compare.hpp"
#include "reference/convolution/convolve.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Bench, SweepsAreCasesThatTheKernelsCompute) {
  std::set<std::string> parts, whole;
  for (const CaseSweep& sweep : case_sweeps())
    for (const Convolution& problem : sweep.cases()) {
      EXPECT_EQ(parse_convolution(token(problem)), problem);
      EXPECT_EQ(obstacle(Contender::kernel, problem, Device()), std::nullopt) << token(problem);
      if (problem.factors.empty() && sweep.name != "lengths")
        (&sweep == &case_sweeps().front() ? whole : parts).insert(token(problem));
    }
  EXPECT_EQ(whole, parts) << "the first sweep holds all others that leave the factors to the plan, but for lengths";
  EXPECT_TRUE(whole.contains("fftconv_f16_circular_l32768_b64_h768"));
}

TEST(Bench, LengthsAreManyAndNoFftSizes) {
  std::map<Mode, std::set<std::int64_t>> lengths;
  for (const Convolution& problem : case_sweep("test", "lengths").cases()) {
    lengths[problem.mode].insert(problem.length);
    EXPECT_NE(choose(problem, Device()).size, problem.length);
  }
  for (Mode mode : {Mode::causal, Mode::circular}) {
    EXPECT_GE(lengths[mode].size(), 40u);
    for (std::int64_t length : {1000, 1001, 1023, 1025, 4000, 4095, 8760, 14113, 30000})
      EXPECT_TRUE(lengths[mode].contains(length)) << length;
  }
}

TEST(Bench, FactorizationsAreAllThatThisBuildHas) {
  std::set<const Variant*> timed, all;
  for (const char* sweep : {"factorizations-fp16", "factorizations-bf16"})
    for (const Convolution& problem : case_sweep("test", sweep).cases()) timed.insert(&choose(problem, Device()));
  for (const auto& v : variants())
    if (v->compiled && v->suits(0) && !(v->gated && v->fold == Fold::right_angle)) all.insert(v.get());
  EXPECT_EQ(timed, all);
}

TEST(Bench, BaselinesSayWhatTheyDoNotCompute) {
  const auto why = [](Contender contender, const char* token) {
    return obstacle(contender, parse_convolution(token), Device()).value_or("");
  };
  EXPECT_EQ(why(Contender::cufft_f32, "fftconv_f16_circular_l768_b2_h3_pregate"), "");
  EXPECT_EQ(why(Contender::cufft_pairs, "fftconv_f16_causal_l768_b2_h3"), "");
  EXPECT_THAT(why(Contender::cufft_pairs, "fftconv_f16_circular_l768_b2_h3"),
              HasSubstr("N=768, cuFFT takes only powers"));
  EXPECT_THAT(why(Contender::copy, "fftconv_f16_circular_l768_b2_h3_pregate"), HasSubstr("no gates"));
  EXPECT_THAT(why(Contender::cufft_f32, "fftconv_f32_circular_l768_b2_h3"), HasSubstr("dtype f32"));
  EXPECT_THAT(why(Contender::cufft_f32, "fftconv_f16_circular_l4096_b2_h3_r64x64"), HasSubstr("chooses N for itself"));
}

TEST(Bench, BaselinesPadWhatIsCausal) {
  const Convolution causal = parse_convolution("fftconv_f16_causal_l1000_k600_b1_h1");
  EXPECT_EQ(baseline_fft_size(Contender::cufft_f32, causal), 1600);
  EXPECT_EQ(baseline_fft_size(Contender::cufft_pairs, causal), 2048);
  EXPECT_EQ(baseline_fft_size(Contender::cufft_f32, parse_convolution("fftconv_f16_circular_l1000_b1_h1")), 1000);
}

TEST(Bench, NoiseHasUnitVarianceAndNoTrace) {
  constexpr int kCount = 1 << 18;
  const std::uint64_t key = noise_key(1, 0), other = noise_key(1, 1);
  double sum = 0, square = 0, next = 0, across = 0, most = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = noise(key, i);
    sum += x, square += x * x, next += x * noise(key, i + 1), across += x * noise(other, i);
    most = std::max(most, std::abs(x));
  }
  const double deviation = 1 / std::sqrt(kCount);  // of a mean of independent numbers of unit variance
  EXPECT_NEAR(sum / kCount, 0, 4 * deviation);
  EXPECT_NEAR(square / kCount, 1, 4 * std::sqrt(2) * deviation);
  EXPECT_NEAR(next / kCount, 0, 4 * deviation);
  EXPECT_NEAR(across / kCount, 0, 4 * deviation);
  EXPECT_GT(most, 3.5);
  EXPECT_LT(most, 4.9);
}

TEST(Bench, QuartilesLieBetweenNeighbours) {
  const Quartiles odd = quartiles({5, 1, 4, 2, 3});
  EXPECT_DOUBLE_EQ(odd.q1, 2);
  EXPECT_DOUBLE_EQ(odd.median, 3);
  EXPECT_DOUBLE_EQ(odd.q3, 4);
  const Quartiles even = quartiles({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(even.q1, 1.75);
  EXPECT_DOUBLE_EQ(even.median, 2.5);
  EXPECT_DOUBLE_EQ(even.q3, 3.25);
  EXPECT_DOUBLE_EQ(quartiles({7}).q3, 7);
  EXPECT_THROW(quartiles({}), std::invalid_argument);
}

TEST(Bench, RatiosAreOfTheSameTurns) {
  // The clock fell by half in the second turn, for both: the ratio did not.
  const Quartiles q = ratios({12, 24, 13}, {10, 20, 10});
  EXPECT_DOUBLE_EQ(q.q1, 1.2);
  EXPECT_DOUBLE_EQ(q.median, 1.2);
  EXPECT_DOUBLE_EQ(q.q3, 1.25);
  EXPECT_THROW(ratios({1, 2}, {1}), std::invalid_argument);
}

TEST(Bench, ADifferenceIsThatOfAllSamplesInAnyOrder) {
  Difference all{}, first{}, second{};
  const std::vector<float> expected = {3, -4, 0, 12}, actual = {3, -4.5, 0, 12};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    all.add(actual[i], expected[i]);
    (i < 2 ? first : second).add(actual[i], expected[i]);
  }
  second.merge(first);
  for (const Difference& d : {all, second}) {
    EXPECT_DOUBLE_EQ(d.rel_l2(), 0.5 / 13);
    EXPECT_DOUBLE_EQ(d.rel_max(), 0.5 / 12);
    EXPECT_EQ(d.nonfinite, 0u);
  }
  Difference same{};
  same.add(0, 0);
  EXPECT_EQ(same.rel_l2(), 0) << "of zeros";
  all.add(NAN, 1), all.add(1, INFINITY);
  EXPECT_EQ(all.nonfinite, 2u);
  EXPECT_DOUBLE_EQ(all.rel_l2(), 0.5 / 13) << "what is not finite is counted and in no sum";
}

TEST(Bench, AChecksumKnowsSamplesAndTheirPlaces) {
  const auto sum = [](const std::vector<std::uint16_t>& words) {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < words.size(); ++i) all += checksum_of(words[i], static_cast<std::int64_t>(i));
    return all;
  };
  EXPECT_EQ(sum({1, 2, 3}), sum({1, 2, 3}));
  EXPECT_NE(sum({1, 2, 3}), sum({1, 2, 4}));
  EXPECT_NE(sum({1, 2, 3}), sum({2, 1, 3})) << "two rows that changed places";
  EXPECT_NE(sum({0, 0}), sum({0}));
}

TEST(Bench, WorkIsThatOfTheCase) {
  const Convolution plain = parse_convolution("fftconv_f16_circular_l1024_b64_h768");
  EXPECT_EQ(moved_bytes(plain), 201326592);
  EXPECT_EQ(moved_bytes(parse_convolution("fftconv_bf16_causal_l1024_b64_h768_pregate_postgate")), 2 * 201326592.);
  EXPECT_EQ(useful_flops(plain), 64. * 768 * (2 * 2.5 * 1024 * 10 + 6 * 512));
  EXPECT_EQ(useful_flops(parse_convolution("fftconv_f16_causal_l512_b64_h768")), useful_flops(plain));
}

TEST(Bench, ChecksFirstAndLastRowsAndWholePairs) {
  const CheckedRows rows = checked_rows(parse_convolution("fftconv_f16_circular_l16_b65_h100"));
  EXPECT_EQ(rows.batch.front(), 0);
  EXPECT_EQ(rows.batch.back(), 64);
  EXPECT_EQ(rows.channels.front(), 0);
  EXPECT_EQ(rows.channels.back(), 99);
  EXPECT_GE(rows.batch.size() * rows.channels.size(), 64);
  const std::set<std::int64_t> chosen(rows.batch.begin(), rows.batch.end());
  for (std::int64_t b : rows.batch) EXPECT_TRUE(b == 64 || chosen.contains(b ^ 1)) << b;
}

TEST(Bench, TheTruthOfCheckedRowsIsThatOfTheWholeCase) {
  const Convolution problem = parse_convolution("fftconv_f16_causal_l20_k7_b3_h9_pregate_postgate");
  const CheckedRows rows = checked_rows(problem);
  const auto filled = [&](BenchArray array) {
    std::vector<double> values(3 * 9 * 20);
    // Noise as the device stores it: halves. Eleven bits of significand hold it to 2^-11 of its value.
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = noise(array_key(problem, array), i);
    return values;
  };
  Inputs inputs{filled(BenchArray::u), {}, filled(BenchArray::pregate), filled(BenchArray::postgate)};
  for (int i = 0; i < 9 * 7; ++i)
    inputs.k.push_back(filter_scale(problem) * noise(array_key(problem, BenchArray::k), i));
  const std::vector<double> y = convolve(problem, inputs, Method::direct);
  std::vector<double> expected;
  for (std::int64_t b : rows.batch)
    for (std::int64_t h : rows.channels)
      expected.insert(expected.end(), y.begin() + (b * 9 + h) * 20, y.begin() + (b * 9 + h + 1) * 20);
  EXPECT_LT(compare(expected, rows.y).rel_l2, 2 * unit_roundoff(Dtype::f16));
}

TEST(Bench, PrintsWhatARowHasAndSaysWhyItHasNoTime) {
  std::ostringstream out, err;
  Timings timings(out, err, 40);
  const Json series = {{"median", 120.0}, {"q1", 119.0}, {"q3", 122.0}, {"clock_mhz", 1780.2}};
  timings.add({{"case", "fftconv_f16_circular_l1024_b64_h768"},
               {"method", "kernel"},
               {"verify", {{"status", "passed"}, {"clearance", 0.5}}},
               {"time_us", {{"burst_cold", series}}},
               {"floor", {{"us", 50.0}}}});
  timings.add({{"case", "fftconv_f16_circular_l768_b64_h768"},
               {"method", "cufft_pairs"},
               {"verify", {{"status", "skipped"}, {"reason", "powers of two"}}}});
  timings.print_summary();
  EXPECT_THAT(out.str(), HasSubstr("120.0      3.0     2.40   1780"));
  EXPECT_THAT(out.str(), HasSubstr("2 rows: 1 passed and timed, 0 failed, 1 skipped"));
  EXPECT_THAT(err.str(), HasSubstr("powers of two"));
  EXPECT_EQ(timings.failed(), 0);
}

TEST(Bench, RefusesBadWordsBeforeItLooksForAGpu) {
  EXPECT_THAT(run({"bench", "--sweep", "fast"}).err, HasSubstr("sweep 'fast', must be one of speed, fp16"));
  EXPECT_THAT(run({"bench", "--method", "cudnn"}).err, HasSubstr("method 'cudnn', must be one of kernel, copy"));
  EXPECT_THAT(run({"bench", "--launches", "0"}).err, HasSubstr("launches=0, must be at least 1"));
  EXPECT_THAT(run({"bench", "--launches", "101"}).err, HasSubstr("launches=101, must be at most 100"));
  EXPECT_THAT(run({"bench", "--case", "x", "--sweep", "fp16"}).err, HasSubstr("exclude each other"));
  const Ran ran = run({"bench", "--case", "fftconv_f16_causal_l0_b1_h1"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("L=0, must be at least 1"));
}

TEST(Bench, SaysThatItNeedsAGpu) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is one";
  const Folder folder;
  const Ran ran = run({"bench", "--json", folder / "bench.jsonl"});
  EXPECT_EQ(ran.code, 77);
  EXPECT_THAT(ran.err, HasSubstr("no CUDA device; it needs a GPU and a build with CUDA"));
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(folder.files().empty());
}

TEST(Bench, EveryMethodIsVerifiedAndTimedOnAGpu) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const Folder folder;
  const std::vector<std::string> words = {"bench",
                                          "--case",
                                          "fftconv_f16_circular_l1024_b5_h3",
                                          "--case",
                                          "fftconv_bf16_causal_l300_k77_b3_h2_pregate_postgate",
                                          "--repetitions",
                                          "2",
                                          "--json",
                                          folder / "bench.jsonl"};
  ASSERT_EQ(run(words).code, 0) << run(words).err;
  const std::string once = read_file(folder / "bench.jsonl");
  std::istringstream lines(once);
  std::vector<std::string> methods;
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line);
    methods.push_back(row.at("method"));
    EXPECT_EQ(row.at("verify").at("status"), "passed") << line;
    EXPECT_EQ(row.at("verify").at("nonfinite"), 0);
    EXPECT_EQ(row.at("time_us").at("burst_cold").at("samples").size(), 2);
    EXPECT_GT(row.at("time_us").at("sustained_cold").at("median"), 0);
    EXPECT_GT(row.at("floor").at("us"), 0);
    const bool is_kernel = row.at("method") == "kernel";
    EXPECT_EQ(row.at("floor").contains("with_spectrum_us"), is_kernel);
    EXPECT_EQ(row.at("ratios").contains("kernel"), !is_kernel);
    const Json& every = row.at("verify").at("every");
    EXPECT_EQ(every.at("against"), is_kernel ? "cufft_f32" : row.at("method") == "copy" ? "u" : "kernel");
    EXPECT_EQ(every.at("rows"), row.at("verify").at("of").get<int>() * every.at("sets").get<int>());
  }
  EXPECT_THAT(methods, ElementsAre("kernel", "copy", "cufft_f32", "cufft_pairs", "kernel", "cufft_f32", "cufft_pairs"));
  ASSERT_EQ(run(words).code, 0);
  EXPECT_EQ(read_file(folder / "bench.jsonl"), once) << "rows that stand are not made again";
}

}  // namespace
}  // namespace danaus
