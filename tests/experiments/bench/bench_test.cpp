// danaus bench: what it asks, checks and refuses; on a GPU, where there is one, what its rows hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "experiments/bench/checked_rows.hpp"
#include "experiments/bench/parts.hpp"
#include "experiments/bench/stale_rows.hpp"
#include "experiments/bench/sweeps.hpp"
#include "experiments/bench/timings.hpp"
#include "experiments/methods/as_convolution.hpp"
#include "experiments/methods/execution.hpp"
#include "experiments/methods/method.hpp"
#include "experiments/methods/runner.hpp"
#include "experiments/operations/subject.hpp"
#include "experiments/operations/work.hpp"
#include "experiments/timing/array_noise.hpp"
#include "experiments/timing/difference.hpp"
#include "experiments/timing/noise.hpp"
#include "experiments/timing/statistics.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/device/halves.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/chunks.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/compare.hpp"
#include "reference/spectral/spectral.hpp"
#include "reference/state/recurrence.hpp"
#include "reference/step/step.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Bench, SweepsAreCasesThatTheKernelsCompute) {
  std::set<std::string> parts, whole;
  for (const CaseSweep& sweep : case_sweeps())
    for (const Case& asked : sweep.cases()) {
      EXPECT_EQ(parse_case(asked.token()).token(), asked.token());
      EXPECT_EQ(obstacle(timed_method(kPlan), asked, Device()), std::nullopt) << asked.token();
      const auto* problem = asked.as<Convolution>();
      const std::set<std::string_view> others = {"lengths",   "whole-call", "odd-batches", "long",
                                                 "extension", "sparse",     "sparse-long"};
      if (problem && problem->factors.empty() && !others.contains(sweep.name))
        (&sweep == &case_sweeps().front() ? whole : parts).insert(asked.token());
    }
  EXPECT_EQ(whole, parts)
      << "the first sweep holds all fused ones that leave the factors to the plan, but for lengths and calls";
  EXPECT_TRUE(whole.contains("fftconv_f16_circular_l32768_b64_h768"));
}

// Rows of a case together; not those that stand, of another device or of a kernel that was asked for by name.
TEST(Bench, StaleRowsAreTimedAgain) {
  const Folder folder;
  const std::string path = folder / "rows.jsonl";
  const std::string one = "fftconv_f16_circular_l256_b2_h2", two = "fftconv_f16_causal_l256_b2_h2";
  const std::string_view device = "NVIDIA H200";
  const auto row = [&](const std::string& token, const char* method, const char* on = "NVIDIA H200") {
    return Json{{"kind", "bench"},
                {"case", token},
                {"method", method},
                {"device", {{"name", on}, {"sm", 90}, {"multiprocessors", 132}}},
                {"code", "an older one"}};
  };
  Json current = row(two, "copy"), named = row(two, "kernel");
  current["code"] = code_of_baseline("copy");
  named["asked_kernel"] = "chain_f16_pair_256_r1";
  std::string lines;
  for (const Json& each :
       {row(one, "kernel"), row(two, "kernel"), row(one, "copy"), current, named, row(one, "kernel", "another")})
    lines += each.dump() + '\n';
  write_file(path, lines);
  std::vector<std::string> found;
  for (const TimedCase& timed : stale_rows(path, device))
    found.push_back(text(timed.asked.token(), ' ', timed.method->name));
  EXPECT_THAT(found, ElementsAre(one + " kernel", one + " copy", two + " kernel"));
  write_file(path, R"({"kind": "random"})");
  EXPECT_THROW(stale_rows(path, device), std::invalid_argument);
  EXPECT_THAT(run({"bench", "--stale"}).err, HasSubstr("--stale needs --json FILE"));
}

