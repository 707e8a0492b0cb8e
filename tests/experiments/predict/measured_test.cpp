// danaus model --measured: the rows that it reads, and those that it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/code/row_code.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/io/result_file.hpp"
#include "experiments/predict/measured_kernels.hpp"
#include "kernels/cpu/program_work.hpp"
#include "kernels/plan/choice.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The kernel that a plan would choose on an H200; one that is nowhere, where there is none.
std::string chosen_name(const std::string& token) {
  const Device device = imitation(load_profile("H200"));
  const Convolution problem = parse_convolution(token);
  return has_kernel(problem, device) ? choose(problem, device).name : "exchange_nowhere";
}

// A row of danaus bench on an H200, by the kernels of this build.
Json bench_row(const std::string& token, double us) {
  return {{"schema", kSchema},
          {"kind", "bench"},
          {"case", token},
          {"method", "kernel"},
          {"device", {{"name", "NVIDIA H200"}, {"sm", 90}, {"multiprocessors", 132}, {"l2_bytes", 62914560}}},
          {"code", code_of(timed_method(kPlan), parse_case(token), imitation(load_profile("H200"))).words()},
          {"variant", chosen_name(token)},
          {"verify", {{"status", "passed"}}},
          {"time_us", {{"burst_cold", {{"median", us}, {"clock_mhz", 1800.}}}}},
          {"notes", {"another process computes on this GPU"}}};
}

