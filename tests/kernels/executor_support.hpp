// Runs small kernels on the executor and says what it refuses.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/device/operations.hpp"
#include "kernels/executor/executor.hpp"
#include "kernels/executor/tensor_view.hpp"
#include "reference/half.hpp"

namespace danaus {

constexpr int kSeeds = 32;

template <Dtype T>
u32 pair(double low, double high) {
  return host::encode<T>(low) | u32{host::encode<T>(high)} << 16;
}

// Of matrices whose products and sums are exact.
template <class... Matrix>
void fill_with_small_integers(Matrix&... matrices) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> small(-4, 4);
  const auto fill = [&](auto& matrix) {
    for (auto& row : matrix)
      for (double& x : row) x = small(random);
  };
  (fill(matrices), ...);
}

template <class Action>
std::string violation(Action action) {
  try {
    action();
  } catch (const host::ExecutionError& error) {
    return error.what();
  }
  return "no violation";
}

inline host::Counters run(int threads, int shared_bytes, const std::function<void()>& kernel) {
  return host::Executor().run({.threads = threads, .shared_bytes = shared_bytes}, kernel);
}

inline std::vector<u32> iota(int count) {
  std::vector<u32> values(count);
  std::iota(values.begin(), values.end(), 0u);
  return values;
}

// What the kernel is refused for in ascending order; it must be refused, or not, in random orders as well.
inline std::string violation_in_any_order(const host::Launch& launch, host::Executor& executor,
                                          const std::function<void()>& kernel) {
  const auto run = [&](host::Order order, std::uint64_t seed) {
    host::Launch ordered = launch;
    ordered.order = order, ordered.seed = seed;
    return violation([&] { executor.run(ordered, kernel); });
  };
  const std::string first = run(host::Order::ascending, 0);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::string other = run(host::Order::random, seed);
    if ((first == "no violation") != (other == "no violation"))
      return "refused in some orders only: seed " + std::to_string(seed) + " differs from ascending order";
  }
  return first;
}

inline std::string violation_in_any_order(int threads, int shared_bytes, const std::function<void()>& kernel) {
  host::Executor executor;
  return violation_in_any_order({.threads = threads, .shared_bytes = shared_bytes}, executor, kernel);
}

// A view of 13 rows of 64 halves in memory, in boxes of 16 rows of 64.
struct Rows {
  static constexpr int kPitch = 64, kRows = 13, kBoxBytes = 16 * 128;
  std::vector<std::uint16_t> in = std::vector<std::uint16_t>(kPitch * kRows);
  std::vector<std::uint16_t> out = std::vector<std::uint16_t>(kPitch * kRows, 0xffff);
  host::Executor executor;
  Rows() {
    std::iota(in.begin(), in.end(), std::uint16_t{1});
    executor.declare("in", in.data(), 2 * in.size(), false);
    executor.declare("out", out.data(), 2 * out.size(), true);
  }
  static host::TensorView view(std::vector<std::uint16_t>& rows) {
    return {rows.data(), {kPitch, kRows, 1, 1, 1}, {2, 2 * kPitch, 16, 16, 16}, {64, 16, 1, 1, 1}};
  }
  static TensorMap map(std::vector<std::uint16_t>& rows) { return make_tensor_map(view(rows)); }
};

constexpr SharedAddress kSlab = 1024;

// Thread 0 loads a box; barrier 0 tells when it is there.
inline void load_box(const TensorMap& map, const int (&at)[5]) {
  if (device::thread_index() == 0) {
    device::barrier_init(0, 1);
    device::fence_async();
    device::barrier_expect(0, Rows::kBoxBytes);
    device::tensor_load(kSlab, map, at, 0, Cache::normal);
  }
  device::sync_block();
}

}  // namespace danaus