TEST(Bench, SweepsHaveTheCasesOfTheTables) {
  const auto tokens = [](std::string_view sweep) {
    std::set<std::string> words;
    for (const Case& asked : case_sweep("test", sweep).cases()) words.insert(asked.token());
    return words;
  };
  EXPECT_TRUE(tokens("long").contains("fftconv_f16_causal_l4194304_b64_h3"));
  EXPECT_TRUE(
      tokens("sparse-long").contains("fftconv_f16_circular_l2097152_b64_h6_n2097152_pair_r64x32x32x32_zero16x16x4x4"));
  for (const char* word : {"fftconv_f16_causal_l8192_b64_h768", "fftconv_f16_causal_l1048576_k8192_b64_h12",
                           "fftconv_f16_causal_l4000000_k450000_b64_h3"})
    EXPECT_TRUE(tokens("extension").contains(word)) << word;
  for (const char* word :
       {"spectral_f32_tf32_b32_c64x64_l128x128_m16x16_twosided", "spectral_bf16_b32_c64x64_l1024_m16",
        "spectral_f32_complex_b1024_c64x64_l128_m64_shared_channelmajor"})
    EXPECT_TRUE(tokens("spectral-types").contains(word)) << word;
  EXPECT_TRUE(tokens("spectral-gradients").contains("spectralgrad_f32_tf32_b32_c64x64_l1024_m16"));
  for (const char* word : {"fftconvgrad_f16_circular_l2048_b64_h768", "fftconvgrad_f16_circular_l1048576_b64_h12"})
    EXPECT_TRUE(tokens("gradients").contains(word)) << word;
  for (const char* word : {"fftconvstep_f16_causal_l32768_b64_h768", "fftconvstep_bf16_circular_l4096_b64_h768",
                           "fftconvstep_f16_circular_l256_b64_h768_pregate_postgate"})
    EXPECT_TRUE(tokens("step").contains(word)) << word;
  std::set<std::string> of_peers;
  std::istringstream lines(read_file(std::string(DANAUS_RESULTS) + "/h200_fno.csv"));
  ASSERT_TRUE(lines.rdbuf()->in_avail() > 0);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#') || line.starts_with("axes")) continue;
    std::vector<std::string> cells;
    std::istringstream words(line);
    for (std::string cell; std::getline(words, cell, ',');) cells.push_back(cell);
    const bool plane = cells[0] == "2";
    const auto twice = [&](const std::string& word) { return plane ? word + "x" + word : word; };
    of_peers.insert(text("spectral_f32_tf32_complex_b", cells[1], "_c", cells[3], "x", cells[4], "_l", twice(cells[2]),
                         "_m", twice("64"), "_shared_channelmajor"));
  }
  EXPECT_EQ(tokens("spectral"), of_peers);
}

