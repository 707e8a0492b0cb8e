// Random cases of plans against the truth in double: in everything that calls may differ in, one number says which.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/methods/execution.hpp"
#include "reference/convolution/convolution.hpp"
#include "reference/judge.hpp"
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
  bool rows_differ = false;  // in loudness and kind: noise, an offset, a spike, silence, a NaN or an infinity
  std::vector<int> offsets;  // of the case's arrays, in samples from an address that is a multiple of 16 bytes; none: 0
  std::vector<RowStrides> strides;  // of the same; {0, 0}: contiguous; none: all are
  std::uint64_t seed = 0;           // of the data
};

// The words of the operations that there are random cases of, the default first.
std::vector<std::string> random_operations();

// The most blocks of a launch that an executor should execute whole. Of larger launches it executes the blocks that
// differ. A layer's second pass reads the results of many blocks, so few of its outputs would be known.
int most_whole_blocks(std::string_view operation);

// One case in eight is large: with rows that differ, and without. It takes ten times as long as a small one.
bool is_large(std::int64_t number);

// Case `number` of the sequence that begins with `seed`. Large ones go as far as the truth can be computed; brackets
// have their limits.
//
// Convolutions, gradients, steps: L to 32K (512K), often near an FFT size. K is from 1 to 2 L. At most 2^17 samples
// (2^20). Some say N, the fold or the factors; of convolutions one in twenty has a mask: bands, a pattern or blocks.
//
// Spectral layers: 16 to 1024 points, all modes and channels.
//
// Short convolutions, gradients: 2 to 256 taps in both layouts. L is from 1 on. At most 2^21 products (2^24).
//
// State-space models: 1 to 256 states. At most 2^21 steps of a state (2^24). Some say the chunk.
//
// Of long convolutions, their gradients and steps one case in four has strides: slices of a larger array, rows with a
// gap.
//
// Rows of cases 2, 3, 6, 7 and so on differ: each is 1e-6 to 1e4 times as loud as unit noise (2e3 in f16), or within
// kQuietest and kLoudest where a kernel takes no others. Some have an offset, are a single spike, or are silent. One
// may have a NaN or an infinity.
RandomCase random_case(std::uint64_t seed, std::int64_t number, std::string_view operation = "fftconv");

// In words, beside its token.
std::string describe(const RandomCase& c);

// The worst row of the outputs: its error against what was summed to it (judge.hpp). Where y is small by cancellation
// or by trimming, the error against y says nothing of a kernel.
struct RandomVerdict {
  double error = 0;
  double bound = 0;      // of it, of the kernel's roundings
  double clearance = 0;  // the largest share of its bound that an error of the row, or of all rows, takes
  std::string output;    // which one
  std::string place;     // of the row in it: "b=1, h=2"
  double known = 1;      // the share of all outputs that the machine computed
  // A digest of the bits of all outputs, in which every NaN is the same. It is missing if the machine left some outputs
  // out.
  std::optional<std::uint32_t> digest;
  std::string violation;  // what was wrong beyond that: NaN, memory that was written beside an array, a refusal
  bool passed() const { return violation.empty() && clearance <= 1; }
};

// What a kernel takes of rows that differ (kernels/plan/promise.hpp).
struct RowLimits {
  int shared_rows = 1;
  bool keeps_rows_apart = true, takes_any_loudness = true;
};
RowLimits row_limits(const Case& asked, const Device& device);

// Rows that differ are within the limits: those that share a transform and are not kept apart are as loud as each
// other.
Values random_values(const RandomCase& c, const RowLimits& limits = {});

// `known`: of outputs of which that is not all numbers, which those are; the others are not judged.
RandomVerdict verdict_of(const RandomCase& c, const Values& inputs, const Values& outputs, const Promise& promise,
                         const KnownNumbers& known = {});

// By a plan on the machine. With an executor, outputs must also be its outputs in every bit.
RandomVerdict judge(const RandomCase& c, const std::shared_ptr<const Machine>& machine,
                    const std::shared_ptr<const Machine>& executor = nullptr);

}  // namespace danaus
