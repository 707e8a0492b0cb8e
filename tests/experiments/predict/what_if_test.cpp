// danaus what-if: its rows are those of the kernels that a plan would choose, or say why there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "experiments/cli/environment.hpp"
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

}  // namespace
}  // namespace danaus
