// What the C interfaces refuse, and that nothing is written where it should not.
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <thread>

#include "tests/interface/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

const std::string kToken = "fftconv_f16_causal_l100_b2_h3", kGradients = "fftconvgrad_f16_causal_l256_b2_h2";

TEST(Interface, ArraysOfEveryRankHaveRoom) {
  for (const char* token : {"spectral_f32_complex_b1_c2x2_l16x16_m4x4", "spectral_f32_b1_c2x2_l16x16_m4x4"}) {
    struct {
      danaus_array_info info;
      std::array<std::int64_t, 4> guard;
    } caller;
    for (int i = 0; i < 3; ++i) {
      std::memset(&caller, 0xee, sizeof caller);
      caller.info.size = sizeof caller.info;
      ASSERT_EQ(danaus_case_array(token, i, &caller.info), DANAUS_OK) << last_error();
      for (const std::int64_t word : caller.guard) EXPECT_EQ(static_cast<std::uint64_t>(word), 0xeeeeeeeeeeeeeeee);
    }
  }
  const danaus_array_info w = arrays_of("spectral_f32_complex_b1_c2x2_l16x16_m4x4").at(1);
  EXPECT_EQ(w.rank, 5);
  EXPECT_EQ(std::vector(w.extents, w.extents + DANAUS_MAX_RANK), (std::vector<std::int64_t>{2, 2, 4, 4, 2, 0, 0, 0}));
}

TEST(Interface, AJudgeTakesThePlanOfItsCaseAlone) {
  danaus_plan* const plan = plan_on_executor("fftconv_bf16_circular_l64_b2_h1");
  danaus_text* verdict = nullptr;
  EXPECT_EQ(danaus_judge(kToken.c_str(), "kernel", plan, CallArrays(kToken, true).all().data(), 3, &verdict),
            DANAUS_BAD_INPUT);
  EXPECT_EQ(verdict, nullptr);
  EXPECT_EQ(last_error(), "judge: the plan is of fftconv_bf16_circular_l64_b2_h1, must be of " + kToken);
  danaus_plan_destroy(plan);
}

TEST(Interface, AClaimIsOfAKnownArithmetic) {
  CallArrays arrays(kToken, true);
  ASSERT_EQ(danaus_compute(kToken.c_str(), "fftw", arrays.all().data(), arrays.all().size()), DANAUS_OK);
  danaus_text* verdict = nullptr;
  auto claim = sized<danaus_claim>();
  const auto refused = [&](const std::vector<danaus_array>& list) {
    EXPECT_EQ(danaus_judge_claim(kToken.c_str(), &claim, list.data(), list.size(), &verdict), DANAUS_BAD_INPUT);
    EXPECT_EQ(verdict, nullptr);
    return last_error();
  };
  EXPECT_EQ(refused(arrays.all()), "judge: arithmetic is null");
  claim.arithmetic = "exact";
  EXPECT_THAT(refused(arrays.all()), HasSubstr("judge: arithmetic 'exact', must be one of rounding, fp32, fp16, bf16"));
  claim.arithmetic = "fp32", claim.results = -1;
  EXPECT_THAT(refused(arrays.all()), HasSubstr("-1 results, must be at least"));
  claim.results = 0;
  std::vector<danaus_array> list = arrays.all();
  std::erase_if(list, [](const danaus_array& array) { return std::string(array.name) == "y"; });
  EXPECT_EQ(refused(list), "judge: no output is given");
  danaus_array short_of_one = arrays.all().back();
  short_of_one.bytes -= sizeof(double), claim.expected = &short_of_one, claim.expected_count = 1;
  EXPECT_THAT(refused(arrays.all()), HasSubstr("must be the 600 doubles"));
}

