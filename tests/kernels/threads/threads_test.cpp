// What many threads may do with one plan at a time; of the preset threads under ThreadSanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "kernels/cpu/machine.hpp"
#include "kernels/danaus.hpp"
#include "kernels/executor/aligned.hpp"
#include "kernels/plan/plan.hpp"

namespace danaus {
namespace {

// Bytes for each array of a case: small numbers of 16 bits or of 32.
class Memory {
 public:
  Memory(const Case& asked, unsigned seed) : arrays_(asked.arrays()) {
    for (const Array& array : arrays_) {
      const std::int64_t count = array.size();
      auto& bytes = bytes_[std::string(array.name)];
      bytes = std::make_unique<host::AlignedArray<unsigned char>>(count * danaus::bytes(array.dtype));
      for (std::int64_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        const float value = static_cast<float>(static_cast<int>(seed >> 24) - 128) / 256;
        if (danaus::bytes(array.dtype) == 4)
          reinterpret_cast<float*>(bytes->data())[i] = value;
        else  // a half of that sign, from 0.5 to 1
          reinterpret_cast<std::uint16_t*>(bytes->data())[i] =
              static_cast<std::uint16_t>((value < 0 ? 0xb800 : 0x3800) + (seed >> 22));
      }
    }
  }
  std::vector<Buffer> of(std::initializer_list<Role> roles) {
    std::vector<Buffer> list;
    for (const Array& array : arrays_)
      if (std::ranges::find(roles, array.role) != roles.end()) list.emplace_back(array.name, of(array.name));
    return list;
  }
  std::span<unsigned char> of(std::string_view name) { return bytes_.at(std::string(name))->all(); }
  // All of its outputs, one after the other.
  std::vector<unsigned char> outputs() {
    std::vector<unsigned char> all;
    for (const Array& array : arrays_)
      if (array.role == Role::output) all.insert(all.end(), of(array.name).begin(), of(array.name).end());
    return all;
  }
  std::vector<unsigned char> executed(const Plan& plan, const CallOptions& options = {}) {
    plan.execute(of({Role::input, Role::output}), options);
    return outputs();
  }

