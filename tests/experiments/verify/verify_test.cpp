// danaus verify: right methods pass, wrong ones do not, and an interrupted sweep goes on where it stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <set>

#include "experiments/cli/environment.hpp"
#include "experiments/cli/interrupt.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/io/result_file.hpp"
#include "experiments/io/schema.hpp"
#include "experiments/verify/trials.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/registry.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

std::vector<double> right(const Convolution& problem, const Inputs& inputs) {
  return convolve(problem, inputs, Algorithm::monarch);
}
std::vector<double> one_percent_off(const Convolution& problem, const Inputs& inputs) {
  std::vector<double> y = right(problem, inputs);
  for (double& value : y) value *= 1.01;
  return y;
}
std::vector<double> nothing(const Convolution&, const Inputs& inputs) {
  return std::vector<double>(inputs.u.size(), 0.);
}
std::vector<double> not_a_number(const Convolution& problem, const Inputs& inputs) {
  std::vector<double> y = right(problem, inputs);
  y.back() = std::nan("");
  return y;
}

double bound(const Convolution& planned) { return bound_l2(planned.dtype, static_cast<int>(planned.factors.size())); }

Method method(const char* name, std::vector<double> (*compute)(const Convolution&, const Inputs&)) {
  return {.name = name, .compute = compute, .bound = &bound};
}

Ran verify_with(std::span<const Method> table, const std::vector<std::string>& words) {
  std::ostringstream out, err;
  Console console{out, err, false, {"danaus", "verify"}};
  const int code = verify(words, console, table);
  return {code, out.str(), err.str()};
}

constexpr const char* kGated = "fftconv_f16_causal_l300_b2_h2_pregate";

TEST(Verify, RightMethodsPassOnEveryKindOfCase) {
  const Ran ran = run({"verify", "--case", kGated, "--case", "fftconv_f32_circular_l64_k100_b3_h2_half", "--case",
                       "fftconv_bf16_circular_l64_b1_h2_n64_pair_r8x8_zero4x2", "--data", "heavy_tailed", "--scale",
                       "0.02", "--filter", "s4d"});
  EXPECT_EQ(ran.code, 0) << ran.out;
  const int rows = 10 + (cuda_device_count() > 0 ? 2 : 0);  // two of these in 16 bits
  EXPECT_THAT(ran.out, HasSubstr(text(rows, " rows: ", rows, " passed, 0 failed, 0 skipped")));
}

TEST(Verify, AMethodAskedForByNameSaysWhyItDoesNotComputeACase) {
  const Ran ran = run({"verify", "--case", kGated, "--case", "fftconv_f32_circular_l64_b1_h1", "--method", "kernel"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("dtype f32 has no kernel"));
  EXPECT_EQ(ran.out, "");
}

TEST(Verify, TheKernelsOfAGpuAreAMethodOfTheirOwn) {
  const std::vector<std::string> words = {"verify",
                                          "--method",
                                          "gpu",
                                          "--case",
                                          "fftconv_bf16_circular_l256_b3_h2_n256_pair_r16x16_zero8x0",
                                          "--case",
                                          "fftconv_f16_causal_l1000_b3_h2_postgate",
                                          "--scale",
                                          "0.02",
                                          "--json",
                                          "-"};
  const Ran ran = run(words);
  if (cuda_device_count() == 0) {
    EXPECT_EQ(ran.code, 77);
    EXPECT_THAT(ran.err, HasSubstr("no CUDA device; --method gpu needs a GPU"));
    for (const Trial& trial : trial_sweeps().front().trials(judged_methods())) EXPECT_NE(trial.method.name, kOnGpu);
    return;
  }
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json row = Json::parse(ran.out.substr(0, ran.out.find('\n')));
  EXPECT_EQ(row.at("device").at("name"), cuda_device().name);
}

// A plan for an A100 has other kernels, since it has no clusters.
TEST(Verify, LaunchesMayBeThoseOfAnotherDevice) {
  const auto verified = [](const std::vector<std::string>& profile) {
    std::vector<std::string> words = {"verify", "--json", "-", "--method", "kernel"};
    words.insert(words.end(), {"--case", "fftconv_f16_circular_l65536_b2_h1"});
    words.insert(words.end(), profile.begin(), profile.end());
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 0) << ran.err << ran.out;
    return Json::parse(ran.out.substr(0, ran.out.find('\n')));
  };
  EXPECT_FALSE(verified({}).contains("device"));
  const Json row = verified({"--profile", "A100-40GB"});
  EXPECT_EQ(row.at("device").at("name"), "executor (A100-40GB)");
  EXPECT_EQ(row.at("device").at("multiprocessors"), 108);
  EXPECT_EQ(violation("verify", row).value_or(""), "");
  const std::string cluster = choose(parse_convolution("fftconv_f16_circular_l65536_b2_h1"), Device()).name;
  const Ran refused =
      run({"verify", "--case", "fftconv_f16_circular_l65536_b2_h1", "--profile", "A100-40GB", "--kernel", cluster});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr(cluster));
  for (const std::vector<std::string>& others :
       {std::vector<std::string>{"--method", "fftw"}, {"--device", "0"}, {"--bits"}}) {
    std::vector<std::string> words = {"verify", "--case", kGated, "--profile", "H100"};
    words.insert(words.end(), others.begin(), others.end());
    EXPECT_THAT(run(words).err, HasSubstr("verify: --profile is of"));
  }
  EXPECT_THAT(run({"verify", "--profile", "H100"}).err, HasSubstr("--profile is for the cases given by --case"));
}

