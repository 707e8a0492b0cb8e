// The executor's outputs are, in every bit, those that were committed: kernels/plan/digests.txt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/plan/forwarding_machine.hpp"
#include "kernels/plan/selftest.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

std::vector<DigestedCase> committed() { return read_digests("digests.txt", committed_digests()); }

// The word that tokens of an operation begin with.
std::string operation_of(const DigestedCase& of) { return of.token.substr(0, of.token.find('_')); }

std::vector<std::string> committed_operations() {
  std::set<std::string> words;
  for (const DigestedCase& of : committed()) words.insert(operation_of(of));
  return {words.begin(), words.end()};
}

class Digests : public testing::TestWithParam<std::string> {};

TEST_P(Digests, AreThoseOfTheTable) {
  std::vector<DigestedCase> cases = committed();
  std::erase_if(cases, [](const DigestedCase& of) { return operation_of(of) != GetParam(); });
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  for (const SelftestResult& result : selftest(cases, executor_machine(), threads)) {
    if (!result.absent.empty()) continue;
    EXPECT_EQ(digest_in_words(result.digest), digest_in_words(result.of->digest))
        << result.of->token << ": outputs have other bits than in kernels/plan/digests.txt. Where they should have,\n"
        << "  danaus selftest --table kernels/plan/digests.txt --output kernels/plan/digests.txt";
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Digests, testing::ValuesIn(committed_operations()),
                         [](const auto& info) { return info.param; });

// Launches nothing.
class RecordingMachine final : public ForwardingMachine {
 public:
  explicit RecordingMachine(std::set<KernelId>& seen) : ForwardingMachine(executor_machine()), seen_(seen) {}
  void launch(const Launch& launch, Stream) const override { seen_.insert(launch.kernel); }

 private:
  std::set<KernelId>& seen_;
};

// Left out are those of single decoding steps, which no token asks for, and those that only many channels, rows or
// modes choose, for which a small case has no use.
TEST(DigestTable, HasCasesOfMostKernelsOfEveryFamily) {
  std::set<KernelId> launched;
  const auto machine = std::make_shared<RecordingMachine>(launched);
  selftest(committed(), machine);
  std::map<std::string_view, std::pair<int, int>> kernels;  // in the table, in the build
  for (const KernelId& id : host_kernels())
    kernels[id.family].first += launched.contains(id), ++kernels[id.family].second;
  kernels.erase("decode");
  for (const auto& [family, count] : kernels)
    EXPECT_GE(5 * count.first, 3 * count.second) << family << ": " << count.first << " of " << count.second;
}

TEST(DigestTable, IsReadLineByLine) {
  const std::string token = "fftconv_f16_causal_l100_b2_h3";
  const auto cases = read_digests("a table", "# digests\n\n  00000000000000ff " + token + "  # why\r\n");
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].token, token);
  EXPECT_EQ(cases[0].digest, 255u);
  EXPECT_EQ(cases[0].place, 13u);
  EXPECT_EQ(read_digests("a table", "\r 00000000000000ff " + token)[0].place, 2u);
  const auto refused = [](const std::string& text) -> std::string {
    try {
      read_digests("a table", text);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refused("\n00ff " + token), HasSubstr("a table line 2: '00ff fft"));
  EXPECT_THAT(refused("00000000000000fg " + token), HasSubstr("must be a digest of 16 hexadecimal digits and a token"));
  EXPECT_THAT(refused("00000000000000ff"), HasSubstr("must be a digest of 16 hexadecimal digits and a token"));
  EXPECT_THAT(refused("00000000000000ff " + token + " " + token), HasSubstr("must be a digest"));
  EXPECT_THAT(refused("00000000000000ff nothing_at_all"), HasSubstr("nothing"));
  EXPECT_THAT(refused("00000000000000ff " + token + "\n0000000000000000 " + token), HasSubstr("line 2: "));
}

// A wrong digest is a difference, a kernel that is not there an absence, and who listens may stop it.
TEST(DigestTable, DifferencesAndAbsencesAreTold) {
  const std::string token = "shortconv_f16_causal_k2_l1_b1_h1";
  const auto cases = std::vector<DigestedCase>{{token, digest_of_outputs(parse_case(token), executor_machine())},
                                               {token, 1},
                                               {"fftconv_f64_circular_l64_b1_h1", 1}};
  const auto results = selftest(cases, executor_machine(), 2);
  EXPECT_TRUE(results[0].same());
  EXPECT_FALSE(results[1].same());
  EXPECT_EQ(results[1].absent, "");
  EXPECT_FALSE(results[2].same());
  EXPECT_THAT(results[2].absent, HasSubstr("f64"));
  EXPECT_THROW(selftest(cases, executor_machine(), 2, [](const SelftestResult&) { throw std::runtime_error("stop"); }),
               std::runtime_error);
}

}  // namespace
}  // namespace danaus