TEST(Bench, LengthsAreManyAndNoFftSizes) {
  std::map<Mode, std::set<std::int64_t>> lengths;
  for (const Case& asked : case_sweep("test", "lengths").cases()) {
    const Convolution& problem = *asked.as<Convolution>();
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
    for (const Case& asked : case_sweep("test", sweep).cases())
      timed.insert(&choose(*asked.as<Convolution>(), Device()));
  for (const auto& v : variants())
    if (v->compiled && v->suits(0) && v->fold != Fold::plain && !(v->gated && v->fold == Fold::right_angle))
      all.insert(v.get());
  EXPECT_EQ(timed, all);
}

TEST(Bench, FactorizationsOfLongOnesAreAllThatThisBuildHas) {
  const std::set<int> sizes = {1 << 16, 1 << 20, 1 << 22};
  std::multiset<const Variant*> timed, all;
  for (const Case& asked : case_sweep("test", "factorizations-long").cases()) {
    const Convolution& problem = *asked.as<Convolution>();
    EXPECT_EQ(parse_convolution(token(problem)).factors, problem.factors) << "the token names them";
    timed.insert(&choose(problem, Device()));
  }
  for (const auto& v : long_variants())
    if (v->compiled && v->suits(0) && v->dtype == Dtype::f16 && !v->gated && sizes.contains(v->size))
      all.insert(v.get());
  EXPECT_EQ(timed, all) << "each once, the preferred and the others";
}

TEST(Bench, BaselinesSayWhatTheyDoNotCompute) {
  const auto why = [](const char* method, const char* token) {
    return obstacle(timed_method(method), parse_case(token), Device()).value_or("");
  };
  EXPECT_EQ(why("cufft_f32", "fftconv_f16_circular_l768_b2_h3_pregate"), "");
  EXPECT_EQ(why("cufft_pairs", "fftconv_f16_causal_l768_b2_h3"), "");
  EXPECT_THAT(why("cufft_pairs", "fftconv_f16_circular_l768_b2_h3"), HasSubstr("N=768, cuFFT takes only powers"));
  EXPECT_THAT(why("copy", "fftconv_f16_circular_l768_b2_h3_pregate"), HasSubstr("no gates"));
  EXPECT_THAT(why("cufft_f32", "fftconv_f32_circular_l768_b2_h3"), HasSubstr("dtype f32"));
  EXPECT_THAT(why("cufft_f32", "fftconv_f16_circular_l4096_b2_h3_r64x64"), HasSubstr("chooses N for itself"));
  EXPECT_EQ(why("cufft_pairs", "fftconvstep_f16_causal_l768_b2_h3_pregate"), "");
  EXPECT_THAT(why("copy", "fftconvgrad_f16_circular_l256_b2_h3"), HasSubstr("no gradients"));
  const char* layer = "spectral_f32_complex_b2_c4x4_l32_m8";
  EXPECT_EQ(why("cufft_cublas_f32", layer), "");
  EXPECT_EQ(why("copy", layer), "");
  EXPECT_THAT(why("cufft_cublas_tf32", layer), HasSubstr("asks for fp32"));
  EXPECT_THAT(why("cufft_pairs", layer), HasSubstr("no spectral layers"));
  EXPECT_THAT(why("cufft_cublas_f32", "fftconv_f16_circular_l256_b2_h3"), HasSubstr("no convolutions"));
  EXPECT_THAT(why("copy", "spectral_f32_b2_c4x8_l32_m8"), HasSubstr("u has 4 channels, y has 8"));
  EXPECT_EQ(why("cufft_f32", "shortconv_f16_causal_k4_l768_b2_h3_pregate"), "");
  EXPECT_EQ(why("cufft_pairs", "ssmconv_f16_s4_l768_b2_h3"), "");
  EXPECT_EQ(why("copy", "shortconv_f16_same_k4_l768_b2_h3_bias_channelslast"), "");
  EXPECT_EQ(why("full_fft", "shortconvgrad_f16_causal_k4_l768_b2_h3"), "");
  EXPECT_THAT(why("copy", "ssmconv_f16_s4_l768_b2_h3_final"), HasSubstr("no states"));
  EXPECT_THAT(why("cufft_f32", "ssmconv_f16_s4_l768_b2_h3_final"), HasSubstr("cufft_f32: has no state before"));
  EXPECT_THAT(why("full_fft", "shortconv_f16_same_k4_l768_b2_h3"), HasSubstr("none padded as 'same'"));
  EXPECT_THAT(why("cufft_f32", "shortconv_f16_causal_k4_l768_b2_h3_channelslast"), HasSubstr("[B, L, H]"));
  EXPECT_THAT(why("chunked_fft", "ssmconv_f16_s4_l768_b2_h3"), HasSubstr("as long as the row"));
  EXPECT_THAT(why("chunked_fft", "shortconv_f16_causal_k4_l64_b2_h3"), HasSubstr("no N is less than L=64"));
  EXPECT_THAT(why("full_fft", "fftconv_f16_circular_l256_b2_h3"), HasSubstr("says itself how"));
  EXPECT_THAT(why("kernel", "ssmconv_f32_s4_l768_b2_h3"), HasSubstr("no kernel has f32 samples"));
}

TEST(Bench, BaselinesPadWhatIsCausal) {
  const Convolution causal = parse_convolution("fftconv_f16_causal_l1000_k600_b1_h1");
  EXPECT_EQ(baseline_fft_size(Baseline::cufft_f32, causal), 1600);
  EXPECT_EQ(baseline_fft_size(Baseline::cufft_pairs, causal), 2048);
  EXPECT_EQ(baseline_fft_size(Baseline::cufft_f32, parse_convolution("fftconv_f16_circular_l1000_b1_h1")), 1000);
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
  const auto moved = [](const char* token) { return moved_bytes(parse_case(token)); };
  constexpr double kArray = 2. * 64 * 768 * 1024;
  const Convolution plain = parse_convolution("fftconv_f16_circular_l1024_b64_h768");
  EXPECT_EQ(moved_bytes(plain), 2 * kArray);
  EXPECT_EQ(moved("fftconv_bf16_causal_l1024_b64_h768_pregate_postgate"), 4 * kArray);
  EXPECT_EQ(moved("fftconvgrad_f16_circular_l1024_b64_h768"), 3 * kArray) << "dy, u; du";
  EXPECT_EQ(moved("fftconvstep_f16_circular_l1024_b64_h768"), 5 * kArray) << "10 bytes a sample";
  EXPECT_EQ(moved("fftconvgrad_f16_circular_l1024_b64_h768_pregate"), 5 * kArray) << "dy, u, w; du, dw";
  EXPECT_EQ(moved("shortconv_f16_causal_k4_l1024_b64_h768_bias_pregate"), 3 * kArray) << "not the bias";
  EXPECT_EQ(moved("shortconvgrad_f16_causal_k4_l1024_b64_h768_bias"), 3 * kArray) << "dy, u; du; not dk and dbias";
  EXPECT_EQ(moved("ssmconv_f16_s8_l1024_b64_h768_final"), 2 * kArray + 64. * 768 * 8 * 8);
  EXPECT_EQ(moved("spectral_f32_complex_b16_c32x64_l128_m64_shared"), 8. * 16 * (32 + 64) * 128);
  EXPECT_EQ(useful_flops(plain), 64. * 768 * (2 * 2.5 * 1024 * 10 + 6 * 512));
  EXPECT_EQ(useful_flops(parse_convolution("fftconv_f16_causal_l512_b64_h768")), useful_flops(plain));
}

TEST(Bench, ChecksFirstAndLastRowsAndWholePairs) {
  const CheckedRows rows = checked_rows(parse_convolution("fftconv_f16_circular_l16_b65_h100"));
  const std::vector<Block>& blocks = rows.places.front();
  EXPECT_EQ(blocks.front().first, 0);
  EXPECT_EQ(blocks.back().first, (65 * 100 - 1) * 16);
  EXPECT_EQ(std::ssize(blocks), rows.rows);
  EXPECT_GE(rows.rows, 64);
  EXPECT_EQ(rows.of, 6500);
  std::set<std::int64_t> batch;
  for (const Block& block : blocks) batch.insert(block.first / 1600);
  for (std::int64_t b : batch) EXPECT_TRUE(b == 64 || batch.contains(b ^ 1)) << b;
}

TEST(Bench, ChecksFewOfLongRowsAndWholeBatchesOfGradients) {
  const CheckedRows few = checked_rows(parse_case("fftconv_f16_circular_l1048576_b64_h12"));
  EXPECT_LE(few.rows, 16);
  EXPECT_GE(few.rows, 8);
  const CheckedRows whole = checked_rows(parse_case("fftconvgrad_f16_causal_l1000_k10_b64_h768"));
  EXPECT_EQ(whole.asked.as<Backward>()->forward.batch, 64);
  EXPECT_EQ(whole.expected.outputs.at("dk").size(), 10 * whole.rows / 64);
}

// Arrays of a case in host memory: inputs as the device would have them, outputs NaN.
struct HostArrays {
  explicit HostArrays(const Case& asked) : arrays(asked.arrays()) {
    Values filters = subject_of(asked, "test")->filters();
    for (const Array& array : arrays) {
      std::vector<double> values(static_cast<std::size_t>(array.size()), NAN);
      if (const auto made = filters.find(array.name); made != filters.end())
        values = made->second;
      else if (array.role != Role::output)
        for (std::int64_t i = 0; i < array.size(); ++i)
          values[i] = array_scale(asked, array) * noise(array_key(asked, array.name), i);
      memory.push_back(host::encode_bytes(array.dtype, values));
    }
    for (std::size_t i = 0; i < arrays.size(); ++i) at[i] = memory[i].data();
  }
  // The checked rows of outputs.
  Values outputs(const CheckedRows& rows) const {
    Values values;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i].role != Role::output) continue;
      const std::vector<double> all = decoded_bytes(arrays[i].dtype, memory[i]);
      std::vector<double>& here = values[std::string(arrays[i].name)];
      for (const Block& block : rows.places[i])
        here.insert(here.end(), all.begin() + block.first, all.begin() + block.first + block.count);
    }
    return values;
  }
  std::vector<double> values(std::string_view name) const {
    const int i = array_of(arrays, name);
    return decoded_bytes(arrays[i].dtype, memory[i]);
  }
  std::vector<Array> arrays;
  std::vector<std::vector<std::byte>> memory;
  DeviceArrays at{};
};