TEST(Verify, TheMatrixHasEachRowOnceAndEveryKernelOfTheExecutorsDevice) {
  std::set<std::string> rows, verified, all;
  for (const Trial& trial : trial_sweeps().front().trials(judged_methods())) {
    EXPECT_TRUE(rows.insert(identity(describe(trial))).second) << repeat_command(trial);
    const auto* problem = trial.asked.as<Convolution>();
    if (problem && trial.method.name == "kernel") verified.insert(choose(*problem, Device()).name);
  }
  for (const auto& variant : variants())
    if (variant->compiled && variant->suits(0)) all.insert(variant->name);
  EXPECT_TRUE(std::ranges::includes(verified, all));  // and long ones, of several launches
}

TEST(Verify, WrongMethodsFailAndSayHowToRepeatIt) {
  for (const Method& wrong :
       {method("wrong", one_percent_off), method("wrong", nothing), method("wrong", not_a_number)}) {
    const Ran ran =
        verify_with(std::array{wrong}, {"--case", kGated, "--scale", "0.02", "--filter", "hyena", "--seed", "3"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.out, HasSubstr("1 rows: 0 passed, 1 failed"));
    EXPECT_THAT(ran.out, HasSubstr(std::string("repeat: danaus verify --case ") + kGated +
                                   " --method wrong --scale 0.02 --filter hyena --seed 3\n"));
  }
}

// Where rounding noise alone may reach 1.5 %: the gain tells.
// The case has 16 bits, but a method in double is not judged by its coarse smallest numbers.
TEST(Verify, AnErrorOfAMillionthOfAPercentFailsInDouble) {
  const auto off = [](const Convolution& problem, const Inputs& inputs) {
    std::vector<double> y = right(problem, inputs);
    for (double& value : y) value *= 1 + 1e-8;
    return y;
  };
  const auto bound_of_double = [](const Convolution& p) {
    return bound_l2(Dtype::f64, static_cast<int>(p.factors.size()));
  };
  for (const auto& [compute, code] : {std::pair(+off, 1), {&right, 0}}) {
    Method in_double = method("double", compute);
    in_double.bound = bound_of_double, in_double.in_double = true;
    EXPECT_EQ(verify_with(std::array{in_double}, {"--case", kGated}).code, code);
  }
}

TEST(Verify, AScaleErrorOfOnePercentFailsInBf16) {
  const auto rounded_and_off = [](const Convolution& problem, const Inputs& inputs) {
    std::vector<double> y = convolve_rounded(problem, inputs);
    for (double& value : y) value *= 1.01;
    return y;
  };
  for (const char* word : {"fftconv_bf16_circular_l1024_b2_h4_n1024_pair_r32x32", "fftconv_bf16_causal_l4096_b2_h1"}) {
    EXPECT_EQ(run({"verify", "--case", word, "--method", "rounded"}).code, 0);
    const Ran ran = verify_with(std::array{method("off", rounded_and_off)}, {"--case", word});
    EXPECT_THAT(ran.out, HasSubstr("1 rows: 0 passed, 1 failed"));
  }
}

// y is one sample of u, or u in another place; errors come from all of u.
TEST(Verify, AFilterOfOneLastTapPassesAndOnePercentOffFails) {
  const std::vector<std::string> words = {
      "--case", "fftconv_f16_causal_l1000_b3_h4", "--case", "fftconv_f16_circular_l1024_b3_h4", "--filter", "last_tap"};
  std::vector<std::string> all = {"verify"};
  all.insert(all.end(), words.begin(), words.end());
  const Ran ran = run(all);
  EXPECT_EQ(ran.code, 0) << ran.out;
  const int rows = cuda_device_count() > 0 ? 10 : 8;
  EXPECT_THAT(ran.out, HasSubstr(text(rows, " rows: ", rows, " passed, 0 failed, 0 skipped")));
  const auto kernel_off = [](const Convolution& problem, const Inputs& inputs) {
    std::vector<double> y = convolve_rounded(problem, inputs);
    for (double& value : y) value *= 1.01;
    return y;
  };
  EXPECT_THAT(verify_with(std::array{method("off", kernel_off)}, words).out, HasSubstr("2 rows: 0 passed, 2 failed"));
}

// Every output by itself, and the products that tie gradients together.
TEST(Verify, OtherOperationsAreJudgedOutputByOutput) {
  const Ran ran =
      run({"verify", "--case", "fftconvgrad_f16_causal_l250_k40_b2_h3_pregate_postgate", "--case",
           "fftconvstep_bf16_circular_l256_b2_h2", "--case", "spectral_f32_tf32_b2_c5x4_l32_m8", "--json", "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::vector<std::set<std::string>> outputs = {{"du", "dk", "dpregate", "dpostgate"}, {"y", "du", "dk"}, {"y"}};
  std::istringstream lines(ran.out);
  std::string line;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    do std::getline(lines, line);
    while (Json::parse(line).at("method") != "kernel");
    const Json row = Json::parse(line);
    std::set<std::string> judged;
    for (const auto& [name, verdict] : row.at("outputs").items()) {
      judged.insert(name);
      EXPECT_EQ(verdict.at("status"), "passed") << line;
      EXPECT_LE(verdict.at("clearance"), row.at("verify").at("clearance"));
    }
    EXPECT_EQ(judged, outputs[i]);
    EXPECT_EQ(row.contains("adjoint"), i < 2);
    if (i < 2) {
      EXPECT_LT(row.at("adjoint").at("clearance"), 1);
    }
  }
}

TEST(Verify, OtherOperationsSayWhatTheyDoNotTake) {
  const char* gradient = "fftconvgrad_f16_causal_l100_b1_h1";
  EXPECT_THAT(run({"verify", "--case", gradient, "--method", "fftw"}).err,
              HasSubstr(text("method fftw computes convolutions; of ", gradient, " there are kernel and gpu")));
  EXPECT_THAT(run({"verify", "--case", "ssmconv_f16_s4_l64_b1_h2", "--data", "uniform"}).err,
              HasSubstr("has Gaussian data alone"));
  EXPECT_THAT(run({"verify", "--case", "spectral_f32_b1_c4x4_l16_m4", "--scale", "3"}).err,
              HasSubstr("has Gaussian data alone"));
  EXPECT_EQ(run({"verify", "--case", gradient, "--data", "heavy_tailed", "--filter", "s4d", "--scale", "0.02"}).code,
            0);
}

// Noise of Gaussian data at so many bounds.
template <int percent>
std::vector<double> noisy(const Convolution& problem, const Inputs& inputs) {
  const Convolution p = planned(problem);
  std::vector<double> y = right(problem, inputs);
  DataSpec other;
  other.seed = 99;
  const std::vector<double> noise = make_inputs(problem, other).u;
  double y_square = 0, noise_square = 0;
  for (std::size_t i = 0; i < y.size(); ++i) y_square += y[i] * y[i], noise_square += noise[i] * noise[i];
  const double scale = percent / 100. * bound(p) * std::sqrt(y_square / noise_square);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += scale * noise[i];
  return y;
}

Method careful(std::vector<double> (*compute)(const Convolution&, const Inputs&)) {
  Method made = method("noisy", compute);
  made.usual_share = kUsualShare;
  return made;
}

TEST(Verify, GaussianDataThatTakeMoreThanTheyShouldFail) {
  const std::vector<std::string> words = {"--case", "fftconv_f16_circular_l1024_b2_h2"};
  EXPECT_EQ(verify_with(std::array{careful(noisy<55>)}, words).code, 0);
  const Ran ran = verify_with(std::array{careful(noisy<65>)}, words);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out + ran.err, HasSubstr("such data take at most 0.6 of the bound, not 0.65"));
  std::vector<std::string> other = words;
  other.insert(other.end(), {"--data", "heavy_tailed"});
  EXPECT_EQ(verify_with(std::array{careful(noisy<65>)}, other).code, 0) << "they may";
}

TEST(Verify, OneFailureAmongManyRowsIsEnough) {
  const std::array table = {method("right", right), method("wrong", one_percent_off)};
  const Ran ran = verify_with(table, {"--case", kGated, "--case", "fftconv_f16_circular_l8_b1_h1", "--summary"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("4 rows: 2 passed, 2 failed"));
}

TEST(Verify, OneSidedScalingFailsInHalfAtSmallScale) {
  const std::vector<std::string> words = {
      "verify", "--case", "fftconv_f16_circular_l16384_b2_h1_pair", "--method", "rounded", "--scale", "0.02"};
  EXPECT_EQ(run(words).code, 0);
  std::vector<std::string> one_side = words;
  one_side.insert(one_side.end(), {"--scaling", "one_side"});
  const Ran ran = run(one_side);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("--scaling one_side --scale 0.02\n"));
}

TEST(Verify, RowsHaveTheFormThatFiguresRead) {
  const Ran ran = run({"verify", "--case", kGated, "--json", "-"});
  std::istringstream lines(ran.out);
  std::vector<std::string> methods;
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line);
    EXPECT_EQ(row.at("schema"), 1);
    EXPECT_EQ(row.at("kind"), "verify");
    EXPECT_EQ(row.at("case"), kGated);
    methods.push_back(row.at("method"));
    EXPECT_EQ(row.contains("scaling"), methods.back() == "rounded");
    EXPECT_GE(row.at("order"), 1);
    EXPECT_EQ(row.at("data").at("kind"), "gaussian");
    EXPECT_TRUE(row.at("data").at("seed").is_string());
    const Json& verdict = row.at("verify");
    EXPECT_EQ(verdict.at("status"), "passed");
    EXPECT_LE(verdict.at("rel_l2"), verdict.at("bound"));
    EXPECT_GE(verdict.at("clearance"), verdict.at("rel_l2").get<double>() / verdict.at("bound").get<double>());
  }
  EXPECT_EQ(methods, (std::vector<std::string>{"fftw", "monarch", "rounded", "kernel"}));
  EXPECT_THAT(ran.err, HasSubstr("danaus verify\n  rows"));
}

