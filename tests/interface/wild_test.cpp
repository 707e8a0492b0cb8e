// Every function that takes a token, with tokens without number: each is answered or refused in words, and what it
// writes ends where it should.
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "experiments/random/random_case.hpp"
#include "tests/interface/support.hpp"
#include "tests/sanitized.hpp"

namespace danaus {
namespace {

// A plan's constants take milliseconds each to make; what is asked of a token alone takes less than one.
constexpr int kTokens = 2000, kPlansOfEach = kSanitized ? 6 : 30;
constexpr std::size_t kListedPerPlan = kSanitized ? 20 : 5;
constexpr std::size_t kMostNumbers = 1 << 15;  // of a case that is executed, in all arrays

std::vector<std::string> known_cases() {
  std::vector<std::string> tokens;
  std::istringstream rows(run({"list", "cases"}));
  for (std::string row; std::getline(rows, row);)
    if (const auto parsed = nlohmann::json::parse(row); parsed.contains("case")) tokens.push_back(parsed.at("case"));
  return tokens;
}

void expect_answer(const std::string& token, const char* function, danaus_status status) {
  EXPECT_TRUE(status == DANAUS_OK || status == DANAUS_BAD_INPUT)
      << token << ", " << function << ": " << status << ", " << last_error();
  if (status != DANAUS_OK) {
    EXPECT_EQ(last_error().find('\n'), std::string::npos) << token << ", " << function << ": " << last_error();
  }
}

// What needs no plan.
void ask(const std::string& token, bool of_layout = true) {
  for (int i = -1; i < 14; ++i) {
    const auto info = std::make_unique<danaus_array_info>(sized<danaus_array_info>());
    const danaus_status status = danaus_case_array(token.c_str(), i, info.get());
    expect_answer(token, "case_array", status);
    if (status != DANAUS_OK && i >= 0) break;
    if (status != DANAUS_OK) continue;
    ASSERT_GE(i, 0);
    ASSERT_GT(info->rank, 0);
    ASSERT_LE(info->rank, DANAUS_MAX_RANK);
    std::int64_t bytes = 8;
    for (int axis = 0; axis < info->rank; ++axis)
      ASSERT_FALSE(__builtin_mul_overflow(bytes, info->extents[axis], &bytes)) << token << ", " << info->name;
  }
  danaus_text* asked = nullptr;
  expect_answer(token, "case_asked", danaus_case_asked(token.c_str(), &asked));
  danaus_text_destroy(asked);
  danaus_text* fields = nullptr;
  expect_answer(token, "token_fields", danaus_token_fields(token.c_str(), &fields));
  danaus_text_destroy(fields);
  std::size_t frequencies = 0;
  const danaus_status has_mask = danaus_case_mask(token.c_str(), nullptr, 0, &frequencies);
  expect_answer(token, "case_mask", has_mask);
  if (has_mask == DANAUS_OK && frequencies > 0) {
    const auto kept = std::make_unique<std::uint8_t[]>(frequencies);
    EXPECT_EQ(danaus_case_mask(token.c_str(), kept.get(), frequencies, &frequencies), DANAUS_OK) << token;
    const std::vector<double> as_file(kept.get(), kept.get() + frequencies);
    danaus_text* masked = nullptr;
    expect_answer(token, "case_masked", danaus_case_masked(token.c_str(), as_file.data(), frequencies, &masked));
    danaus_text_destroy(masked);
  }
  auto bytes = std::make_unique<danaus_bytes>(sized<danaus_bytes>());
  const danaus_status has_bytes = danaus_case_bytes(token.c_str(), -1, bytes.get());
  expect_answer(token, "case_bytes", has_bytes);
  if (has_bytes == DANAUS_OK) {
    EXPECT_GE(bytes->prepared, 0) << token;
    EXPECT_GE(bytes->constants, 0) << token;
  }
  if (!of_layout) return;
  danaus_text* layout = nullptr;
  const danaus_status has_layout = danaus_case_layout(token.c_str(), -1, &layout);
  expect_answer(token, "case_layout", has_layout);
  EXPECT_EQ(has_layout, has_bytes) << token;
  danaus_text_destroy(layout);
}

// The truth of a case in double, and both verdicts on it; one byte less of any array is refused.
void compute_and_judge(const std::string& token, const danaus_plan* plan) {
  const CallArrays made(token, true);
  const bool is_convolution = token.starts_with("fftconv");
  const char* const method = is_convolution ? "fftw" : "definition";
  const std::vector<danaus_array>& all = made.all();
  expect_answer(token, "compute", danaus_compute(token.c_str(), method, all.data(), all.size()));
  auto claim = sized<danaus_claim>();
  claim.arithmetic = "rounding";
  for (const char* by : {method, "kernel"}) {
    danaus_text* verdict = nullptr;
    expect_answer(token, "judge", danaus_judge(token.c_str(), by, plan, all.data(), all.size(), &verdict));
    danaus_text_destroy(verdict);
  }
  danaus_text* verdict = nullptr;
  expect_answer(token, "judge_claim", danaus_judge_claim(token.c_str(), &claim, all.data(), all.size(), &verdict));
  danaus_text_destroy(verdict);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<danaus_array> cut = all;
    --cut[i].bytes;
    danaus_text* none = nullptr;
    EXPECT_EQ(danaus_compute(token.c_str(), method, cut.data(), cut.size()), DANAUS_BAD_INPUT) << token;
    EXPECT_EQ(danaus_judge(token.c_str(), method, nullptr, cut.data(), cut.size(), &none), DANAUS_BAD_INPUT) << token;
    EXPECT_EQ(danaus_judge_claim(token.c_str(), &claim, cut.data(), cut.size(), &none), DANAUS_BAD_INPUT) << token;
  }
}

// A plan on the executor, and all that it can be asked, with arrays that end where they should.
bool use(const std::string& token) {
  danaus_plan* plan = nullptr;
  const danaus_status made = danaus_plan_create_on_executor(token.c_str(), &plan);
  expect_answer(token, "plan_create_on_executor", made);
  if (made != DANAUS_OK) return false;
  auto bytes = sized<danaus_bytes>();
  EXPECT_EQ(danaus_plan_bytes(plan, 0, &bytes), DANAUS_OK) << token << ": " << last_error();
  EXPECT_STRNE(danaus_plan_description(plan), "");
  EXPECT_STRNE(danaus_plan_layout(plan), "");
  EXPECT_NE(std::string(danaus_plan_layout(plan)).find('/'), std::string::npos) << token;
  std::size_t numbers = 0;
  for (const danaus_array_info& info : arrays_of(token)) numbers += numbers_of(info);
  const bool is_small = numbers <= kMostNumbers;
  if (is_small) {
    const CallArrays arrays(token, false);
    const auto filters = arrays.filters(), others = arrays.others();
    EXPECT_EQ(danaus_prepare(plan, filters.data(), filters.size(), nullptr), DANAUS_OK)
        << token << ": " << last_error();
    EXPECT_EQ(danaus_execute(plan, others.data(), others.size(), nullptr), DANAUS_OK) << token << ": " << last_error();
    // In memory of the caller that ends where the plan says.
    const auto prepared = std::make_unique<unsigned char[]>(static_cast<std::size_t>(bytes.prepared) + 256);
    const auto workspace = std::make_unique<unsigned char[]>(static_cast<std::size_t>(bytes.workspace) + 256);
    const auto last = [](unsigned char* memory, std::int64_t count) {
      const auto end = reinterpret_cast<std::uintptr_t>(memory) + static_cast<std::uintptr_t>(count) + 256;
      return reinterpret_cast<void*>((end - static_cast<std::uintptr_t>(count)) / 256 * 256);
    };
    auto call = sized<danaus_call>();
    call.prepared = last(prepared.get(), bytes.prepared);
    call.prepared_bytes = static_cast<std::size_t>(bytes.prepared), call.prepared_for = danaus_plan_layout(plan);
    if (bytes.workspace > 0)
      call.workspace = last(workspace.get(), bytes.workspace),
      call.workspace_bytes = static_cast<std::size_t>(bytes.workspace);
    EXPECT_EQ(danaus_whole_call(plan, arrays.all().data(), arrays.all().size(), &call), DANAUS_OK)
        << token << ": " << last_error();
    compute_and_judge(token, plan);
  }
  danaus_plan_destroy(plan);
  return is_small;
}

TEST(Wild, EveryCaseThatTheProgramLists) {
  const std::vector<std::string> tokens = known_cases();
  ASSERT_GT(tokens.size(), 100u);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ask(tokens[i]);
    if (i % kListedPerPlan == 0) use(tokens[i]);
  }
}

