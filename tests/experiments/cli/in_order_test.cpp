#include "experiments/cli/in_order.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "experiments/cli/interrupt.hpp"

namespace danaus {
namespace {

TEST(InOrder, DeliversInOrderWhateverTakesLonger) {
  std::vector<int> delivered;
  compute_in_order(
      20, 4,
      [](std::size_t i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(i % 5 == 0 ? 5 : 0));
        return Json(i);
      },
      [&](std::size_t i, const Json& result) {
        EXPECT_EQ(result, i);
        delivered.push_back(static_cast<int>(i));
      });
  ASSERT_EQ(delivered.size(), 20);
  EXPECT_TRUE(std::is_sorted(delivered.begin(), delivered.end()));
}

TEST(InOrder, OneThreadIsTheCallersOwn) {
  const auto caller = std::this_thread::get_id();
  std::size_t delivered = 0;
  compute_in_order(
      3, 1,
      [&](std::size_t i) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        EXPECT_EQ(delivered, i) << "each is delivered before the next begins";
        return Json(i);
      },
      [&](std::size_t, const Json&) { ++delivered; });
  EXPECT_EQ(delivered, 3u);
}

TEST(InOrder, WhatCameBeforeAFailureIsDelivered) {
  std::size_t delivered = 0;
  const auto compute = [](std::size_t i) {
    if (i == 5) throw std::invalid_argument("five");
    return Json(i);
  };
  EXPECT_THROW(compute_in_order(10, 2, compute, [&](std::size_t, const Json&) { ++delivered; }), std::invalid_argument);
  EXPECT_LE(delivered, 5u);
}

TEST(InOrder, StopsAtAnInterrupt) {
  std::size_t delivered = 0;
  const auto deliver = [&](std::size_t, const Json&) {
    if (++delivered == 3) set_interrupt(true);
  };
  EXPECT_THROW(compute_in_order(
                   1000, 2, [](std::size_t i) { return Json(i); }, deliver),
               Interrupted);
  set_interrupt(false);
  EXPECT_EQ(delivered, 3u);
}

}  // namespace
}  // namespace danaus