// What the GPU's rows are checked by finds kernels right on the executor, and what is wrong by little not.
TEST(Bench, RowsOfEveryOperationAreJudgedByTheTruth) {
  for (const char* token :
       {"fftconv_f16_causal_l300_k77_b3_h9_pregate_postgate", "fftconv_bf16_circular_l512_b10_h3",
        "fftconvgrad_f16_causal_l250_k40_b3_h10_pregate_postgate", "fftconvstep_bf16_circular_l256_b4_h2",
        "spectral_f32_tf32_complex_b10_c4x6_l32_m8_shared_channelmajor", "spectral_f16_b9_c3x5_l64_m8",
        "spectralgrad_f32_tf32_complex_b10_c14x6_l32_m8_shared_channelmajor",
        "spectralgrad_bf16_b9_c13x5_l16x18_m4x5_twosided", "shortconv_bf16_causal_k4_l300_b10_h9_bias_pregate",
        "shortconv_f16_same_k20_l100_b9_h40_channelslast",
        "shortconvgrad_f16_causal_k12_l200_b3_h10_bias_pregate_postgate",
        "shortconvgrad_bf16_same_k5_l90_b2_h40_channelslast", "ssmconv_f16_s20_l200_b10_h9_initial_final",
        "ssmconv_bf16_s3_l20_b3_h2_final"}) {
    SCOPED_TRACE(token);
    const Case asked = parse_case(token);
    const CheckedRows rows = checked_rows(asked);
    HostArrays arrays(asked);
    const auto runner = make_plan_runner(asked, executor_machine());
    runner->set_filters(arrays.at, nullptr);
    runner->launch(arrays.at, nullptr);
    const Values right = arrays.outputs(rows);
    const Json verdict = verdict_on_rows(rows, right, *runner);
    EXPECT_EQ(verdict["status"], "passed") << verdict;
    EXPECT_EQ(verdict.contains("outputs"), right.size() > 1);
    EXPECT_GE(runner->kept_bytes(), runner->prepared_bytes());
    for (const auto& [output, values] : right) {
      Values wrong = right;
      for (double& value : wrong[output]) value *= 1.03;
      const Json failed = verdict_on_rows(rows, wrong, *runner);
      EXPECT_EQ(failed["status"], "failed") << output;
      EXPECT_EQ(failed.value("output", output), output);
      wrong[output] = right.at(output);
      wrong[output].back() = NAN;
      EXPECT_EQ(verdict_on_rows(rows, wrong, *runner)["status"], "failed") << output;
    }
  }
}

