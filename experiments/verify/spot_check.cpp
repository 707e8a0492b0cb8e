#include "experiments/verify/spot_check.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "reference/half.hpp"

namespace danaus {
namespace {

constexpr double kMultiplications = 2e8;  // a few tenths of a second
constexpr double kFewest = 16;            // samples

double direct_sample(const Convolution& p, const Inputs& inputs, std::int64_t index) {
  const std::int64_t row = index / p.length, n = index % p.length;
  const double* const u = inputs.u.data() + row * p.length;
  const double* const gate = p.pregate ? inputs.pregate.data() + row * p.length : nullptr;
  const double* const k = inputs.k.data() + row % p.channels * p.filter_length;
  const std::int64_t terms = p.mode == Mode::causal ? std::min(p.filter_length, n + 1) : p.filter_length;
  double sum = 0;
  // Partial sums of 512 terms: a plain sum of 200000 would be rounded worse than the transform that it checks.
  for (std::int64_t m = 0, at = n; m < terms;) {
    double part = 0;
    for (const std::int64_t end = std::min(m + 512, terms); m < end; ++m, at = at == 0 ? p.length - 1 : at - 1)
      part += k[m] * (gate ? gate[at] * u[at] : u[at]);
    sum += part;
  }
  return p.postgate ? inputs.postgate[static_cast<std::size_t>(index)] * sum : sum;
}

double largest(std::span<const double> values) {
  double most = 0;
  for (double value : values) most = std::max(most, std::abs(value));
  return most;
}

// An upper limit for |y|, from the largest values of everything that enters it.
double scale_of(const Convolution& p, const Inputs& inputs) {
  double filter = 0;
  for (std::int64_t channel = 0; channel < p.channels; ++channel) {
    double sum = 0;
    for (std::int64_t m = 0; m < p.filter_length; ++m) sum += std::abs(inputs.k[channel * p.filter_length + m]);
    filter = std::max(filter, sum);
  }
  return filter * largest(inputs.u) * (p.pregate ? largest(inputs.pregate) : 1) *
         (p.postgate ? largest(inputs.postgate) : 1);
}

}  // namespace

DirectSamples direct_samples(const Convolution& problem, const Inputs& inputs) {
  const std::int64_t total = problem.batch * problem.channels * problem.length;
  const double affordable = std::max(kFewest, kMultiplications / static_cast<double>(problem.filter_length));
  const std::int64_t count = affordable >= static_cast<double>(total) ? total : static_cast<std::int64_t>(affordable);
  std::mt19937_64 random;
  DirectSamples samples;
  for (std::int64_t i = 0; i < count; ++i) {
    samples.indices.push_back(count == total ? i
                                             : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(total)));
    samples.values.push_back(direct_sample(problem, inputs, samples.indices.back()));
  }
  return samples;
}

SpotCheck spot_check(const Convolution& problem, const Inputs& inputs, std::span<const double> y) {
  const auto [indices, expected] = direct_samples(problem, inputs);
  std::vector<double> computed, written;
  constexpr double kTolerance = 1e-12;  // of the largest possible |y|: thousands of roundings in double
  const double most = kTolerance * scale_of(problem, inputs);
  bool plausible = true;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    computed.push_back(y[static_cast<std::size_t>(indices[i])]);
    written.push_back(round_to(problem.dtype, computed.back()));
    plausible &= std::abs(computed.back() - expected[i]) <= most;  // false for NaN
  }
  SpotCheck check{std::ssize(indices), std::ssize(y), compare(expected, computed), compare(expected, written),
                  plausible};
  check.in_double.worst = indices[static_cast<std::size_t>(check.in_double.worst)];
  check.as_written.worst = indices[static_cast<std::size_t>(check.as_written.worst)];
  return check;
}

}  // namespace danaus