TEST(Interface, TokensMayBeUnfinishedWhereTheirFieldsAreAsked) {
  const auto fields = [](const char* token) {
    danaus_text* text = nullptr;
    EXPECT_EQ(danaus_token_fields(token, &text), DANAUS_OK) << last_error();
    const std::string words = danaus_text_data(text);
    danaus_text_destroy(text);
    return words;
  };
  EXPECT_THAT(fields("fftconv"), HasSubstr(R"({"name":"l","kind":"number"})"));
  EXPECT_THAT(fields("fftconv_causal_l24"), HasSubstr(R"({"name":"l","kind":"number","value":24})"));
  EXPECT_THAT(fields("fftconv_causal"),
              HasSubstr(R"("name":"mode","kind":"one_of","values":["causal","circular"],"value":"causal")"));
  EXPECT_THAT(fields("spectral_l20x18_shared"), HasSubstr(R"("name":"l","kind":"list","value":[20,18])"));
  danaus_text* text = nullptr;
  for (const auto& [token, words] : {std::pair("conv_f32", "one of fftconv"),
                                     {"fftconv_gated", "unknown field"},
                                     {"fftconv_l9999999999999999999999", "must be less than 2^63"},
                                     {"fftconv_causal_circular", "stands twice"},
                                     {"", "begins with its operation"}}) {
    EXPECT_EQ(danaus_token_fields(token, &text), DANAUS_BAD_INPUT) << token;
    EXPECT_THAT(last_error(), HasSubstr(words));
  }
}

// As a program has it that was compiled with an earlier header, or with a later one.
TEST(Interface, StructsOfOtherVersionsAreReadAndWrittenAsFarAsTheyGo) {
  danaus_plan* const plan = plan_on_executor(kGradients);
  struct Earlier {
    std::size_t size;
    std::int64_t prepared;
  };
  const auto earlier = std::make_unique<Earlier>(Earlier{sizeof(Earlier), -1});
  ASSERT_EQ(danaus_plan_bytes(plan, 2, reinterpret_cast<danaus_bytes*>(earlier.get())), DANAUS_OK) << last_error();
  EXPECT_GT(earlier->prepared, 0);
  struct Later {
    danaus_bytes known;
    std::int64_t more;
  };
  Later later{{sizeof(Later), 0, 0, 0}, 7};
  ASSERT_EQ(danaus_plan_bytes(plan, 2, &later.known), DANAUS_OK);
  EXPECT_EQ(later.known.prepared, earlier->prepared);
  EXPECT_GT(later.known.workspace, 0);
  EXPECT_EQ(later.more, 0) << "what this version does not have";
  EXPECT_EQ(later.known.size, sizeof(Later));

  const CallArrays arrays(kGradients, false);
  const auto filters = arrays.filters();
  struct LaterCall {
    danaus_call known;
    void* more;
  };
  LaterCall call{};
  call.known.size = sizeof call;
  EXPECT_EQ(danaus_prepare(plan, filters.data(), filters.size(), &call.known), DANAUS_OK) << last_error();
  call.more = &call;
  EXPECT_EQ(danaus_prepare(plan, filters.data(), filters.size(), &call.known), DANAUS_BAD_INPUT);
  EXPECT_THAT(last_error(), HasSubstr("prepare: call sets a field that this version, "));
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{81}, std::size_t{1} << 40}) {
    danaus_call wrong{};
    wrong.size = size;
    EXPECT_EQ(danaus_prepare(plan, filters.data(), filters.size(), &wrong), DANAUS_BAD_INPUT) << size;
    EXPECT_THAT(last_error(), HasSubstr("of call, must be its sizeof, " + std::to_string(sizeof wrong)));
  }
  danaus_plan_destroy(plan);
}

