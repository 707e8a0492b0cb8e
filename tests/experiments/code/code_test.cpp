// Which code rows are of: what changes the digest, and what danaus stale says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "experiments/code/machine_code.hpp"
#include "experiments/code/row_code.hpp"
#include "experiments/operations/study.hpp"
#include "experiments/random/random_case.hpp"
#include "kernels/cpu/program_work.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

const Json kH200 = {{"name", "NVIDIA H200"}, {"sm", 90}, {"multiprocessors", 132}, {"l2_bytes", 62914560}};

Code of_kernel(const char* token, const Device& device = device_of(kH200)) {
  return code_of(timed_method(kPlan), parse_case(token), device);
}

// A row, as far as its code depends on it.
Json row_of(const std::string& method, const std::string& code, const char* token = "fftconv_f16_circular_l512_b2_h2") {
  return {{"schema", 1}, {"kind", "bench"}, {"case", token}, {"method", method}, {"device", kH200}, {"code", code}};
}

TEST(Code, IsOfWhatIsLaunchedAndHow) {
  const char* const token = "fftconv_f16_circular_l512_b64_h768";
  const Code code = of_kernel(token);
  EXPECT_EQ(code.sources, of_kernel(token).sources);
  for (const char* other : {"fftconv_bf16_circular_l512_b64_h768", "fftconv_f16_circular_l512_b64_h768_pregate",
                            "fftconv_f16_circular_l512_b64_h768_r32x16", "fftconv_f16_circular_l512_b1_h1",
                            "fftconvgrad_f16_circular_l512_b64_h768", "fftconv_f16_circular_l65536_b64_h768"})
    EXPECT_NE(code.sources, of_kernel(other).sources) << other;
  Device fewer = device_of(kH200);
  fewer.multiprocessors = 66;
  EXPECT_NE(code.sources, of_kernel(token, fewer).sources) << "fewer blocks";
  fewer = device_of(kH200), fewer.name = "another";
  EXPECT_EQ(code.sources, of_kernel(token, fewer).sources);
  EXPECT_EQ(of_kernel("fftconv_f64_circular_l512_b1_h1").machine, "no kernel");
}

TEST(Code, OtherWaysAreOfTheirConvolution) {
  const Device device = device_of(kH200);
  EXPECT_EQ(code_of(timed_method("full_fft"), parse_case("shortconv_f16_causal_k64_l1000_b2_h3"), device).sources,
            of_kernel("fftconv_f16_causal_l1000_k64_b2_h3_rightangle").sources);
  EXPECT_EQ(code_of_baseline("cufft_cublas_tf32"), code_of_baseline("cufft_cublas_f32"));
  EXPECT_NE(code_of_baseline("cufft_f32"), code_of_baseline("cufft_pairs"));
  for (const Method& method : timed_methods())
    EXPECT_EQ(code_of_baseline(method.name) == "no baseline", method.runs_plan) << method.name;
}

TEST(Code, ARowsStandingIsThatOfItsCode) {
  const Code code = of_kernel("fftconv_f16_circular_l512_b2_h2");
  EXPECT_EQ(standing_of(row_of("kernel", code.words())), Standing::current);
  EXPECT_EQ(standing_of(row_of("kernel", "sources:" + code.sources)), Standing::current);
  EXPECT_EQ(standing_of(row_of("kernel", "sources:another")), Standing::stale);
  EXPECT_EQ(standing_of(row_of("kernel", "another")), code.machine.empty() ? Standing::unknown : Standing::stale);
  EXPECT_EQ(standing_of(row_of("copy", code_of_baseline("copy"))), Standing::current);
  EXPECT_EQ(standing_of(row_of("copy", "another")), Standing::stale);
  Json clocked = row_of("copy", code_of_baseline("copy"));
  clocked["stopwatch"] = kRevision.stopwatch;
  EXPECT_EQ(standing_of(clocked), Standing::current);
  clocked["stopwatch"] = "another";
  EXPECT_EQ(standing_of(clocked), Standing::stale);
  EXPECT_FALSE(standing_of({{"kind", "verify"}}));
}

// So that rows of random cases age with what they ran, and with nothing else.
TEST(Code, PlansForAnOperationRunTheFamiliesThatItNames) {
  const Device device = device_of(kH200);
  for (const StudiedOperation& operation : studied_operations()) {
    const std::set<std::string> named = operation.families();
    for (int number = 0; number < 150; ++number) {
      const Case asked = random_case(1, number, operation.word).asked;
      visit_launches(asked, device, [&](const Launch& launch, std::span<const std::uint32_t>) {
        EXPECT_TRUE(named.contains(std::string(launch.kernel.family))) << asked.token() << ": " << launch.kernel.family;
      });
    }
    EXPECT_NE(code_of_operation(operation.word, device).sources, code_of_all_kernels(device).sources);
  }
  EXPECT_EQ(code_of_operation("layer", device).words(), "no kernel");
}

TEST(Code, TestsOnTheExecutorAreOfTheSources) {
  EXPECT_EQ(code_of_all_kernels(Device()).words(), kRevision.kernels);
  EXPECT_NE(code_of_all_kernels(device_of(kH200)).words(), kRevision.kernels);
}

TEST(Stale, JudgesEveryRowOfAFolder) {
  const Folder folder;
  const Code code = of_kernel("fftconv_f16_circular_l512_b2_h2");
  const std::string verdicts = folder / "verdicts.json", rows = folder / "bench.jsonl";
  write_file(rows, row_of("kernel", "sources:" + code.sources).dump() + '\n' + row_of("copy", "another").dump() + '\n');
  write_file(folder / "verify.jsonl", R"({"kind": "verify"})"
                                      "\n");
  EXPECT_EQ(run({"stale", folder / ".", "--check"}).code, 1);
  const Ran ran = run({"stale", folder / "."});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("bench.jsonl        1      1        0"));
  const Json said = Json::parse(read_file(verdicts));
  EXPECT_EQ(said.size(), 1u) << "no verdicts of rows that have none";
  EXPECT_EQ(said.at("bench.jsonl").at("stale"), Json({2}));
  EXPECT_EQ(said.at("bench.jsonl").at("unknown"), Json::array());
  EXPECT_THAT(read_file(rows), HasSubstr("\"code\":\"" + code.words() + '"')) << "in place of the sources, once known";
  EXPECT_EQ(run({"stale", folder / ".", "--check"}).code, 0);
  write_file(rows, read_file(rows) + row_of("copy", "another").dump() + '\n');
  EXPECT_THAT(run({"stale", folder / ".", "--check"}).err, HasSubstr("is not of these rows and kernels"));
}

TEST(Stale, RefusesWhatIsNoFolderOfRows) {
  const Folder folder;
  EXPECT_THAT(run({"stale", folder / "none"}).err, HasSubstr("is no folder"));
  EXPECT_THAT(run({"stale", folder / "."}).err, HasSubstr("has no result files, .jsonl"));
  EXPECT_THAT(folder.files(), testing::IsEmpty());
  write_file(folder / "bench.jsonl", "no row\n");
  EXPECT_THAT(run({"stale", folder / "."}).err, HasSubstr("bench.jsonl, line 1: is no row"));
  EXPECT_THAT(folder.files(), testing::ElementsAre("bench.jsonl"));
}

}  // namespace
}  // namespace danaus
