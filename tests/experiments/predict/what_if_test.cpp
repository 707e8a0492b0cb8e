// danaus what-if: its rows are those of the kernels that a plan would choose, or say why there is none; ways are those
// that there are, the soonest first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "experiments/cli/environment.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/predict/ways.hpp"
#include "kernels/plan/choice.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

TEST(WhatIf, EveryCaseHasAKernelThatFitsOrAReason) {
  const std::string small = "fftconv_f16_circular_l512_b64_h768_postgate",
                    large = "fftconv_bf16_causal_l32000_b64_h768";
  const Ran ran = run({"what-if", "--case", small, "--case", large, "--json", "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::map<std::pair<std::string, int>, Json> rows;
  std::istringstream lines(ran.out);
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line);
    rows[{row.at("case"), row.at("shared_kb")}] = row;
  }
  EXPECT_EQ(rows.size(), 6) << "each with 227, 163 and 99 KB";
  for (const auto& [place, row] : rows) {
    if (row.at("kernel").is_null()) continue;
    const int block_bytes = 1024 * place.second, shared_bytes = row.at("shared_bytes");
    EXPECT_LE(shared_bytes, block_bytes) << row;
    EXPECT_LE(row.at("blocks_per_sm").get<int>() * (shared_bytes + 1024), block_bytes + 1024) << row;
  }
  EXPECT_GT(rows.at({small, 227}).at("blocks_per_sm"), rows.at({small, 99}).at("blocks_per_sm"));
  EXPECT_EQ(rows.at({small, 99}).at("transfer"), "threads") << "devices with so little have no tensor copies";
  const Json& none = rows.at({large, 99});
  EXPECT_TRUE(none.at("kernel").is_null());
  EXPECT_EQ(none.at("n"), 32768) << none;
  EXPECT_THAT(none.at("reason").get<std::string>(), HasSubstr("the nearest that fits is N="));
  EXPECT_THAT(none.at("reason").get<std::string>(), testing::ContainsRegex("for rows of at most [0-9]+ samples"));

  const Json& whole = rows.at({large, 227});
  EXPECT_EQ(whole.at("transfer"), "tensor copies");
  const Ran model = run({"model", "--case", large, "--profile", "H200", "--model", "roofline", "--json", "-"});
  EXPECT_EQ(whole.at("us"), Json::parse(model.out).at("total_us")) << "nothing is changed";
}

TEST(WhatIf, AddsToItsOwnRowsAndTouchesNoOthers) {
  const Folder folder;
  const std::string path = folder / "rows.jsonl";
  ASSERT_EQ(run({"verify", "--case", "fftconv_f64_causal_l8_b1_h1", "--json", path}).code, 0);
  const std::string verified = read_file(path);
  const std::vector<std::string> words = {"what-if", "--case", "fftconv_f16_circular_l512_b64_h768", "--json", path};
  const Ran refused = run(words);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("line 1: kind \"verify\", must be \"what_if\""));
  EXPECT_EQ(read_file(path), verified);

  std::filesystem::remove(path);
  ASSERT_EQ(run(words).code, 0);
  const std::string once = read_file(path);
  EXPECT_EQ(std::count(once.begin(), once.end(), '\n'), 3);
  EXPECT_THAT(run(words).err, HasSubstr("3 rows stand"));
  EXPECT_EQ(read_file(path), once);
}

// Of the ways that there are their names in order, and the reasons of the others.
std::vector<std::string> words_of(const Json& row) {
  std::vector<std::string> words;
  double before = 0;
  for (const Json& way : row.at("ways")) {
    words.push_back(way.at("way"));
    EXPECT_GE(way.at("us"), before) << row;
    before = way.at("us");
  }
  for (const Json& way : row.at("others")) words.push_back(way.at("reason"));
  return words;
}