TEST(Interface, NullIsRefusedByEveryFunction) {
  danaus_plan* const plan = plan_on_executor(kToken);
  danaus_plan* made = nullptr;
  danaus_text* text = nullptr;
  void* data = nullptr;
  std::size_t count = 0;
  std::uint8_t kept = 1;
  double mark = 1;
  auto info = sized<danaus_array_info>();
  auto bytes = sized<danaus_bytes>();
  const char* const word = "list";
  const danaus_array nameless = {nullptr, &mark, 8};
  const auto claim = sized<danaus_claim>();
  const char* const token = kToken.c_str();
  const std::vector<std::pair<const char*, std::function<danaus_status()>>> calls = {
      {"plan: token", [&] { return danaus_plan_create(nullptr, 0, nullptr, 0, &made); }},
      {"plan: plan", [&] { return danaus_plan_create(token, 0, nullptr, 0, nullptr); }},
      {"plan: kept", [&] { return danaus_plan_create(token, 0, nullptr, 5, &made); }},
      {"plan_bytes: plan", [&] { return danaus_plan_bytes(nullptr, 1, &bytes); }},
      {"plan_bytes: bytes", [&] { return danaus_plan_bytes(plan, 1, nullptr); }},
      {"case_array: token", [&] { return danaus_case_array(nullptr, 0, &info); }},
      {"case_array: info", [&] { return danaus_case_array(token, 0, nullptr); }},
      {"selftest: report", [&] { return danaus_selftest(0, nullptr); }},
      {"selftest: report", [&] { return danaus_selftest_on_executor(nullptr); }},
      {"prepare: plan", [&] { return danaus_prepare(nullptr, &nameless, 1, nullptr); }},
      {"prepare: arrays", [&] { return danaus_prepare(plan, nullptr, 1, nullptr); }},
      {"prepare: an array's name", [&] { return danaus_prepare(plan, &nameless, 1, nullptr); }},
      {"execute: plan", [&] { return danaus_execute(nullptr, &nameless, 1, nullptr); }},
      {"execute: arrays", [&] { return danaus_execute(plan, nullptr, 1, nullptr); }},
      {"whole_call: plan", [&] { return danaus_whole_call(nullptr, &nameless, 1, nullptr); }},
      {"whole_call: arrays", [&] { return danaus_whole_call(plan, nullptr, 1, nullptr); }},
      {"allocate: data", [&] { return danaus_allocate(0, 1, nullptr); }},
      {"copy: to", [&] { return danaus_copy_to_device(0, nullptr, &mark, 1); }},
      {"copy: from", [&] { return danaus_copy_to_device(0, &mark, nullptr, 1); }},
      {"copy: to", [&] { return danaus_copy_to_host(0, nullptr, &mark, 1); }},
      {"copy: from", [&] { return danaus_copy_to_host(0, &mark, nullptr, 1); }},
      {"plan: token", [&] { return danaus_plan_create_on_executor(nullptr, &made); }},
      {"plan: plan", [&] { return danaus_plan_create_on_executor(token, nullptr); }},
      {"case_mask: token", [&] { return danaus_case_mask(nullptr, &kept, 1, &count); }},
      {"case_mask: count", [&] { return danaus_case_mask(token, &kept, 1, nullptr); }},
      {"case_bytes: token", [&] { return danaus_case_bytes(nullptr, -1, &bytes); }},
      {"case_bytes: bytes", [&] { return danaus_case_bytes(token, -1, nullptr); }},
      {"case_layout: token", [&] { return danaus_case_layout(nullptr, -1, &text); }},
      {"case_layout: layout", [&] { return danaus_case_layout(token, -1, nullptr); }},
      {"case_asked: token", [&] { return danaus_case_asked(nullptr, &text); }},
      {"case_asked: asked", [&] { return danaus_case_asked(token, nullptr); }},
      {"case_masked: token", [&] { return danaus_case_masked(nullptr, &mark, 1, &text); }},
      {"case_masked: kept", [&] { return danaus_case_masked(token, nullptr, 1, &text); }},
      {"case_masked: masked", [&] { return danaus_case_masked(token, &mark, 1, nullptr); }},
      {"compute: token", [&] { return danaus_compute(nullptr, "fftw", &nameless, 1); }},
      {"compute: method", [&] { return danaus_compute(token, nullptr, &nameless, 1); }},
      {"compute: arrays", [&] { return danaus_compute(token, "fftw", nullptr, 1); }},
      {"judge: token", [&] { return danaus_judge(nullptr, "fftw", nullptr, &nameless, 1, &text); }},
      {"judge: method", [&] { return danaus_judge(token, nullptr, nullptr, &nameless, 1, &text); }},
      {"judge: verdict", [&] { return danaus_judge(token, "fftw", nullptr, &nameless, 1, nullptr); }},
      {"token_fields: token", [&] { return danaus_token_fields(nullptr, &text); }},
      {"token_fields: fields", [&] { return danaus_token_fields(token, nullptr); }},
      {"judge: token", [&] { return danaus_judge_claim(nullptr, &claim, &nameless, 1, &text); }},
      {"judge: claim", [&] { return danaus_judge_claim(token, nullptr, &nameless, 1, &text); }},
      {"judge: verdict", [&] { return danaus_judge_claim(token, &claim, &nameless, 1, nullptr); }},
      {"run: words", [&] { return danaus_run(nullptr, 1, nullptr, &text); }},
      {"run: rows", [&] { return danaus_run(&word, 1, nullptr, nullptr); }},
  };
  for (const auto& [what, call] : calls) {
    EXPECT_EQ(call(), DANAUS_BAD_INPUT) << what;
    EXPECT_EQ(last_error(), std::string(what) + " is null");
  }
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(data, nullptr);
  danaus_plan_destroy(plan);
  // These have nothing to say.
  danaus_plan_destroy(nullptr), danaus_text_destroy(nullptr), danaus_free(nullptr);
  EXPECT_STREQ(danaus_plan_description(nullptr), "");
  EXPECT_STREQ(danaus_plan_kernel(nullptr), "");
  EXPECT_STREQ(danaus_plan_layout(nullptr), "");
  EXPECT_STREQ(danaus_text_data(nullptr), "");
}