// Parts one after the other are the plan, bit by bit.
TEST(Bench, PartsAreNamedByTheirOutputs) {
  const auto names = [](const char* token) {
    const Case asked = parse_case(token);
    HostArrays whole(asked), by_parts(asked);
    const auto runner = make_plan_runner(asked, executor_machine());
    runner->set_filters(whole.at, nullptr);
    runner->launch(whole.at, nullptr);
    const Parts parts(asked, executor_machine());
    std::vector<std::string> names;
    for (const Part& part : parts.bound_to(by_parts.at)) {
      names.push_back(part.name);
      for (const Launch& launch : part.launches) parts.machine().launch(launch, nullptr);
    }
    EXPECT_EQ(whole.memory, by_parts.memory) << token;
    return names;
  };
  EXPECT_THAT(names("fftconv_f16_causal_l300_b2_h2"), ElementsAre("filter", "y"));
  EXPECT_THAT(names("spectralgrad_f32_tf32_b9_c3x5_l64_m8"),
              ElementsAre("filter", "du", "dw layer", "dw layer_gradient"));
  EXPECT_THAT(names("fftconvstep_f16_circular_l512_b2_h2_pregate_postgate"),
              ElementsAre("filter", "y", "du+dpregate+dpostgate chain_gradient", "dk taps",
                          "du+dpregate+dpostgate+dk rescaled"));
  EXPECT_THAT(names("fftconvgrad_f16_causal_l300_b2_h2_pregate_postgate"),
              ElementsAre("filter", "du", "dpregate", "dpostgate", "dk chain_gradient", "dk taps", "dk rescaled"));
  EXPECT_THAT(names("spectral_f32_b2_c3x5_l64_m8"), ElementsAre("filter", "y"));
  EXPECT_THAT(names("spectral_f32_tf32_complex_b2_c3x5_l32x16_m8x4_shared"), ElementsAre("filter", "y"));
  EXPECT_THAT(names("shortconvgrad_f16_causal_k4_l64_b2_h3_postgate"), ElementsAre("filter", "du", "dpostgate", "dk"));
  EXPECT_THAT(names("ssmconv_f16_s4_l1100_b1_h2"), ElementsAre("filter", "y"));
}

