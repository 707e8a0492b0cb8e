// danaus model --measured: the rows that it reads, what the models' errors come to, and what their choices cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/counting/imitation.hpp"
#include "experiments/files/record.hpp"
#include "experiments/judging/regret.hpp"
#include "kernels/choice.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A row of danaus bench on an H200, by the kernels of this build.
Json bench_row(const std::string& token, double us) {
  return {{"schema", kSchema},
          {"kind", "bench"},
          {"case", token},
          {"method", "kernel"},
          {"device", {{"name", "NVIDIA H200"}, {"multiprocessors", 132}}},
          {"code", kRevision.kernels},
          {"verify", {{"status", "passed"}}},
          {"time_us", {{"burst_cold", {{"median", us}, {"clock_mhz", 1800.}}}}},
          {"notes", {"another process computes on this GPU"}}};
}

class Judging : public testing::Test {
 protected:
  std::string file_of(const std::vector<Json>& rows) const {
    std::string lines;
    for (const Json& row : rows) lines += row.dump() + '\n';
    write_file(folder_ / "bench.jsonl", lines);
    return folder_ / "bench.jsonl";
  }
  MeasuredKernels read(const std::vector<Json>& rows) const {
    return read_measured_kernels({file_of(rows)}, imitation(load_profile("H200")));
  }
  std::string refusal(const std::vector<Json>& rows) const {
    try {
      read(rows);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  }
  Folder folder_;
};

TEST_F(Judging, ReadsKernelsThatPassedAndWereTimed) {
  Json copy = bench_row("fftconv_f16_circular_l512_b64_h768", 20), failed = copy,
       stale = bench_row("fftconv_f16_causal_l1000_b64_h768", 70);
  copy["method"] = "copy", failed["verify"]["status"] = "failed", stale["code"] = "another";
  const MeasuredKernels measured =
      read({bench_row("fftconv_f16_circular_l8192_b64_h768_r16x8x8x8", 60), copy, failed, stale});
  EXPECT_EQ(measured.device, "NVIDIA H200");
  ASSERT_EQ(measured.kernels.size(), 2);
  const MeasuredKernel& first = measured.kernels[0];
  EXPECT_TRUE(first.asked_by_factors);
  EXPECT_FALSE(first.stale);
  EXPECT_EQ(first.us, 60);
  EXPECT_EQ(first.clock_mhz, 1800);
  EXPECT_THAT(first.notes, ElementsAre("another process computes on this GPU"));
  const MeasuredKernel& second = measured.kernels[1];
  EXPECT_TRUE(second.stale);
  EXPECT_FALSE(second.asked_by_factors);
  EXPECT_EQ(second.problem.factors, factors(second.variant->geometry)) << "those of its kernel";
  EXPECT_EQ(second.problem.fold, Fold::right_angle);
  EXPECT_EQ(second.problem.fft_size, 1024);
}

TEST_F(Judging, TakesTheLastRowOfACase) {
  const MeasuredKernels measured = read(
      {bench_row("fftconv_f16_circular_l1024_b64_h768", 60), bench_row("fftconv_f16_circular_l1024_b64_h768", 61)});
  ASSERT_EQ(measured.kernels.size(), 1);
  EXPECT_EQ(measured.kernels[0].us, 61);
}

TEST_F(Judging, RefusesRowsThatDoNotGoTogether) {
  const Json row = bench_row("fftconv_f16_circular_l1024_b64_h768", 60);
  Json elsewhere = row, smaller = row, other_kind = row;
  elsewhere["device"]["name"] = "NVIDIA GH200", smaller["device"]["multiprocessors"] = 108,
  other_kind["kind"] = "verify";
  EXPECT_THAT(refusal({row, elsewhere}),
              HasSubstr("line 2: measured on NVIDIA GH200, the rows before it on NVIDIA H200"));
  EXPECT_THAT(refusal({smaller}), HasSubstr("with 108 multiprocessors, profile H200 has 132"));
  EXPECT_THAT(refusal({row, other_kind}), HasSubstr("line 2: is no row of danaus bench"));
  EXPECT_THAT(refusal({}), HasSubstr("no kernel that passed and was timed"));
  EXPECT_THAT(refusal({bench_row("fftconv_f16_circular_l8192_b64_h768_r64x128", 60)}),
              HasSubstr("kernels that this build has not"));
  EXPECT_THROW(read_measured_kernels({"/nowhere/at/all.jsonl"}, Device::executor()), std::invalid_argument);
}

// A kernel with the times that models predict for it.
JudgedKernel judged(const std::string& token, double measured_us, std::array<double, 3> predicted_us,
                    bool held_out = true) {
  const Convolution problem = parse_convolution(token);
  const Variant* variant = choose(problem, Device::executor()).variant;
  JudgedKernel kernel{{token, problem, true, variant, measured_us, {}, false, {}}, held_out, {}, {}};
  for (int i = 0; i < 3; ++i) kernel.models[i] = {predicted_us[i], "hbm"};
  return kernel;
}

TEST(Regret, IsWhatTheModelsChoiceTakesLonger) {
  const std::vector<JudgedKernel> kernels = {
      judged("fftconv_f16_circular_l16384_b64_h768_r8x8x2x16x8", 50, {90, 40, 10}),
      judged("fftconv_f16_circular_l16384_b64_h768_r16x8x16x8", 60, {80, 50, 10.5}),
      judged("fftconv_f16_circular_l16384_b8_h768_r16x8x16x8", 5, {1, 1, 1}),  // alone: nothing to choose from
  };
  const std::vector<FactorChoice> list = factor_choices(kernels);
  ASSERT_EQ(list.size(), 1);
  EXPECT_EQ(list[0].fastest, &kernels[0]);
  EXPECT_DOUBLE_EQ(list[0].regret(0), 0.2);
  EXPECT_DOUBLE_EQ(list[0].regret(1), 0);
  EXPECT_DOUBLE_EQ(list[0].regret(2), 0);
}

TEST(Regret, SummariesLeaveOutWhatWasFitted) {
  const std::vector<JudgedKernel> kernels = {
      judged("fftconv_f16_circular_l16384_b64_h768_r8x8x2x16x8", 100, {110, 100, 130}),
      judged("fftconv_f16_circular_l16384_b64_h768_r16x8x16x8", 100, {80, 100, 100}),
      judged("fftconv_f16_causal_l16384_b64_h768_r16x8x16x8", 100, {160, 100, 100}),
      judged("fftconv_f16_circular_l24576_b64_h768_r16x8x3x8x8", 100, {900, 100, 100}, false),
      judged("fftconv_f16_circular_l24576_b64_h768_r3x8x8x16x8", 200, {100, 100, 100}, false),
  };
  const std::vector<Summary> list = summaries(kernels, factor_choices(kernels));
  ASSERT_EQ(list.size(), 9);  // three models over all, circular and causal
  const Summary& all = list[0];
  EXPECT_FALSE(all.kind);
  EXPECT_EQ(all.rows, 5);
  EXPECT_EQ(all.held_out_rows, 3);
  EXPECT_NEAR(*all.median, 0.2, 1e-12);  // of 0.1, 0.2, 0.6
  EXPECT_NEAR(*all.p90, 0.52, 1e-12);    // four fifths of the way from the second to the third
  EXPECT_NEAR(*all.bias, 0.1, 1e-12);
  EXPECT_EQ(all.choices, 1) << "that at 24576 took part in fitting";
  EXPECT_EQ(all.worst_regret, 0);
  for (const Summary& summary : list)
    if (summary.kind && summary.kind->mode == Mode::causal) {
      EXPECT_EQ(summary.held_out_rows, 1);
      EXPECT_FALSE(summary.mean_regret);
    }
}

TEST_F(Judging, WritesPredictionsChoicesAndSummaries) {
  const std::string path = file_of({bench_row("fftconv_f16_circular_l16384_b8_h768_r8x8x2x16x8", 9),
                                    bench_row("fftconv_f16_circular_l16384_b8_h768_r16x8x16x8", 10),
                                    bench_row("fftconv_f16_circular_l1536_b8_h768", 15)});
  const Ran ran = run({"model", "--measured", path, "--json", folder_ / "judgement.jsonl"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("fitted to 1 kernels"));
  std::map<std::string, std::vector<Json>> rows;
  std::istringstream lines(read_file(folder_ / "judgement.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line);
    rows[row.at("kind")].push_back(row);
  }
  ASSERT_EQ(rows["prediction"].size(), 3);
  const Json& row = rows["prediction"][2];
  EXPECT_EQ(row.at("factors"), (std::vector<int>{6, 16, 16}));
  EXPECT_FALSE(row.at("held_out"));
  const Json& counted = row.at("models").at(2);
  EXPECT_EQ(counted.at("name"), "counted");
  EXPECT_NEAR(counted.at("error"), counted.at("us").get<double>() / 15 - 1, 1e-12);
  EXPECT_NEAR(counted.at("us"), 15, 0.01 * 15) << "the only kernel that the overlap is fitted to";
  ASSERT_EQ(rows["choice"].size(), 1);
  EXPECT_EQ(rows["choice"][0].at("clock").at("factors"), (std::vector<int>{8, 8, 2, 16, 8}));
  EXPECT_EQ(rows["summary"].size(), 6);
  EXPECT_EQ(rows["summary"][2].at("model"), "counted");
  EXPECT_EQ(rows["summary"][2].at("held_out_rows"), 2);

  EXPECT_THAT(run({"model", "--measured", path, "--json", "/nowhere/at/all.jsonl"}).err,
              HasSubstr("/nowhere/at/all.jsonl"));
}

}  // namespace
}  // namespace danaus
