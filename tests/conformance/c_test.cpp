// What the C interfaces say of cases, and compute in double; plans are in plans_test.cpp.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "experiments/io/asked_fields.hpp"
#include "python/native/study.h"
#include "reference/convolution/mask.hpp"
#include "reference/step/step.hpp"
#include "tests/conformance/cases.hpp"
#include "tests/conformance/doors.hpp"
#include "tests/conformance/judge.hpp"
#include "tests/conformance/memory.hpp"

namespace danaus::conformance {
namespace {

std::string taken(danaus_text* text) {
  std::string words = danaus_text_data(text);
  danaus_text_destroy(text);
  return words;
}

class Interfaces : public testing::TestWithParam<ConformanceCase> {
 protected:
  const std::string token_ = GetParam().token;
  const Case asked_ = parse_case(token_);
};

TEST_P(Interfaces, NameTheArrays) {
  struct {
    danaus_array_info info;
    std::uint64_t guard[32];
  } given;
  const std::vector<Array> arrays = asked_.arrays();
  for (int i = 0; i < std::ssize(arrays); ++i) {
    std::memset(&given, 0x5a, sizeof given);
    given.info = sized<danaus_array_info>();
    ASSERT_EQ(danaus_case_array(token_.c_str(), i, &given.info), DANAUS_OK) << danaus_last_error();
    for (std::uint64_t word : given.guard)
      ASSERT_EQ(word, 0x5a5a5a5a5a5a5a5au) << arrays[i].name << " is written beyond";
    EXPECT_EQ(given.info.name, arrays[i].name);
    EXPECT_EQ(given.info.dtype, name(arrays[i].dtype));
    EXPECT_EQ(static_cast<int>(given.info.role), static_cast<int>(arrays[i].role));
    EXPECT_EQ(given.info.batched != 0, arrays[i].batched);
    ASSERT_EQ(given.info.rank, std::ssize(arrays[i].extents));
    ASSERT_LE(given.info.rank, std::ssize(given.info.extents))
        << arrays[i].name << " has more extents than there is room for";
    for (int axis = 0; axis < given.info.rank; ++axis) EXPECT_EQ(given.info.extents[axis], arrays[i].extents[axis]);
  }
  EXPECT_EQ(danaus_case_array(token_.c_str(), static_cast<int>(arrays.size()), &given.info), DANAUS_BAD_INPUT);
}

TEST_P(Interfaces, SayWhatAPlanHas) {
  std::vector<std::uint8_t> kept(1 << 17);
  std::size_t count = 0;
  ASSERT_EQ(danaus_case_mask(token_.c_str(), kept.data(), kept.size(), &count), DANAUS_OK) << danaus_last_error();
  kept.resize(count);
  EXPECT_EQ(kept, marks_of(asked_));
  danaus_text *layout = nullptr, *asked = nullptr;
  ASSERT_EQ(danaus_case_asked(token_.c_str(), &asked), DANAUS_OK) << danaus_last_error();
  EXPECT_EQ(taken(asked), asked_fields(token_).dump());
  ASSERT_EQ(danaus_token_fields(token_.c_str(), &asked), DANAUS_OK) << danaus_last_error();
  const Json read = Json::parse(taken(asked));
  for (const Json& field : read.at("fields"))
    if (field.contains("value")) {
      EXPECT_EQ(field.at("value"), asked_fields(token_).at(field.at("name").get<std::string>()));
    }
  auto bytes = sized<danaus_bytes>();
  if (!GetParam().refused.empty()) {
    EXPECT_EQ(danaus_case_layout(token_.c_str(), -1, &layout), DANAUS_BAD_INPUT);
    EXPECT_EQ(danaus_case_bytes(token_.c_str(), -1, &bytes), DANAUS_BAD_INPUT);
    return;
  }
  const auto door = door_of_c(token_);
  ASSERT_EQ(danaus_case_layout(token_.c_str(), -1, &layout), DANAUS_OK) << danaus_last_error();
  EXPECT_EQ(taken(layout), door->layout());
  ASSERT_EQ(danaus_case_bytes(token_.c_str(), -1, &bytes), DANAUS_OK) << danaus_last_error();
  EXPECT_EQ(bytes.prepared, door->bytes(batch_of(asked_)).prepared);
  EXPECT_EQ(bytes.constants, door->bytes(batch_of(asked_)).constants);
}

// By every method that there is; and the library's own verdict.
TEST_P(Interfaces, ComputeInDouble) {
  const Values inputs = make_values(asked_);
  const bool is_long = asked_.as<Convolution>() != nullptr;
  for (const char* method : is_long ? std::vector{"fftw", "monarch", "direct"} : std::vector{"definition"}) {
    if (is_long && std::string_view(method) != "fftw" && asked_.as<Convolution>()->length > 10000) continue;  // long
    Values outputs, values = inputs;
    std::vector<danaus_array> arrays;
    for (const Array& array : asked_.arrays()) {
      std::vector<double>& of =
          array.role == Role::output ? outputs[std::string(array.name)] : values[std::string(array.name)];
      of.resize(static_cast<std::size_t>(array.size()), NAN);
      arrays.push_back({array.name.data(), of.data(), sizeof(double) * of.size()});
    }
    ASSERT_EQ(danaus_compute(token_.c_str(), method, arrays.data(), arrays.size()), DANAUS_OK) << danaus_last_error();
    EXPECT_EQ(values, inputs);
    EXPECT_EQ(complaint(asked_, inputs, outputs, in_double(asked_)), "") << method;
    danaus_text* verdict = nullptr;
    ASSERT_EQ(danaus_judge(token_.c_str(), method, nullptr, arrays.data(), arrays.size(), &verdict), DANAUS_OK)
        << danaus_last_error();
    const std::string words = taken(verdict);
    EXPECT_EQ(nlohmann::json::parse(words).at("status"), "passed") << words;
    auto claim = sized<danaus_claim>();
    claim.arithmetic = "rounding";
    ASSERT_EQ(danaus_judge_claim(token_.c_str(), &claim, arrays.data(), arrays.size(), &verdict), DANAUS_OK)
        << danaus_last_error();
    const std::string of_claim = taken(verdict);
    EXPECT_EQ(nlohmann::json::parse(of_claim).at("status"), "passed") << of_claim;
    // A wrong sample is seen; of long rows, of which FFTW is judged by some samples, one among many is not.
    std::vector<double>& y = outputs.begin()->second;
    for (std::size_t i = y.size() > 10000 ? 0 : y.size() - 1; i < y.size(); ++i) y[i] += 1 + std::abs(y[i]);
    ASSERT_EQ(danaus_judge(token_.c_str(), method, nullptr, arrays.data(), arrays.size(), &verdict), DANAUS_OK);
    EXPECT_EQ(nlohmann::json::parse(taken(verdict)).at("status"), "failed");
    ASSERT_EQ(danaus_judge_claim(token_.c_str(), &claim, arrays.data(), arrays.size(), &verdict), DANAUS_OK);
    EXPECT_EQ(nlohmann::json::parse(taken(verdict)).at("status"), "failed");
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Interfaces, testing::ValuesIn(cases()),
                         [](const auto& info) { return name_of(info.param.token); });

// What is of no case.
TEST(Interface, AnswersWithoutACase) {
  EXPECT_STRNE(danaus_version(), "");
  EXPECT_GE(danaus_device_count(), 0);
  danaus_plan_destroy(nullptr);
  danaus_text_destroy(nullptr);
  danaus_free(nullptr);
  EXPECT_STREQ(danaus_plan_description(nullptr), "");
  EXPECT_STREQ(danaus_plan_kernel(nullptr), "");
  EXPECT_STREQ(danaus_text_data(nullptr), "");
  danaus_plan* plan = nullptr;
  EXPECT_EQ(danaus_plan_create("fftconv_f16_causal_l256_b1", 0, nullptr, 0, &plan), DANAUS_BAD_INPUT);
  EXPECT_NE(std::strstr(danaus_last_error(), "'h' is missing"), nullptr) << danaus_last_error();

  const std::vector<double> kept = {1, 1, 0, 1};
  danaus_text* masked = nullptr;
  ASSERT_EQ(danaus_case_masked("fftconv_f64_circular_l4_b1_h1", kept.data(), kept.size(), &masked), DANAUS_OK);
  EXPECT_EQ(taken(masked), "fftconv_f64_circular_l4_b1_h1_pair_keep0to1");

  int stop = 1;
  danaus_text* rows = nullptr;
  const char* words[] = {"memory", "--case", "shortconv_f16_causal_k4_l64_b1_h1"};
  EXPECT_EQ(danaus_run(words, 3, &stop, &rows), DANAUS_INTERRUPTED);
  stop = 0;
  ASSERT_EQ(danaus_run(words, 3, &stop, &rows), DANAUS_OK) << danaus_last_error();
  EXPECT_EQ(nlohmann::json::parse(taken(rows)).at("case"), words[2]);
}

// The whole table on the executor is asked for in Python.
TEST(Interface, ASelftestReports) {
  danaus_selftest_report report{};
  EXPECT_EQ(danaus_selftest_on_executor(&report), DANAUS_BAD_INPUT);
  report.size = sizeof report;
  const danaus_status status = danaus_selftest(0, &report);
  if (danaus_device_count() == 0) {
    EXPECT_EQ(status, DANAUS_NO_DEVICE);
    return;
  }
  EXPECT_EQ(status, DANAUS_OK) << danaus_last_error();
  EXPECT_EQ(report.cases, report.same + report.differing + report.absent);
}

// Memory of a device that is not there, or there and back.
TEST(Interface, CopiesToADeviceAndBack) {
  float values[] = {1, 2, 3}, back[3] = {};
  void* memory = nullptr;
  const danaus_status status = danaus_allocate(0, sizeof values, &memory);
  if (danaus_device_count() == 0) {
    EXPECT_EQ(status, DANAUS_NO_DEVICE);
    EXPECT_EQ(danaus_copy_to_device(0, back, values, sizeof values), DANAUS_NO_DEVICE);
    EXPECT_EQ(danaus_copy_to_host(0, back, values, sizeof values), DANAUS_NO_DEVICE);
    return;
  }
  ASSERT_EQ(status, DANAUS_OK) << danaus_last_error();
  EXPECT_EQ(danaus_copy_to_device(0, memory, values, sizeof values), DANAUS_OK);
  EXPECT_EQ(danaus_copy_to_host(0, back, memory, sizeof back), DANAUS_OK);
  danaus_free(memory);
  EXPECT_EQ(back[2], 3);
}

}  // namespace
}  // namespace danaus::conformance