 private:
  std::vector<Array> arrays_;
  std::map<std::string, std::unique_ptr<host::AlignedArray<unsigned char>>> bytes_;
};

template <class Work>
void at_once(int threads, Work work) {
  std::vector<std::jthread> list;
  for (int i = 0; i < threads; ++i) list.emplace_back([=] { work(i); });
}

constexpr int kThreads = 4, kCalls = 6;
// Of each kind of program with a workspace, and one without.
const std::vector<std::string> kTokens = {"fftconvgrad_f16_causal_l256_b2_h2", "fftconv_f16_causal_l999_k20_b2_h1_n256",
                                          "shortconvgrad_f16_causal_k4_l64_b2_h2", "fftconv_f16_causal_l256_b2_h2"};

TEST(Threads, ExecuteOnePlan) {
  for (const std::string& token : kTokens) {
    const Case asked = parse_case(token);
    Plan plan(asked, executor_machine());
    plan.prepare(Memory(asked, 1).of({Role::filter}));
    std::vector<Memory> of_threads;
    std::vector<std::vector<unsigned char>> right;
    for (int i = 0; i < kThreads; ++i) {
      of_threads.emplace_back(asked, 100 + i);
      right.push_back(of_threads.back().executed(plan));
    }
    std::atomic<int> wrong = 0;
    at_once(kThreads, [&](int i) {
      for (int call = 0; call < kCalls; ++call) wrong += of_threads[i].executed(plan) != right[i];
    });
    EXPECT_EQ(wrong, 0) << token << ", of " << kThreads * kCalls;
  }
}

// A result is of one filter or of the other, never of both.
TEST(Threads, PrepareBesideExecute) {
  const Case asked = parse_case("fftconv_f16_causal_l256_b1_h4");
  Plan plan(asked, executor_machine());
  Memory first(asked, 1), second(asked, 2);
  std::vector<Memory> of_threads;
  std::vector<std::vector<unsigned char>> by_first, by_second;
  for (int i = 0; i < kThreads; ++i) of_threads.emplace_back(asked, 100 + i);
  plan.prepare(second.of({Role::filter}));
  for (Memory& memory : of_threads) by_second.push_back(memory.executed(plan));
  plan.prepare(first.of({Role::filter}));
  for (Memory& memory : of_threads) by_first.push_back(memory.executed(plan));
  ASSERT_NE(by_first, by_second);
  std::atomic<int> wrong = 0;
  at_once(kThreads, [&](int i) {
    for (int call = 0; call < kCalls; ++call) {
      if (i == 0) plan.prepare((call % 2 == 0 ? second : first).of({Role::filter}));
      const auto result = of_threads[i].executed(plan);
      wrong += result != by_first[i] && result != by_second[i];
    }
  });
  EXPECT_EQ(wrong, 0);
}

// Each has its own filter, though the plan has memory for one.
TEST(Threads, WholeCallsOfOnePlan) {
  const Case asked = parse_case("fftconv_f16_causal_l256_b1_h2");
  Plan plan(asked, executor_machine());
  std::vector<Memory> of_threads;
  std::vector<std::vector<unsigned char>> right;
  const auto call = [&](int i) {
    plan.whole_call(of_threads[i].of({Role::input, Role::filter, Role::output}));
    return of_threads[i].outputs();
  };
  for (int i = 0; i < kThreads; ++i) of_threads.emplace_back(asked, 100 + i), right.push_back(call(i));
  std::atomic<int> wrong = 0;
  at_once(kThreads, [&](int i) {
    for (int n = 0; n < kCalls; ++n) wrong += call(i) != right[i];
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, FiltersOfTheCallers) {
  const Case asked = parse_case("fftconvgrad_f16_causal_l256_b1_h2");
  Plan plan(asked, executor_machine());
  std::atomic<int> wrong = 0;
  at_once(kThreads, [&](int i) {
    Memory memory(asked, 100 + i);
    const host::AlignedArray<unsigned char> prepared(plan.prepared_bytes());
    const CallOptions options{.prepared = prepared.data(), .prepared_bytes = prepared.all().size()};
    plan.prepare(memory.of({Role::filter}), options);
    const auto right = memory.executed(plan, options);
    for (int call = 0; call < kCalls; ++call) wrong += memory.executed(plan, options) != right;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, MakeAndDestroyPlans) {
  at_once(kThreads, [](int i) {
    for (int n = 0; n < 2; ++n) {
      const Case asked = parse_case(kTokens[static_cast<std::size_t>(i + n) % kTokens.size()]);
      Plan plan(asked, executor_machine());
      Memory memory(asked, 1);
      plan.prepare(memory.of({Role::filter}));
      memory.executed(plan);
    }
  });
}

// By the C interface: a call that has the plan goes on to its end, and no later one has it.
TEST(Threads, DestroyAPlanThatIsExecuted) {
  const Case asked = parse_case("fftconvgrad_f16_causal_l256_b1_h1");
  danaus_plan* const plan = plans().add(std::make_shared<OpenPlan>(Plan(asked, executor_machine())));
  const auto arrays_of = [](Memory& memory, std::initializer_list<Role> roles) {
    std::vector<danaus_array> arrays;
    for (const Buffer& buffer : memory.of(roles))
      arrays.push_back({buffer.name.data(), const_cast<void*>(buffer.data), buffer.bytes});
    return arrays;
  };
  Memory filter(asked, 1);
  const auto filters = arrays_of(filter, {Role::filter});
  ASSERT_EQ(danaus_prepare(plan, filters.data(), filters.size(), nullptr), DANAUS_OK);
  std::atomic<int> done = 0, other = 0;
  at_once(kThreads, [&](int i) {
    Memory memory(asked, 100 + i);
    const auto arrays = arrays_of(memory, {Role::input, Role::output});
    danaus_status status = DANAUS_OK;
    while (status == DANAUS_OK) {
      if (++done == 2 * kThreads) danaus_plan_destroy(plan);
      status = danaus_execute(plan, arrays.data(), arrays.size(), nullptr);
    }
    other += status != DANAUS_BAD_INPUT;
  });
  EXPECT_EQ(other, 0);
  EXPECT_EQ(danaus_prepare(plan, filters.data(), filters.size(), nullptr), DANAUS_BAD_INPUT);
  EXPECT_THAT(danaus_last_error(), testing::HasSubstr("is none, or has been destroyed"));
}

}  // namespace
}  // namespace danaus
