// The truth of a convolution by a state-space model in double, in two ways, and what rounding may cost a kernel.
#pragma once

#include <span>
#include <vector>

#include "reference/state/state.hpp"
#include "reference/truth.hpp"

namespace danaus {

// Arrays of a case, of the shapes that arrays() says, already rounded to its types; x_initial empty without one.
struct StateInputs {
  std::vector<double> u, a, b, c, x_initial;
};
struct StateOutputs {
  std::vector<double> y, x_final;
};

// How far poles are from the unit circle.
enum class Poles {
  any,   // decays of 1 to 10^4 samples, log-uniform
  slow,  // of 10^6 samples and more
  unit,  // none, but for the rounding of A
};

// a, b and c of the same kind alone.
StateInputs make_filters(const StateSpace& problem, Poles poles = Poles::any, std::uint64_t seed = 0);

// Gaussian u, b and c, frequencies of A from 0 to pi, c scaled so that filters have unit L2 norm on average, x_initial
// of the size that white noise gives a state. They depend on token, kind and seed.
StateInputs make_inputs(const StateSpace& problem, Poles poles = Poles::any, std::uint64_t seed = 0);

// Sample by sample.
StateOutputs by_recurrence(const StateSpace& problem, const StateInputs& inputs);
// By the filter's taps and powers of A that come from no recurrence, O(L^2).
StateOutputs by_sum(const StateSpace& problem, const StateInputs& inputs);

// k [H, L].
std::vector<double> filter_of(const StateSpace& problem, const StateInputs& inputs);

// What a state is divided by where states are to be compared, [H, S]: |B| sqrt(sum_n |A|^2n), n < L, which white noise
// makes of it.
std::vector<double> state_sizes(const StateSpace& problem, const StateInputs& inputs);

// States over those sizes, so that all count; as they are where b is zero.
std::vector<double> over_sizes(const StateSpace& problem, const StateInputs& inputs, std::vector<double> states);

// The arrays of a case; empty where it has none.
StateInputs state_inputs_of(const Values& values);
Values values_of(StateInputs inputs);

// Bounds on the relative L2 error of y, and of x_final by state_sizes(), of a kernel that computes chunk by chunk: c u
// sqrt(R) of its roundings (bounds.hpp; u is that of the samples), and of the powers A^T, which a kernel holds in fp32
// and multiplies m = n / T times: m 2^-24, as their errors repeat, beside 2^-23 sqrt(m) of as many roundings of fp32.
// Squares add. n are the samples that a state remembers. The second matters where |A| is near 1 and n beyond 2^18.
double bound_l2(const StateSpace& problem, double remembered, int chunk, int roundings);

// Samples that the slowest state of a channel remembers, 1 / (1 - |A|), L at most: an older error has decayed.
double remembered_samples(const StateSpace& problem, const StateInputs& inputs, std::int64_t channel);

// Squares of the sums of rows [B, H], and how many samples have most of each sum. A decaying initial state has few.
struct SummedRows {
  std::vector<double> squares, samples;
};

// Of y [B, H]; and squares of x_final over state_sizes() [B, H, S]. Errors are relative to them where states' parts
// cancel. A kernel's matrices err alike in all of its chunks: such errors add up before they are squared. Kernels of
// one case may have chunks of several sizes.
SummedRows summed_rows(const StateSpace& problem, const StateInputs& inputs, std::span<const int> chunks);
std::vector<double> summed_squares_of_states(const StateSpace& problem, const StateInputs& inputs,
                                             std::span<const int> chunks);

}  // namespace danaus
