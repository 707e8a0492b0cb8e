// Random cases of plans against the truth in double: in everything that calls may differ in, one number says which.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/plan/machine.hpp"
#include "reference/convolution/convolution.hpp"
#include "reference/convolution/data.hpp"
#include "reference/names.hpp"

namespace danaus {

// Filters that make a convolution hard to compare: outputs are small where inputs are not.
enum class RandomFilter { gaussian, last_tap, alternating, decaying };

inline constexpr std::array kRandomFilters = {
    Named{RandomFilter::gaussian, "gaussian", "unit norm on average"},
    Named{RandomFilter::last_tap, "last_tap", "1 at the last sample that counts: what is before it comes out as zeros"},
    Named{RandomFilter::alternating, "alternating", "+-1, scaled to unit norm: all in one frequency"},
    Named{RandomFilter::decaying, "decaying", "an exponential over K / 8 samples"},
};

struct RandomCase {
  Convolution problem;
  RandomFilter filter = RandomFilter::gaussian;
  double scale = 1;  // of u
  std::array<int, 4> offsets =
      {};                  // of u, pregate, postgate and y: samples from an address that is a multiple of 16 bytes
  std::uint64_t seed = 0;  // of the data
};

// Case `number` of those that begin with `seed`. Lengths to 32K, many of them near an FFT size; K from 1 to 2 L; up to
// 2^17 samples.
RandomCase random_case(std::uint64_t seed, std::int64_t number);

// In words, beside its token.
std::string describe(const RandomCase& c);

// The error against what was summed: the root of sum |y - truth|^2 over sum |w u|^2 |k|^2 mean(v^2) of the rows. Where
// y is small by cancellation or by trimming, the error against y says nothing of a kernel.
struct RandomVerdict {
  double error = 0;
  double bound = 0;       // of it, of the kernel's roundings
  double clearance = 0;   // error over bound
  std::string violation;  // what was wrong beyond that: NaN, samples written beside y, a refusal
  bool passed() const { return violation.empty() && clearance <= 1; }
};

Inputs random_inputs(const RandomCase& c);

// Of y [B, H, L], which was rounded so many times on its way.
RandomVerdict verdict_of(const RandomCase& c, const Inputs& inputs, const std::vector<double>& truth,
                         const std::vector<double>& y, int roundings);

// By a plan on the machine.
RandomVerdict judge(const RandomCase& c, const std::shared_ptr<const Machine>& machine);

}  // namespace danaus
