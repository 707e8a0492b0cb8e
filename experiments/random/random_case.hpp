// Random cases of plans against the truth in double: in everything that calls may differ in, one number says which.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/plan/machine.hpp"
#include "reference/backward/bounds.hpp"
#include "reference/convolution/convolution.hpp"
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
  Case asked = Convolution();
  RandomFilter filter = RandomFilter::gaussian;
  double scale = 1;          // of u
  std::vector<int> offsets;  // of the case's arrays, in samples from an address that is a multiple of 16 bytes; none: 0
  std::uint64_t seed = 0;    // of the data
};

// The words of the operations that there are random cases of, the default first.
std::vector<std::string> random_operations();

// Case `number` of those that begin with `seed`. Of convolutions, their gradients and steps: lengths to 32K, many of
// them near an FFT size; K from 1 to 2 L; up to 2^17 samples. Of spectral layers: what a kernel for one axis has room
// for, with up to 2^17 samples. Of short convolutions and their gradients: 2 to 256 taps, rows from one sample on, in
// both layouts, up to 2^21 products. Of state-space models: 1 to 256 states, up to 2^19 steps of a state.
RandomCase random_case(std::uint64_t seed, std::int64_t number, std::string_view operation = "fftconv");

// In words, beside its token.
std::string describe(const RandomCase& c);

// The worst of the outputs: its error against what was summed to it (OutputBound). Where y is small by cancellation or
// by trimming, the error against y says nothing of a kernel.
struct RandomVerdict {
  double error = 0;
  double bound = 0;       // of it, of the kernel's roundings
  double clearance = 0;   // error over bound
  std::string output;     // which one
  std::string violation;  // what was wrong beyond that: NaN, samples written beside an output, a refusal
  bool passed() const { return violation.empty() && clearance <= 1; }
};

Values random_values(const RandomCase& c);

RandomVerdict verdict_of(const RandomCase& c, const Values& truth, const Values& outputs,
                         const std::vector<OutputBound>& bounds);

// By a plan on the machine.
RandomVerdict judge(const RandomCase& c, const std::shared_ptr<const Machine>& machine);

}  // namespace danaus