TEST(Ways, TheSoonestIsFirstAndWhatIsNoneSaysWhy) {
  const HardwareProfile profile = load_profile("H200");
  const auto row = [&](const char* token) { return ways(ways_case(parse_case(token), profile)); };
  using testing::ElementsAre;

  const Json fused = row("fftconv_f16_circular_l1024_b64_h768");
  EXPECT_THAT(words_of(fused), ElementsAre("fused", HasSubstr("outer passes have at least"), HasSubstr("2 K <= N")));
  EXPECT_EQ(fused["plan"], "fused");
  EXPECT_FALSE(fused.contains("why"));
  EXPECT_EQ(fused["ways"][0]["n"], 1024);
  const Ran model = run({"model", "--case", "fftconv_f16_circular_l1024_b64_h768", "--profile", "H200", "--model",
                         "roofline", "--json", "-"});
  EXPECT_EQ(fused["ways"][0]["us"], Json::parse(model.out).at("total_us"));

  const Json whole = row("fftconv_f16_causal_l65536_b64_h192");
  EXPECT_THAT(words_of(whole),
              ElementsAre("outer passes", HasSubstr("fused kernels have at most"), HasSubstr("K=65536")));
  EXPECT_EQ(whole["plan"], "outer passes");
  EXPECT_TRUE(whole["complete"]);
  EXPECT_EQ(whole["ways"][0]["n"], 65536);

  const Json partial = row("fftconv_bf16_causal_l65536_k256_b64_h192_postgate");
  EXPECT_THAT(words_of(partial), ElementsAre("pieces", "outer passes", HasSubstr("fused kernels have at most")));
  EXPECT_EQ(partial["plan"], "pieces");
  EXPECT_FALSE(partial.contains("why"));
  EXPECT_LT(partial["ways"][0]["n"], 65536);
}

// By counted work; a plan counts none.
TEST(Ways, WhereAPlanTakesAnotherThanTheSoonestTheTableSaysWhy) {
  const Folder folder;
  const auto check = [&](const char* token, const std::string& line) {
    const std::string path = folder / (std::string(token) + ".jsonl");
    const Ran table = run({"what-if", "--ways", "--profile", "H200", "--case", token, "--json", path});
    const Json row = Json::parse(read_file(path));
    const Json& soonest = row["ways"][0];
    EXPECT_NE(soonest["way"], row["plan"]) << row;
    EXPECT_THAT(table.out, HasSubstr(line + "; " + soonest["case"].get<std::string>() + " asks for pieces"));
  };
  check("fftconv_f16_causal_l16384_k256_b64_h768",
        "L=16K: a plan cuts no row of up to 32768 samples, of which none is measured in pieces");
}

TEST(Ways, WhatTheBuildHasNotIsSaid) {
  HardwareProfile profile = load_profile("H200");
  profile.shared_memory_per_block.value = 99;  // kernels of such devices are in builds with all of them
  const WaysCase asked = ways_case(parse_case("fftconv_f16_causal_l8192_b2_h1"), profile);
  const bool has_kernel_for_it = has_kernel(asked.asked, imitation(profile));
  const Json row = ways(asked);
  EXPECT_EQ(row["complete"], has_kernel_for_it) << row;
  EXPECT_EQ(row["plan"], "fused");
  EXPECT_EQ(row["ways"].empty(), !has_kernel_for_it) << row;
}

TEST(Ways, EveryDeviceIsAskedAboutEveryLength) {
  const std::vector<WaysCase> cases = ways_cases({load_profile("A100-40GB"), load_profile("H200")});
  std::map<std::pair<std::string, bool>, std::pair<std::int64_t, std::int64_t>> spans;  // by device, and whether K = L
  for (const WaysCase& each : cases) {
    const Convolution& p = each.asked;
    auto& [from, to] = spans[{each.profile.name, p.filter_length == p.length}];
    from = from == 0 ? p.length : std::min(from, p.length), to = std::max(to, p.length);
  }
  using Span = std::pair<std::int64_t, std::int64_t>;
  for (const char* device : {"A100-40GB", "H200"}) {
    EXPECT_EQ((spans[{device, true}]), Span(256, 4 << 20));
    EXPECT_EQ((spans[{device, false}]), Span(512, 4 << 20));
  }
}

TEST(Ways, RefusesCasesThatSayTheWay) {
  const auto refusal = [](std::vector<std::string> words) {
    words.insert(words.begin(), "what-if");
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2) << ran.out;
    return ran.err;
  };
  for (const char* token : {"fftconv_f16_causal_l65536_k256_b64_h192_n8192", "fftconv_f16_circular_l1024_b2_h3_pair",
                            "fftconv_f16_circular_l1024_b2_h3_keep0to63"})
    EXPECT_THAT(refusal({"--ways", "--case", token}), HasSubstr("says how it goes"));
  EXPECT_THAT(refusal({"--ways", "--case", "shortconv_f16_causal_k4_l64_b2_h3"}), HasSubstr("is no convolution"));
  EXPECT_THAT(refusal({"--profile", "H200", "--profile", "A100-40GB"}), HasSubstr("2 profiles, must be one without"));
}

}  // namespace
}  // namespace danaus