TEST(Interface, DestroyedPlansAndTextsAreKnown) {
  danaus_plan* const plan = plan_on_executor(kToken);
  EXPECT_STRNE(danaus_plan_description(plan), "");
  danaus_plan_destroy(plan);
  danaus_plan* const another = plan_on_executor(kToken);
  EXPECT_NE(another, plan) << "no handle comes twice";
  const CallArrays arrays(kToken, false);
  auto bytes = sized<danaus_bytes>();
  danaus_text* verdict = nullptr;
  const std::vector<danaus_status> statuses = {
      danaus_plan_bytes(plan, 1, &bytes), danaus_prepare(plan, arrays.filters().data(), 1, nullptr),
      danaus_execute(plan, arrays.others().data(), 2, nullptr),
      danaus_whole_call(plan, arrays.all().data(), 3, nullptr),
      danaus_judge(kToken.c_str(), "kernel", plan, CallArrays(kToken, true).all().data(), 3, &verdict)};
  EXPECT_THAT(statuses, testing::Each(DANAUS_BAD_INPUT));
  EXPECT_THAT(last_error(), testing::MatchesRegex("judge: plan 0x[0-9a-f]+ is none, or has been destroyed"));
  EXPECT_STREQ(danaus_plan_description(plan), "");
  danaus_plan_destroy(plan);
  EXPECT_STRNE(danaus_plan_description(another), "");
  danaus_plan_destroy(another);

  danaus_text* layout = nullptr;
  ASSERT_EQ(danaus_case_layout(kToken.c_str(), -1, &layout), DANAUS_OK);
  EXPECT_STRNE(danaus_text_data(layout), "");
  danaus_text_destroy(layout);
  EXPECT_STREQ(danaus_text_data(layout), "");
  danaus_text_destroy(layout);
}