// What times a case by another operation gives its outputs, from its own arrays.
TEST(Bench, ShortConvolutionsGoByFftsToo) {
  for (const char* token : {"shortconv_bf16_causal_k9_l1000_b3_h2_pregate", "shortconvgrad_f16_causal_k6_l600_b2_h2"})
    for (const char* name : {"full_fft", "chunked_fft"}) {
      SCOPED_TRACE(text(token, ' ', name));
      const Method& method = timed_method(name);
      const Case asked = parse_case(token), by = method.by(method, asked, Device());
      EXPECT_EQ(asks_for_chunks(*convolution_of(by)), method.name == "chunked_fft");
      const auto runner = as_convolution(asked, by, make_plan_runner(by, executor_machine()));
      const CheckedRows rows = checked_rows(asked);
      HostArrays arrays(asked);
      runner->set_filters(arrays.at, nullptr);
      runner->launch(arrays.at, nullptr);
      const Json verdict = verdict_on_rows(rows, arrays.outputs(rows), *runner);
      EXPECT_EQ(verdict["status"], "passed") << verdict;
    }
}

TEST(Bench, AFilterMayBeMadeForAConvolution) {
  const Method& full = timed_method("full_fft");
  const Case asked = parse_case("ssmconv_f16_s6_l300_b2_h3"), by = full.by(full, asked, Device());
  HostArrays arrays(asked);
  const StateInputs filters = make_filters(*asked.as<StateSpace>());
  const std::vector<double> taps =
      filter_of(*asked.as<StateSpace>(), {arrays.values("u"), filters.a, filters.b, filters.c, {}});
  std::vector<float> k(taps.begin(), taps.end());
  const auto runner = as_convolution(
      asked, by, make_plan_runner(by, executor_machine()),
      [&](const DeviceArrays&, Stream) -> void* { return k.data(); }, 7);
  const CheckedRows rows = checked_rows(asked);
  runner->set_filters(arrays.at, nullptr);
  runner->launch(arrays.at, nullptr);
  const Json verdict = verdict_on_rows(rows, arrays.outputs(rows), *runner);
  EXPECT_EQ(verdict["status"], "passed") << verdict;
  EXPECT_EQ(runner->kept_bytes(), make_plan_runner(by, executor_machine())->kept_bytes() + 7);
}

TEST(Bench, PrintsWhatARowHasAndSaysWhyItHasNoTime) {
  std::ostringstream out, err;
  Timings timings(out, err, 40);
  const Json series = {{"median", 120.0}, {"q1", 119.0}, {"q3", 122.0}, {"clock_mhz", 1780.2}};
  timings.add({{"case", "fftconv_f16_circular_l1024_b64_h768"},
               {"method", "kernel"},
               {"verify", {{"status", "passed"}, {"clearance", 0.5}}},
               {"time_us", {{"burst_cold", series}}},
               {"parts_us", {{"filter", {{"median", 5.0}}}, {"y", {{"median", 110.0}}}}},
               {"floor", {{"us", 50.0}}}});
  timings.add({{"case", "fftconv_f16_circular_l768_b64_h768"},
               {"method", "cufft_pairs"},
               {"verify", {{"status", "skipped"}, {"reason", "powers of two"}}}});
  timings.print_summary();
  EXPECT_THAT(out.str(), HasSubstr("120.0      3.0     2.40   1780"));
  EXPECT_THAT(out.str(), HasSubstr("  alone, us: filter 5.0, y 110.0\n"));
  EXPECT_THAT(out.str(), HasSubstr("2 rows: 1 passed and timed, 0 failed, 1 skipped"));
  EXPECT_THAT(err.str(), HasSubstr("powers of two"));
  EXPECT_EQ(timings.failed(), 0);
}