class WildOperation : public testing::TestWithParam<std::string> {};

TEST_P(WildOperation, RandomCases) {
  int plans = 0;
  for (int number = 0; number < kTokens; ++number) {
    const std::string token = random_case(72, number, GetParam()).asked.token();
    ask(token, number % 8 == 0);
    if (plans < kPlansOfEach) plans += use(token);
    if (HasFailure()) FAIL() << "after " << number << " tokens";
  }
  EXPECT_GT(plans, 0);
}

// Fields of random cases with other numbers, once more or left out.
TEST_P(WildOperation, BrokenTokens) {
  constexpr std::array kNumbers = {"0",
                                   "1",
                                   "2",
                                   "3",
                                   "7",
                                   "31",
                                   "255",
                                   "257",
                                   "4096",
                                   "32769",
                                   "14680065",
                                   "2147483647",
                                   "2147483648",
                                   "4294967296",
                                   "70368744177664",
                                   "70368744177665",
                                   "4611686018427387904",
                                   "9223372036854775807",
                                   "9223372036854775808",
                                   "18446744073709551616",
                                   "-1",
                                   "1e9",
                                   "",
                                   "0x10"};
  std::mt19937 random(72);
  const auto below = [&](std::size_t most) { return std::size_t{random()} % most; };
  int answered = 0;
  for (int number = 0; number < kTokens / 4; ++number) {
    std::vector<std::string> fields;
    std::istringstream token(random_case(73, number, GetParam()).asked.token());
    for (std::string field; std::getline(token, field, '_');) fields.push_back(field);
    for (std::size_t change = 0; change <= below(3); ++change) {
      const std::size_t at = 1 + below(fields.size() - 1);
      std::string& field = fields[at];
      const std::size_t digit = field.find_first_of("0123456789");
      if (below(10) == 0)
        fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(at), field);
      else if (below(10) == 0 && fields.size() > 2)
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
      else if (digit != field.npos)
        field.replace(digit, field.find_first_not_of("0123456789", digit) - digit, kNumbers[below(kNumbers.size())]);
    }
    std::string broken = fields.front();
    for (std::size_t i = 1; i < fields.size(); ++i) broken += '_' + fields[i];
    ask(broken, number % 8 == 0);
    auto info = sized<danaus_array_info>();
    answered += danaus_case_array(broken.c_str(), 0, &info) == DANAUS_OK;
    if (HasFailure()) FAIL() << "after " << number << " tokens";
  }
  EXPECT_GT(answered, 10);
}

INSTANTIATE_TEST_SUITE_P(Operations, WildOperation, testing::ValuesIn(random_operations()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace danaus
