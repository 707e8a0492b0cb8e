#include "experiments/bench/checked_rows.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "experiments/bench/noise.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/half.hpp"

namespace danaus {
namespace {

constexpr std::int64_t kMost = 8;

// At most kMost of `count`, in order. With `pairs`, i comes with the other of 2 j and 2 j + 1.
std::vector<std::int64_t> some_of(std::int64_t count, bool pairs) {
  std::set<std::int64_t> chosen;
  const auto take = [&](std::int64_t i) {
    chosen.insert(i);
    if (pairs && (i ^ 1) < count) chosen.insert(i ^ 1);
  };
  take(0), take(count - 1);
  std::mt19937_64 random;
  while (std::ssize(chosen) < std::min(count, kMost))
    take(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count)));
  return {chosen.begin(), chosen.end()};
}

}  // namespace

std::uint64_t array_key(const Convolution& problem, BenchArray array) {
  return noise_key(data_seed(problem, {}), static_cast<std::uint64_t>(array));
}

float filter_scale(const Convolution& p) {
  const std::int64_t counting = p.mode == Mode::causal ? std::min(p.filter_length, p.length) : p.filter_length;
  return static_cast<float>(1 / std::sqrt(static_cast<double>(counting)));
}

CheckedRows checked_rows(const Convolution& problem) {
  CheckedRows rows{some_of(problem.batch, true), some_of(problem.channels, false), problem, {}, {}};
  rows.problem.batch = std::ssize(rows.batch), rows.problem.channels = std::ssize(rows.channels);
  const auto made = [&](BenchArray array) {
    const std::uint64_t key = array_key(problem, array);
    std::vector<double> values;
    for (std::int64_t b : rows.batch)
      for (std::int64_t h : rows.channels)
        for (std::int64_t n = 0; n < problem.length; ++n)
          values.push_back(round_to(problem.dtype, noise(key, (b * problem.channels + h) * problem.length + n)));
    return values;
  };
  rows.inputs.u = made(BenchArray::u);
  if (problem.pregate) rows.inputs.pregate = made(BenchArray::pregate);
  if (problem.postgate) rows.inputs.postgate = made(BenchArray::postgate);
  const std::uint64_t key = array_key(problem, BenchArray::k);
  for (std::int64_t h : rows.channels)
    for (std::int64_t m = 0; m < problem.filter_length; ++m)
      rows.inputs.k.push_back(
          round_to(filter_dtype(problem), filter_scale(problem) * noise(key, h * problem.filter_length + m)));
  rows.y = convolve(rows.problem, rows.inputs, Method::fftw);
  return rows;
}

}  // namespace danaus