TEST(Bench, RefusesBadWordsBeforeItLooksForAGpu) {
  EXPECT_THAT(run({"bench", "--sweep", "fast"}).err, HasSubstr("sweep 'fast', must be one of speed, fp16"));
  EXPECT_THAT(run({"bench", "--method", "cudnn"}).err, HasSubstr("method 'cudnn', must be one of kernel, full_fft"));
  EXPECT_THAT(run({"bench", "--launches", "0"}).err, HasSubstr("launches=0, must be at least 1"));
  EXPECT_THAT(run({"bench", "--launches", "101"}).err, HasSubstr("launches=101, must be at most 100"));
  EXPECT_THAT(run({"bench", "--case", "x", "--sweep", "fp16"}).err,
              HasSubstr("bench: --case x and --sweep fp16 were both given"));
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
  std::vector<std::string> words = {"bench", "--repetitions", "2", "--json", folder / "bench.jsonl"};
  for (const char* token :
       {"fftconv_f16_circular_l1024_b5_h3", "fftconv_bf16_causal_l300_k77_b3_h2_pregate_postgate",
        "fftconvstep_f16_circular_l512_b5_h3", "fftconvgrad_bf16_causal_l300_k77_b3_h2_pregate_postgate",
        "fftconvstep_bf16_causal_l1000_b3_h2_pregate_postgate",
        "spectral_f32_tf32_complex_b5_c8x8_l128_m64_shared_channelmajor", "spectral_f32_b5_c8x4_l64_m16",
        "spectral_f32_b2_c4x8_l20x32_m7x17_twosided", "shortconv_bf16_causal_k4_l1000_b3_h2",
        "shortconvgrad_f16_same_k20_l300_b3_h9_bias_channelslast", "ssmconv_f16_s20_l600_b3_h2"})
    words.insert(words.end(), {"--case", token});
  ASSERT_EQ(run(words).code, 0) << run(words).err;
  const std::string once = read_file(folder / "bench.jsonl");
  std::istringstream lines(once);
  std::vector<std::string> methods;
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line);
    const std::string operation = row.at("case").get<std::string>().substr(0, row["case"].get<std::string>().find('_'));
    methods.push_back(row.at("method"));
    if (row.at("verify").at("status") == "skipped" && methods.back().starts_with("cufft_cublas")) continue;
    EXPECT_EQ(row.at("verify").at("status"), "passed") << line;
    EXPECT_EQ(row.at("verify").at("nonfinite"), 0);
    EXPECT_EQ(row.at("time_us").at("burst_cold").at("samples").size(), 2);
    EXPECT_GT(row.at("time_us").at("sustained_cold").at("median"), 0);
    EXPECT_GT(row.at("floor").at("us"), 0);
    const bool is_kernel = row.at("method") == "kernel", is_copy = row.at("method") == "copy";
    const bool is_step = operation == "fftconvstep" || operation.ends_with("grad");
    const bool by_plan = is_kernel || row.at("method") == "full_fft" || row.at("method") == "chunked_fft";
    EXPECT_EQ(row.at("floor").contains("with_spectrum_us"), by_plan);
    EXPECT_EQ(row.value("ratios", Json::object()).contains("kernel"), !is_kernel);
    EXPECT_EQ(row.contains("parts_us"), is_kernel && is_step) << line;
    EXPECT_EQ(row.at("memory").at("kept_bytes") > 0, !is_copy);
    const Json& every = row.at("verify").at("every");
    if (every.contains("against") && operation != "spectral") {
      EXPECT_EQ(every.at("against"), is_kernel ? "cufft_f32" : is_copy ? "u" : "kernel");
      EXPECT_EQ(every.at("rows"), row.at("verify").at("of").get<int>() * every.at("sets").get<int>());
    }
  }
  EXPECT_THAT(methods, ElementsAre("kernel", "copy", "cufft_f32", "cufft_pairs", "kernel", "cufft_f32", "cufft_pairs",
                                   "kernel", "cufft_f32", "cufft_pairs", "kernel", "cufft_f32", "cufft_pairs", "kernel",
                                   "cufft_f32", "cufft_pairs", "kernel", "copy", "cufft_cublas_f32",
                                   "cufft_cublas_tf32", "kernel", "cufft_cublas_f32", "kernel", "cufft_cublas_f32",
                                   "kernel", "full_fft", "chunked_fft", "copy", "cufft_f32", "cufft_pairs", "kernel",
                                   "kernel", "full_fft", "copy", "cufft_f32", "cufft_pairs"));
  ASSERT_EQ(run(words).code, 0);
  EXPECT_EQ(read_file(folder / "bench.jsonl"), once) << "rows that stand are not made again";
}

}  // namespace
}  // namespace danaus