class Measured : public testing::Test {
 protected:
  std::string file_of(const std::vector<Json>& rows) const {
    std::string lines;
    for (const Json& row : rows) lines += row.dump() + '\n';
    write_file(folder_ / "bench.jsonl", lines);
    return folder_ / "bench.jsonl";
  }
  MeasuredKernels read(const std::vector<Json>& rows) const {
    return read_measured_kernels({file_of(rows)}, load_profile("H200"));
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

TEST_F(Measured, ReadsKernelsThatPassedAndWereTimed) {
  Json copy = bench_row("fftconv_f16_circular_l512_b64_h768", 20), failed = copy,
       stale = bench_row("fftconv_f16_causal_l1000_b64_h768", 70);
  copy["method"] = "copy", failed["verify"]["status"] = "failed", stale["code"] = "sources:another";
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
  EXPECT_EQ(second.problem.factors, second.variant->factors) << "those of its kernel";
  EXPECT_EQ(second.problem.fold, Fold::right_angle);
  EXPECT_EQ(second.problem.fft_size, 1024);
}

TEST_F(Measured, ARowIsOfTheKernelThatItNames) {
  Json row = bench_row("fftconv_bf16_causal_l1000_b64_h768", 70);
  row["variant"] = chosen_name("fftconv_bf16_causal_l2000_b64_h768");  // which holds 1000 samples too
  const MeasuredKernels measured = read({row});
  ASSERT_EQ(measured.kernels.size(), 1);
  EXPECT_EQ(measured.kernels[0].variant->name, row["variant"].get<std::string>());
  EXPECT_EQ(measured.kernels[0].problem.fft_size, 2048) << "what is counted is what was timed";
}

TEST_F(Measured, ARowOfAKernelThatIsNoMoreIsLeftOutAndCounted) {
  const Json row = bench_row("fftconv_f16_circular_l1024_b64_h768", 60);
  Json gone = bench_row("fftconv_f16_circular_l512_b64_h768", 60);
  gone["variant"] = "exchange_64x8_f16_pair_w99_ring2_x16";
  const MeasuredKernels measured = read({row, gone});
  EXPECT_EQ(measured.kernels.size(), 1);
  EXPECT_EQ(measured.without_kernel, 1);
}

TEST_F(Measured, RefusesARowWithoutItsKernelOrOfOneThatCannotBe) {
  Json row = bench_row("fftconv_f16_circular_l1024_b64_h768", 60), nameless = row, other = row;
  nameless.erase("variant");
  other["variant"] = chosen_name("fftconv_bf16_circular_l1024_b64_h768");
  EXPECT_THAT(refusal({row, nameless}), HasSubstr("line 2: lacks /variant, a string"));
  EXPECT_THAT(refusal({other}), HasSubstr("which does not compute fftconv_f16_circular_l1024_b64_h768"));
}

TEST_F(Measured, OtherOperationsAndSeveralLaunchesAreOfTheProgramThatTheyName) {
  const Device device = imitation(load_profile("H200"));
  const auto of_program = [&](const std::string& token) {
    Json row = bench_row("fftconv_f16_circular_l1024_b64_h768", 60);
    const Case asked = parse_case(token);
    row["case"] = token, row["variant"] = measure_program(asked, device).variant;
    row["code"] = code_of(timed_method(kPlan), asked, device).words();
    return row;
  };
  Json other = of_program("shortconv_bf16_causal_k4_l1024_b64_h768");
  other["variant"] = "direct_of_old";
  const MeasuredKernels measured =
      read({of_program("fftconvgrad_f16_circular_l1024_b64_h768"), of_program("fftconv_f16_circular_l65536_b64_h192"),
            of_program("fftconv_f16_causal_l65536_k100_b64_h192_n8192"), other});
  ASSERT_EQ(measured.kernels.size(), 3);
  EXPECT_EQ(measured.of_other_kernel, 1);
  for (const MeasuredKernel& kernel : measured.kernels) {
    EXPECT_EQ(kernel.variant, nullptr) << kernel.token;
    EXPECT_EQ(kernel.counted.token(), kernel.token);
    EXPECT_FALSE(kernel.stale);
  }
}

TEST_F(Measured, TimesAreOfHoweverManyLaunches) {
  const std::string longer = "fftconv_f16_circular_l2097152_b64_h6";
  const std::string path = file_of({bench_row(longer, 3000), bench_row(longer, 3010)});
  const HardwareProfile profile = load_profile("H200");
  EXPECT_EQ(read_measured_times({path}, profile), (std::map<std::string, double>{{longer, 3010}}));
  EXPECT_THROW(read_measured_times({file_of({})}, profile), std::invalid_argument);
}

TEST_F(Measured, TakesTheLastRowOfACase) {
  const MeasuredKernels measured = read(
      {bench_row("fftconv_f16_circular_l1024_b64_h768", 60), bench_row("fftconv_f16_circular_l1024_b64_h768", 61)});
  ASSERT_EQ(measured.kernels.size(), 1);
  EXPECT_EQ(measured.kernels[0].us, 61);
}

TEST_F(Measured, RefusesRowsThatDoNotGoTogether) {
  const Json row = bench_row("fftconv_f16_circular_l1024_b64_h768", 60);
  Json elsewhere = row, smaller = row, other_kind = row;
  elsewhere["device"]["name"] = "NVIDIA GH200", smaller["device"]["multiprocessors"] = 108,
  other_kind["kind"] = "verify";
  EXPECT_THAT(refusal({row, elsewhere}), HasSubstr("line 2: measured on NVIDIA GH200, profile H200 is of NVIDIA H200"));
  EXPECT_THAT(refusal({smaller}), HasSubstr("with 108 multiprocessors, profile H200 has 132"));
  EXPECT_THAT(refusal({row, other_kind}), HasSubstr("line 2: is no row of danaus bench"));
  EXPECT_THAT(refusal({}), HasSubstr("no kernel that passed and was timed"));
  EXPECT_THAT(refusal({bench_row("fftconv_f16_circular_l8192_b64_h768_r64x128", 60)}),
              HasSubstr("kernels that this build has not"));
  EXPECT_THROW(read_measured_kernels({"/nowhere/at/all.jsonl"}, load_profile("H200")), std::invalid_argument);
}

TEST_F(Measured, RefusesADamagedFieldByName) {
  const Json row = bench_row("fftconv_f16_circular_l1024_b64_h768", 60);
  const auto with = [&](const char* pointer, const Json& value) {
    Json damaged = row;
    damaged[Json::json_pointer(pointer)] = value;
    return refusal({row, damaged});
  };
  EXPECT_THAT(with("/case", 3), HasSubstr("line 2: /case is 3, must be a string"));
  EXPECT_THAT(with("/case", "fftconv_f16"), HasSubstr("line 2: "));
  EXPECT_THAT(with("/case", nullptr), HasSubstr("line 2: lacks /case, a string"));
  EXPECT_THAT(with("/kind", nullptr), HasSubstr("line 2: is no row of danaus bench"));
  EXPECT_THAT(with("/method", true), HasSubstr("/method is true, must be a string"));
  EXPECT_THAT(with("/verify", "passed"), HasSubstr("lacks /verify/status, a string"));
  EXPECT_THAT(with("/device", Json::array()), HasSubstr("lacks /device/name, a string"));
  EXPECT_THAT(with("/device/multiprocessors", 131.5), HasSubstr("is 131.5, must be a whole number"));
  EXPECT_THAT(with("/code", 7), HasSubstr("/code is 7, must be a string"));
  EXPECT_THAT(with("/notes", {1}), HasSubstr("/notes is [1], must be a list of strings"));
  EXPECT_THAT(with("/time_us/burst_cold/median", "60"), HasSubstr("median is \"60\", must be a number"));
  EXPECT_THAT(with("/time_us/burst_cold/median", false), HasSubstr("median is false, must be a number"));
  EXPECT_THAT(with("/time_us/burst_cold/median", 0), HasSubstr("a median of 0 us, must be positive"));
  EXPECT_THAT(with("/time_us/burst_cold/clock_mhz", Json::object()), HasSubstr("clock_mhz is {}, must be a number"));
}

TEST_F(Measured, WritesWhatTheModelsSayAndJudgesNothing) {
  const std::string path = file_of({bench_row("fftconv_f16_circular_l16384_b8_h768_r4x8x8x8x8", 9),
                                    bench_row("fftconv_f16_circular_l1536_b64_h768", 15)});
  const Ran ran = run({"model", "--measured", path, "--json", folder_ / "predictions.jsonl"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("counted work: overlap "));
  std::vector<Json> rows;
  std::istringstream lines(read_file(folder_ / "predictions.jsonl"));
  for (std::string line; std::getline(lines, line);) rows.push_back(Json::parse(line));
  ASSERT_EQ(rows.size(), 2);
  EXPECT_TRUE(rows[0].at("asked_by_factors"));
  const Json& row = rows[1];
  EXPECT_EQ(row.at("kind"), "prediction");
  EXPECT_EQ(row.at("asked").at("l"), 1536);
  EXPECT_EQ(row.at("factors"), (std::vector<int>{6, 16, 16}));
  EXPECT_EQ(row.at("n"), 1536);
  EXPECT_EQ(row.at("fold"), "pair");
  EXPECT_FALSE(row.at("asked_by_factors"));
  EXPECT_EQ(row.at("device"), "NVIDIA H200");
  EXPECT_TRUE(row.at("preferred"));
  EXPECT_EQ(row.at("measured_us"), 15);
  EXPECT_FALSE(row.contains("held_out"));

  // Put together, its parts are what danaus model says of the case.
  const auto predicted = [](const char* model, const char* profile) {
    const Ran ran = run({"model", "--case", "fftconv_f16_circular_l1536_b64_h768_pair_r6x16x16", "--profile", profile,
                         "--model", model, "--overlap", "3", "--warp-rate", "0.2", "--wait", "0.5", "--json", "-"});
    return Json::parse(ran.out);
  };
  EXPECT_EQ(row.at("eq2_paper").at("us"), predicted("eq2", "A100-40GB").at("total_us"));
  EXPECT_EQ(row.at("eq2_profile").at("us"), predicted("eq2", "H200").at("total_us"));
  EXPECT_EQ(row.at("eq2_profile").at("limit"), predicted("eq2", "H200").at("limit"));
  const Json& counted = row.at("counted");
  EXPECT_FALSE(counted.at("resources_us").contains("issue"));
  const double issue = std::max(counted.at("schedulers_us").get<double>(), counted.at("warps_us").get<double>() / 0.2);
  double of_memory = 0, of_sms = std::pow(issue, 3);  // of memory an overlap of 5
  for (const auto& [name, us] : counted.at("resources_us").items())
    if (name == "hbm" || name == "l2")
      of_memory += std::pow(us.get<double>(), 5);
    else
      of_sms += std::pow(us.get<double>(), 3);
  const double at_once = std::pow(of_memory + std::pow(std::cbrt(of_sms), 5), 0.2);
  const Json& launch = counted.at("launches").at(0);
  EXPECT_EQ(counted.at("launches").size(), 1);
  EXPECT_FALSE(launch.at("meets")) << "a chain's warps work by themselves";
  EXPECT_EQ(launch.at("last_wave"), 1);
  const double total = at_once + 0.5 * counted.at("waits").get<double>() + counted.at("launch_us").get<double>() +
                       counted.at("fit").at("fill_us").get<double>();
  EXPECT_NEAR(predicted("roofline", "H200").at("total_us"), total, 1e-9 * total);
}

TEST_F(Measured, WritesOverItsOwnRowsAndNothingElse) {
  const std::string path = file_of({bench_row("fftconv_f16_circular_l1024_b8_h768", 9)}), before = read_file(path);
  const Ran over_input = run({"model", "--measured", path, "--json", path});
  EXPECT_EQ(over_input.code, 2);
  EXPECT_THAT(over_input.err, HasSubstr("is the file of --json, must be another one"));
  EXPECT_EQ(read_file(path), before);
  write_file(folder_ / "notes.txt", "my only copy");
  EXPECT_EQ(run({"model", "--measured", path, "--json", folder_ / "notes.txt"}).code, 2);
  EXPECT_EQ(read_file(folder_ / "notes.txt"), "my only copy");
  for (int time = 0; time < 2; ++time)
    EXPECT_EQ(run({"model", "--measured", path, "--json", folder_ / "predictions.jsonl"}).code, 0);
}

TEST_F(Measured, RefusesWhatItCannotDo) {
  const std::string path = file_of({bench_row("fftconv_f16_circular_l1024_b8_h768", 9)});
  EXPECT_THAT(run({"model", "--measured", path, "--json", "/nowhere/at/all.jsonl"}).err,
              HasSubstr("/nowhere/at/all.jsonl"));
  const Ran two = run({"model", "--measured", path, "--profile", "H200", "--profile", "A100-40GB"});
  EXPECT_EQ(two.code, 2);
  for (const std::string option : {"overlap", "warp-rate", "wait"})
    EXPECT_THAT(run({"model", "--measured", path, "--" + option, "2"}).err,
                HasSubstr(option + " with --measured: plots/make.py fits it"));
  EXPECT_THAT(two.err, HasSubstr("2 profiles, --measured takes that of the device that was measured"));
}

}  // namespace
}  // namespace danaus
