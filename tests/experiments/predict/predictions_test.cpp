// danaus model and danaus factors: their rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Core>

#include "experiments/cli/environment.hpp"
#include "experiments/code/row_code.hpp"
#include "experiments/count/imitation.hpp"
#include "reference/dft.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

std::vector<Json> rows_of(const std::string& text) {
  std::vector<Json> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) rows.push_back(Json::parse(line));
  return rows;
}

TEST(Model, TermsAddUpAndNameTheirLimit) {
  const Ran ran = run({"model", "--case", "fftconv_f16_causal_l8192_b64_h768", "--profile", "H200", "--order", "3",
                       "--model", "eq2", "--json", "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json row = rows_of(ran.out).at(0);
  EXPECT_EQ(row.at("kind"), "model");
  EXPECT_EQ(row.at("order"), 3);
  EXPECT_EQ(row.at("profile"), "H200");
  double total = 0;
  for (const Json& term : row.at("terms"))
    total += term.at("compute_us").get<double>() + term.at("memory_us").get<double>();
  EXPECT_NEAR(row.at("total_us"), total, 1e-9 * total);
  EXPECT_NEAR(row.at("ps_per_token_bh"), total * 1e6 / (64. * 768 * 8192), 1e-9 * total);
  EXPECT_FALSE(row.at("limit").get<std::string>().empty());
}

TEST(Model, PrintsWhereTheTimeGoes) {
  const Ran ran = run({"model", "--case", "fftconv_f16_circular_l65536_b1_h1", "--profile", "A100-40GB"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("stored in"));
  EXPECT_THAT(ran.out, HasSubstr("limited by"));
}

TEST(Model, TheRooflineStandsBesideEq2WhereThereIsAKernel) {
  const Ran ran = run({"model", "--case", "fftconv_bf16_causal_l1024_b64_h768", "--profile", "H200", "--json", "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::vector<Json> rows = rows_of(ran.out);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].at("model"), "eq2");
  EXPECT_EQ(rows[1].at("model"), "roofline");
  EXPECT_EQ(rows[1].at("case"), "fftconv_bf16_causal_l1024_b64_h768");
  double longest = 0, sum = 0;
  for (const Json& resource : rows[1].at("resources")) {
    longest = std::max(longest, resource.at("us").get<double>());
    sum += resource.at("us").get<double>();
  }
  EXPECT_GT(rows[1].at("total_us"), longest);
  EXPECT_LT(rows[1].at("total_us"), sum);
  EXPECT_GT(longest, 64. * 768 * 1024 * 4 / 4.8e6) << "no less than the bytes at the memory's own rate";

  EXPECT_THAT(run({"model", "--case", "fftconv_f16_circular_l65536_b1_h1_half", "--model", "roofline"}).err,
              HasSubstr("the half fold has no kernel"));
  const Ran half =
      run({"model", "--case", "fftconv_f16_circular_l1024_b1_h1_half", "--profile", "H200", "--json", "-"});
  EXPECT_EQ(rows_of(half.out).size(), 1) << "Eq. 2 alone";
  EXPECT_THAT(half.err,
              HasSubstr("notice: fftconv_f16_circular_l1024_b1_h1_half on H200 has no roofline: plan: the half "
                        "fold has no kernel"));
}

TEST(Model, TheRooflineOfSeveralLaunchesIsTheirSum) {
  for (const char* token : {"fftconv_f16_circular_l98304_b2_h2", "fftconvgrad_f16_circular_l1024_b4_h3_postgate",
                            "spectral_f32_tf32_b4_c5x4_l32_m8"}) {
    const std::vector<Json> rows =
        rows_of(run({"model", "--case", token, "--profile", "H200", "--model", "roofline", "--json", "-"}).out);
    ASSERT_EQ(rows.size(), 1) << token;
    double execute = 0, prepare = 0;
    for (const Json& launch : rows[0].at("launches"))
      (launch.at("part") == "execute" ? execute : prepare) +=
          launch.at("times").get<double>() * launch.at("us").get<double>();
    EXPECT_NEAR(rows[0].at("total_us"), execute, 1e-9 * execute) << token;
    EXPECT_NEAR(rows[0].at("prepare_us"), prepare, 1e-9 * prepare) << token;
  }
  EXPECT_EQ(
      rows_of(run({"model", "--case", "fftconvgrad_f16_causal_l100_b1_h1", "--profile", "H200", "--json", "-"}).out)
          .size(),
      1)
      << "Eq. 2 is of convolutions";
  EXPECT_THAT(run({"model", "--case", "fftconvgrad_f16_causal_l100_b1_h1", "--model", "eq2"}).err,
              HasSubstr("Eq. 2 is of convolutions"));
}

TEST(Model, RefusesAProfileByTheNumberThatIsWrong) {
  const Folder folder;
  write_file(folder / "gpu.json", R"({"name": "gpu", "device": "none", "numbers": {"matrix_side": {"value": 0,
      "unit": "elements", "kind": "measured", "source": "test"}}})");
  const Ran ran =
      run({"model", "--sweep", "figure4", "--profile", folder / "gpu.json", "--json", folder / "model.jsonl"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("gpu.json: matrix_side: 'value' is 0, must be a positive number"));
  EXPECT_THAT(folder.files(), testing::ElementsAre("gpu.json"));
}

TEST(Forecast, IsOfTheKernelsOnOneProfileWithTheirCode) {
  const std::string token = "fftconv_f16_circular_l512_b2_h2";
  const auto rows = rows_of(run({"model", "--forecast", "--case", token, "--profile", "H100", "--json", "-"}).out);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at("kind"), "forecast");
  EXPECT_EQ(rows[0].at("code"),
            code_of(timed_method(kPlan), parse_case(token), imitation(load_profile("H100"))).words());
  EXPECT_THAT(run({"model", "--forecast", "--case", token}).err, HasSubstr("--forecast with 0 profiles, must be one"));
  EXPECT_THAT(run({"model", "--forecast", "--sweep", "figure4", "--profile", "H200"}).err,
              HasSubstr("of counted work before anything is measured"));
}

TEST(Model, RefusesWhatDoesNotGoTogether) {
  EXPECT_THAT(run({"model"}).err, HasSubstr("one of --case, --sweep and --measured must be given"));
  EXPECT_THAT(run({"model", "--sweep", "figure4", "--model", "roofline"}).err, HasSubstr("figure4 has no kernels"));
  EXPECT_THAT(run({"model", "--sweep", "fp16", "--overlap", "0.5"}).err, HasSubstr("overlap=0.5, must be at least 1"));
  EXPECT_THAT(run({"model", "--sweep", "fp16", "--wait", "-1"}).err, HasSubstr("wait=-1, must be at least 0"));
  EXPECT_THAT(run({"model", "--case", "x", "--model", "eq3"}).err, HasSubstr("must be one of eq2, roofline, both"));
}

TEST(Model, Figure4HasEveryLengthOrderAndProfile) {
  const Folder folder;
  const std::vector<std::string> words = {"model", "--sweep", "figure4", "--json", folder / "model.jsonl"};
  ASSERT_EQ(run(words).code, 0);
  const std::string once = read_file(folder / "model.jsonl");
  EXPECT_EQ(rows_of(once).size(), 15 * 3 * 3);
  ASSERT_EQ(run(words).code, 0);
  EXPECT_EQ(read_file(folder / "model.jsonl"), once) << "rows that stand are not written again";
}

TEST(Model, ARooflineWithOtherNumbersIsAnotherRow) {
  const Folder folder;
  std::vector<std::string> words = {"model",     "--case", "fftconv_f16_circular_l512_b8_h8",
                                    "--profile", "H200",   "--model",
                                    "roofline",  "--json", folder / "model.jsonl"};
  ASSERT_EQ(run(words).code, 0);
  words.insert(words.end(), {"--overlap", "1"});
  ASSERT_EQ(run(words).code, 0);
  const std::vector<Json> rows = rows_of(read_file(folder / "model.jsonl"));
  ASSERT_EQ(rows.size(), 2);
  EXPECT_GT(rows[1].at("total_us"), rows[0].at("total_us"));
}

TEST(Model, DoesNotWriteWhatItReads) {
  const Folder folder;
  write_file(folder / "gpu.json", "{}");
  const Ran ran = run({"model", "--case", "fftconv_f16_circular_l512_b8_h8", "--profile", folder / "gpu.json", "--json",
                       folder / "gpu.json"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--profile " + folder / "gpu.json" + " is the file of --json"));
  EXPECT_EQ(read_file(folder / "gpu.json"), "{}");
}

TEST(Factors, TheMatricesMultiplyToTheDft) {
  const Ran ran = run({"factors", "--case", "fftconv_f64_circular_l12_b1_h1_plain_r3x4", "--json", "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  Eigen::MatrixXcd product = Eigen::MatrixXcd::Identity(12, 12);
  const Json row = rows_of(ran.out).at(0);
  for (const Json& matrix : row.at("matrices")) {
    Eigen::MatrixXcd factor = Eigen::MatrixXcd::Zero(matrix.at("rows").get<int>(), matrix.at("columns").get<int>());
    for (const Json& entry : matrix.at("nonzeros"))
      factor(entry[0].get<int>(), entry[1].get<int>()) = {entry[2].get<double>(), entry[3].get<double>()};
    product = factor * product;
  }
  EXPECT_LT((product - dense_dft(12)).cwiseAbs().maxCoeff(), 1e-13);
}

}  // namespace
}  // namespace danaus
