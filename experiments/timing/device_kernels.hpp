// Small kernels that a measurement needs around the one that is measured. All asynchronous on the stream.
#pragma once

#include <cstdint>

#include "experiments/timing/difference.hpp"
#include "kernels/plan/machine.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

// Arrays are of f16, bf16 or f32.

// out[i] = scale noise(key, i), rounded to the type.
void fill_noise(Dtype dtype, void* out, std::int64_t count, std::uint64_t key, float scale, Stream stream);

// Adds to *found how many of `values` are NaN or infinite; what was poisoned and never written is.
void count_nonfinite(Dtype dtype, const void* values, std::int64_t count, unsigned long long* found, Stream stream);

// Merges into *difference, which begins as Difference{}: numbers of a result and of what it is to be.
void add_difference(Dtype dtype, const void* actual, const void* expected, std::int64_t count, Difference* difference,
                    Stream stream);

// Adds checksum_of() each 16 bits of an array to *sum.
void add_checksum(const void* values, std::int64_t bytes, unsigned long long* sum, Stream stream);

// k [H, L] of a state-space model, Re sum_s C_s A_s^n B_s, of a, b, c [H, S, 2], |A| at most 1: powers by logarithms in
// double every few taps, and by products between them.
void fill_taps(const float* a, const float* b, const float* c, float* k, std::int64_t channels, int states,
               std::int64_t length, Stream stream);

// Keeps the stream waiting until *released is not 0, a second at most: host memory that the device sees.
void hold(const volatile int* released, Stream stream);

// Two clocks of a multiprocessor, read together.
struct ClockStamp {
  long long cycles = 0;
  unsigned long long ns = 0;
};
// stamps[i] for each multiprocessor i that a block of the launch happens to run on.
void stamp_clocks(ClockStamp* stamps, int multiprocessors, Stream stream);

}  // namespace danaus