TEST(Interface, EachThreadHasItsOwnError) {
  danaus_plan* plan = nullptr;
  EXPECT_EQ(danaus_plan_create_on_executor("fftconv_causal_l0", &plan), DANAUS_BAD_INPUT);
  const std::string own = last_error();
  std::thread([] {
    EXPECT_EQ(last_error(), "");
    danaus_text* asked = nullptr;
    EXPECT_EQ(danaus_case_asked("nothing", &asked), DANAUS_BAD_INPUT);
    EXPECT_THAT(last_error(), HasSubstr("nothing"));
  }).join();
  EXPECT_EQ(last_error(), own);
}

TEST(Interface, MemoryOfOthersIsNotFreed) {
  const auto own = std::make_unique<unsigned char[]>(64);
  danaus_free(own.get());
  std::memset(own.get(), 1, 64);
  EXPECT_EQ(own[63], 1);
}

TEST(Interface, AHandleIsOfOneKind) {
  danaus_plan* const plan = plan_on_executor(kToken);
  danaus_text* text = nullptr;
  ASSERT_EQ(danaus_case_asked(kToken.c_str(), &text), DANAUS_OK);
  EXPECT_NE(static_cast<void*>(plan), static_cast<void*>(text));
  danaus_plan_destroy(reinterpret_cast<danaus_plan*>(text));
  danaus_text_destroy(reinterpret_cast<danaus_text*>(plan));
  EXPECT_STRNE(danaus_plan_description(plan), "");
  EXPECT_STRNE(danaus_text_data(text), "");
  danaus_plan_destroy(plan);
  danaus_text_destroy(text);
}

// As those of plans.
TEST(Interface, ArraysInDoubleAreAlignedAndApart) {
  const CallArrays arrays(kToken, true);
  danaus_text* verdict = nullptr;
  const auto refused = [&](const std::vector<danaus_array>& list) {
    EXPECT_EQ(danaus_compute(kToken.c_str(), "fftw", list.data(), list.size()), DANAUS_BAD_INPUT);
    const std::string words = last_error();
    EXPECT_EQ(danaus_judge(kToken.c_str(), "fftw", nullptr, list.data(), list.size(), &verdict), DANAUS_BAD_INPUT);
    EXPECT_EQ(last_error().substr(last_error().find(": ")), words.substr(words.find(": ")));
    return words;
  };
  ASSERT_EQ(danaus_compute(kToken.c_str(), "fftw", arrays.all().data(), arrays.all().size()), DANAUS_OK);
  for (std::size_t i = 0; i < arrays.all().size(); ++i) {
    auto list = arrays.all();
    list[i].data = static_cast<char*>(list[i].data) + 1;
    EXPECT_THAT(refused(list), HasSubstr("must be aligned to doubles"));
    list[i].data = reinterpret_cast<void*>(~std::uintptr_t{15});
    EXPECT_THAT(refused(list), HasSubstr("where no memory has"));
  }
  auto list = arrays.all();  // u, k, y
  list.back().data = static_cast<char*>(list.front().data) + 800;
  EXPECT_EQ(refused(list), "compute: y overlaps u");
}