TEST(Verify, ARecordingIsReadWhereThereIsOneAndElseSkipped) {
  const std::vector<std::string> words = {"verify", "--case", kGated,      "--method",
                                          "fftw",   "--data", "recording", "--recording"};
  const Folder folder;
  std::vector<std::string> with = words;
  with.push_back(folder / "");
  const Ran absent = run(with);
  EXPECT_EQ(absent.code, 0);
  EXPECT_THAT(absent.out, HasSubstr("0 passed, 0 failed, 1 skipped"));
  EXPECT_THAT(absent.err, HasSubstr("rows that need it are skipped"));
  with.insert(with.end(), {"--json", "-"});
  EXPECT_THAT(run(with).out, HasSubstr("no recording: " + folder / "" + " has no .wav file"));
}

TEST(Verify, ARecordingThatWasNamedIsThere) {
  const Folder folder;
  write_file(folder / "a.wav", "no folder");
  for (const std::string& named : {std::string("/nonexistent"), folder / "a.wav"}) {
    const Ran ran = run({"verify", "--case", kGated, "--data", "recording", "--recording", named});
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err, "danaus: verify: recording '" + named + "', must be a folder with .wav files\n");
  }
}

TEST(Verify, EverySweepSelectsRowsByOption) {
  const Ran ran = run({"verify", "--method", "fftw", "--data", "impulse", "--filter", "s4d", "--scale", "1"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("2 rows: 2 passed"));
}

std::atomic<int> calls;

std::vector<double> interrupted_at_the_third(const Convolution& problem, const Inputs& inputs) {
  if (++calls == 3) set_interrupt(true);
  return right(problem, inputs);
}

TEST(Verify, GoesOnWhereItWasInterrupted) {
  const Folder folder;
  const std::string path = folder / "rows.jsonl";
  std::vector<std::string> words = {"--json", path};
  for (int length = 10; length < 30; ++length) {
    words.push_back("--case");
    words.push_back("fftconv_f64_circular_l" + std::to_string(length) + "_b1_h1");
  }
  const std::array table = {method("monarch", interrupted_at_the_third)};
  calls = 0;
  EXPECT_THROW(verify_with(table, words), Interrupted);
  set_interrupt(false);
  const std::string before = read_file(path);
  EXPECT_LT(std::count(before.begin(), before.end(), '\n'), 20);

  const int made = calls;
  const Ran rest = verify_with(table, words);
  EXPECT_EQ(rest.code, 0);
  EXPECT_THAT(rest.out, HasSubstr("20 rows: 20 passed"));
  EXPECT_LE(calls - made, 20);
  const std::string after = read_file(path);
  EXPECT_EQ(after.substr(0, before.size()), before);
  EXPECT_EQ(std::count(after.begin(), after.end(), '\n'), 20);

  calls = 100;
  verify_with(table, words);
  EXPECT_EQ(calls, 100) << "nothing was left to compute";
}

TEST(Verify, AFailedRowStillFailsWhenItStands) {
  const Folder folder;
  const std::array table = {method("wrong", nothing)};
  for (int time = 0; time < 2; ++time) {
    const Ran ran = verify_with(table, {"--case", kGated, "--json", folder / "rows.jsonl"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.out, HasSubstr("repeat: danaus verify"));
  }
}

TEST(Verify, AnInterruptIsExit130) {
  set_interrupt(true);
  const Ran ran = run({"verify", "--case", kGated});
  set_interrupt(false);
  EXPECT_EQ(ran.code, 130);
  EXPECT_THAT(ran.err, HasSubstr("interrupted after 0 of 4 rows"));
}

// What outputs of every kind of kernel take of their bounds, on Gaussian data: 0.3 where constants that are rounded are
// counted too, some of which are exact, 0.4 where few operands are rounded and none of them is. It is a number of the
// kernel's arithmetic that hardly depends on the data: a bound that counts half of the roundings, or twice as many, is
// 1.4 times off it.
TEST(Verify, OutputsTakeTheSameShareOfTheirBounds) {
  struct Expected {
    const char *token, *output;
    double share;
  };
  constexpr double kOff = 1.15;
  for (const auto& [token, output, share] : std::to_array<Expected>({
           {"fftconv_f16_circular_l65536_b2_h1", "y", 0.32},
           {"fftconv_f16_causal_l100000_b1_h1", "y", 0.31},
           {"fftconv_f16_causal_l20000_k500_b2_h1_n2048", "y", 0.31},
           {"fftconv_f16_circular_l4096_b2_h2_keep0to367", "y", 0.32},
           {"fftconv_bf16_circular_l4096_b2_h2", "y", 0.40},
           {"fftconvgrad_f16_circular_l512_b4_h2", "du", 0.30},
           {"fftconvgrad_f16_circular_l4096_b4_h2", "dk", 0.29},
           {"fftconvgrad_f16_causal_l1000_b4_h2_pregate_postgate", "dpostgate", 0.32},
           {"fftconvgrad_f16_circular_l65536_b2_h1", "dk", 0.30},
           {"fftconvgrad_bf16_circular_l2048_b4_h2", "dk", 0.27},
           {"spectral_f32_tf32_complex_b3_c32x64_l128_m64_shared", "y", 0.37},
           {"spectral_f32_complex_b3_c32x64_l128_m64_shared", "y", 0.25},
           {"spectral_f16_b3_c32x32_l64x64_m12x12_twosided", "y", 0.41},
           {"spectral_bf16_b5_c20x33_l100_m12", "y", 0.44},
           {"spectralgrad_f32_tf32_complex_b19_c6x10_l64_m20_shared", "dw", 0.38},
           {"spectralgrad_f16_b8_c16x16_l64_m16", "dw", 0.48},
           {"shortconv_f16_causal_k4_l700_b2_h16", "y", 0.43},
           {"shortconv_f16_causal_k64_l700_b2_h16", "y", 0.42},
           {"shortconv_bf16_causal_k64_l700_b2_h16_channelslast", "y", 0.43},
           {"shortconvgrad_f16_causal_k64_l700_b2_h16", "du", 0.42},
           {"ssmconv_f16_s64_l2000_b3_h2_initial_final", "y", 0.36},
           {"ssmconv_bf16_s64_l2000_b3_h2_initial_final", "x_final", 0.37},
       })) {
    const Ran ran = run({"verify", "--case", token, "--method", "kernel", "--json", "-"});
    ASSERT_EQ(ran.code, 0) << token << ' ' << ran.err;
    const Json row = Json::parse(ran.out);
    const Json& judged = row.contains("outputs") ? row.at("outputs").at(output) : row.at("verify");
    const double taken = judged.at("rel_l2").get<double>() / judged.at("bound").get<double>();
    EXPECT_GT(taken, share / kOff) << token << ' ' << output;
    EXPECT_LT(taken, share * kOff) << token << ' ' << output;
  }
}

}  // namespace
}  // namespace danaus