TEST(Interface, ArraysOfACallAreTheCasesOwn) {
  danaus_plan* const plan = plan_on_executor(kGradients);
  const CallArrays arrays(kGradients, false);
  const auto filters = arrays.filters(), others = arrays.others();
  const auto executed = [&](const std::vector<danaus_array>& list) {
    return danaus_execute(plan, list.data(), list.size(), nullptr) == DANAUS_OK ? "" : last_error();
  };
  EXPECT_EQ(executed(others), "execute: the plan has no filter yet; call prepare first");
  ASSERT_EQ(danaus_prepare(plan, filters.data(), filters.size(), nullptr), DANAUS_OK) << last_error();
  EXPECT_EQ(executed(others), "");
  for (std::size_t i = 0; i < others.size(); ++i) {
    auto list = others;
    for (const std::size_t bytes : {std::size_t{0}, others[i].bytes - 1, others[i].bytes - 2, others[i].bytes + 2,
                                    std::numeric_limits<std::size_t>::max(), std::size_t{1} << 63}) {
      list[i].bytes = bytes;
      EXPECT_THAT(executed(list), HasSubstr(std::string("execute: ") + others[i].name + " has ")) << bytes;
    }
    list = others, list[i].data = nullptr;
    EXPECT_EQ(executed(list), std::string("execute: ") + others[i].name + " is null");
    list = others, list[i].data = static_cast<char*>(list[i].data) + 1;
    EXPECT_THAT(executed(list), HasSubstr("is not aligned"));
    list = others, list[i].data = reinterpret_cast<void*>(~std::uintptr_t{15});
    EXPECT_THAT(executed(list),
                HasSubstr("execute: " + std::string(others[i].name) + " is at 0xfffffffffffffff0, where"));
    list = others, list[i].name = "z";
    EXPECT_EQ(executed(list), "execute: a z is given, but the plan has none");
    list = others, list.push_back(others[i]);
    EXPECT_EQ(executed(list), std::string("execute: a ") + others[i].name + " is given twice");
    list = others, list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(executed(list), std::string("execute: the plan has a ") + others[i].name + ", but none is given");
  }
  // Of the other role; more than any case has.
  EXPECT_THAT(executed(filters), HasSubstr("a k is given, but the plan has none"));
  EXPECT_EQ(danaus_prepare(plan, others.data(), 1, nullptr), DANAUS_BAD_INPUT);
  EXPECT_THAT(last_error(), HasSubstr("is given, but the plan has none"));
  EXPECT_EQ(danaus_execute(plan, others.data(), std::numeric_limits<std::size_t>::max(), nullptr), DANAUS_BAD_INPUT);
  EXPECT_THAT(last_error(), HasSubstr("18446744073709551615 arrays, a case has at most 12"));
  // What is prepared, and a workspace of the caller.
  auto call = sized<danaus_call>();
  std::vector<std::uint32_t> memory(1 << 16);
  const auto refused = [&](danaus_call with) {
    return danaus_execute(plan, others.data(), others.size(), &with) == DANAUS_OK ? "" : last_error();
  };
  auto with = call;
  with.prepared = memory.data(), with.prepared_bytes = 16;
  EXPECT_THAT(refused(with), HasSubstr("execute: prepared has 16 bytes, the plan needs "));
  with.vouched = 1;
  EXPECT_THAT(refused(with), HasSubstr("execute: prepared has 16 bytes, the plan needs "));
  with.prepared_bytes = 4 * memory.size(), with.prepared_for = "another";
  EXPECT_THAT(refused(with), HasSubstr("execute: prepared has the layout another, the plan's is "));
  with = call, with.workspace = memory.data(), with.workspace_bytes = 16;
  EXPECT_THAT(refused(with), HasSubstr("execute: the workspace has 16 bytes, the call needs "));
  // Kernels that read 16 bytes there would fault.
  with = call, with.prepared = memory.data() + 1, with.prepared_bytes = 4 * memory.size() - 4;
  EXPECT_THAT(refused(with), HasSubstr("execute: prepared is at 0x"));
  EXPECT_THAT(refused(with), HasSubstr(", must be aligned to 16 bytes"));
  with = call, with.workspace = memory.data() + 2, with.workspace_bytes = 4 * memory.size() - 8;
  EXPECT_THAT(refused(with), HasSubstr("execute: the workspace is at 0x"));
  with = call, with.batch = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(refused(with), HasSubstr("must be from 1 to the 2 of the plan's case"));
  with.batch = std::numeric_limits<std::int64_t>::min();
  EXPECT_THAT(refused(with), HasSubstr("must be from 1 to the 2 of the plan's case"));
  danaus_plan_destroy(plan);
}

TEST(Interface, NumbersBeyondWhatIsCountedAreRefused) {
  danaus_plan* const plan = plan_on_executor(kGradients);
  auto bytes = sized<danaus_bytes>();
  for (const std::int64_t batch : {std::int64_t{3}, std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(danaus_plan_bytes(plan, batch, &bytes), DANAUS_BAD_INPUT);
    EXPECT_EQ(last_error(),
              "plan_bytes: batch=" + std::to_string(batch) + ", must be from 1 to the 2 of the plan's case");
  }
  danaus_plan_destroy(plan);
  void* data = &bytes;
  char byte = 0;
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(danaus_allocate(0, most, &data), DANAUS_BAD_INPUT);
  EXPECT_EQ(last_error(), "allocate: bytes=18446744073709551615, must be at most 2^62");
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(danaus_copy_to_host(0, &byte, &byte, most), DANAUS_BAD_INPUT);
  EXPECT_EQ(danaus_copy_to_device(0, &byte, &byte, most), DANAUS_BAD_INPUT);
  EXPECT_EQ(last_error(), "copy: bytes=18446744073709551615, must be at most 2^62");
}

TEST(Interface, DevicesBelowTheExecutorAreRefused) {
  auto bytes = sized<danaus_bytes>();
  danaus_text* layout = nullptr;
  for (const int device : {-2, std::numeric_limits<int>::min()}) {
    const std::string rule = ": device=" + std::to_string(device) + ", must be -1 (the executor) or a CUDA device";
    EXPECT_EQ(danaus_case_bytes(kToken.c_str(), device, &bytes), DANAUS_BAD_INPUT);
    EXPECT_EQ(last_error(), "case_bytes" + rule);
    EXPECT_EQ(danaus_case_layout(kToken.c_str(), device, &layout), DANAUS_BAD_INPUT);
    EXPECT_EQ(last_error(), "case_layout" + rule);
  }
}

TEST(Interface, WithoutADeviceItSaysSo) {
  if (danaus_device_count() > 0) GTEST_SKIP() << "there is a CUDA device";
  danaus_plan* plan = nullptr;
  void* data = nullptr;
  char byte = 0;
  for (const int device : {0, -1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    EXPECT_EQ(danaus_plan_create(kToken.c_str(), device, nullptr, 0, &plan), DANAUS_NO_DEVICE);
    EXPECT_EQ(danaus_allocate(device, 16, &data), DANAUS_NO_DEVICE);
    auto report = sized<danaus_selftest_report>();
    EXPECT_EQ(danaus_selftest(device, &report), DANAUS_NO_DEVICE);
    report.size = 12;
    EXPECT_EQ(danaus_selftest_on_executor(&report), DANAUS_BAD_INPUT);
    EXPECT_EQ(danaus_copy_to_host(device, &byte, &byte, 1), DANAUS_NO_DEVICE);
    EXPECT_EQ(danaus_copy_to_device(device, &byte, &byte, 1), DANAUS_NO_DEVICE);
  }
  EXPECT_EQ(plan, nullptr);
  EXPECT_EQ(data, nullptr);
  EXPECT_THAT(last_error(), HasSubstr("device: CUDA device "));
  danaus_text* rows = nullptr;
  const std::vector<const char*> words = {"verify", "--case", kToken.c_str(), "--method", "gpu"};
  EXPECT_EQ(danaus_run(words.data(), words.size(), nullptr, &rows), DANAUS_NO_DEVICE);
  EXPECT_EQ(rows, nullptr);
  EXPECT_THAT(last_error(), testing::StartsWith("verify: no CUDA device; --method gpu needs a GPU"));
}

TEST(Interface, MasksHaveRoomOrAreNotWritten) {
  const char* const token = "fftconv_f16_circular_l768_b2_h1_r3x16x16_zero8x0x0";
  std::size_t count = 0;
  ASSERT_EQ(danaus_case_mask(token, nullptr, 0, &count), DANAUS_OK);
  ASSERT_EQ(count, 768u);
  const auto kept = std::make_unique<std::uint8_t[]>(count);
  kept[0] = 7;
  EXPECT_EQ(danaus_case_mask(token, kept.get(), count - 1, &count), DANAUS_OK);
  EXPECT_EQ(kept[0], 7) << "too little room";
  EXPECT_EQ(danaus_case_mask(token, kept.get(), count, &count), DANAUS_OK);
  EXPECT_EQ(kept[0], 1);
  const std::vector<double> marks(10, 1);
  danaus_text* masked = nullptr;
  EXPECT_EQ(danaus_case_masked(kToken.c_str(), marks.data(), marks.size(), &masked), DANAUS_BAD_INPUT);
  EXPECT_EQ(masked, nullptr);
}

// A call that is to end, and one beside it that goes on.
TEST(Interface, AnInterruptIsOfOneCall) {
  const std::vector<const char*> words = {"verify", "--method", "fftw", "--case", kToken.c_str()};
  const int stop = 1, go_on = 0;
  danaus_text *rows = nullptr, *others = nullptr;
  EXPECT_EQ(danaus_run(words.data(), words.size(), &stop, &rows), DANAUS_INTERRUPTED);
  EXPECT_THAT(last_error(), HasSubstr("verify: interrupted after 0 of 1 rows"));
  EXPECT_EQ(rows, nullptr);
  EXPECT_EQ(danaus_run(words.data(), words.size(), &go_on, &others), DANAUS_OK) << last_error();
  EXPECT_THAT(taken(others), HasSubstr("\"status\":\"passed\""));

  std::vector<const char*> long_one = {"verify", "--method", "fftw"};
  for (int i = 0; i < 2000; ++i) long_one.insert(long_one.end(), {"--case", "fftconv_f16_causal_l4096_b4_h4"});
  int flag = 0;
  std::jthread interrupted([&] {
    danaus_text* none = nullptr;
    EXPECT_EQ(danaus_run(long_one.data(), long_one.size(), &flag, &none), DANAUS_INTERRUPTED) << last_error();
  });
  std::jthread goes_on([&] {
    danaus_text* some = nullptr;
    EXPECT_EQ(danaus_run(words.data(), words.size(), nullptr, &some), DANAUS_OK) << last_error();
    danaus_text_destroy(some);
  });
  goes_on.join();
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
}

TEST(Interface, WrongWordsOfCommandsAreRefused) {
  const auto refused = [](std::vector<const char*> words) {
    danaus_text* rows = nullptr;
    EXPECT_EQ(danaus_run(words.data(), words.size(), nullptr, &rows), DANAUS_BAD_INPUT) << words.front();
    EXPECT_EQ(rows, nullptr);
    return last_error();
  };
  EXPECT_THAT(refused({"bench"}), HasSubstr("run: command 'bench', must be one of verify, "));
  EXPECT_THAT(refused({"count", "--hardware"}), HasSubstr("--hardware starts a profiler"));
  EXPECT_THAT(refused({"list", nullptr}), HasSubstr("a word is null"));
  EXPECT_EQ(refused({"verify", "-h"}), "run: -h has no rows, must be given to the program danaus");
  EXPECT_THAT(refused({"list", "--help"}), HasSubstr("run: --help has no rows"));
  for (const char* json : {"--json", "--json=f"})
    EXPECT_THAT(refused({"list", "kernels", json}),
                HasSubstr("run: --json is of the program danaus, must be left out"));
  danaus_text* rows = nullptr;
  EXPECT_EQ(danaus_run(nullptr, 0, nullptr, &rows), DANAUS_BAD_INPUT);
  EXPECT_THAT(refused({"memory", "--case", "fftconv"}), HasSubstr("field 'dtype' is missing"));
  EXPECT_THAT(run({"memory", "--case", kToken.c_str()}), HasSubstr("total_bytes"));
  EXPECT_THAT(run({"factors", "--case", "fftconv_f16_circular_l16_b1_h1_r4x4"}), HasSubstr("rows"));
}

}  // namespace
}  // namespace danaus
