// What the code of baselines asks. It calls them by this enumeration: by another name its rows would be stale.
#pragma once

#include <cstdint>
#include <string_view>

#include "experiments/methods/runner.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

enum class Contender { cufft_f32, cufft_pairs, cufft_cublas_f32, cufft_cublas_tf32 };

// FFT size of a cuFFT baseline: L where the case is circular; else the linear convolution padded with zeros, to a size
// with small prime factors (f32) or a power of two (pairs).
std::int64_t baseline_fft_size(Contender contender, const Convolution& problem);

// Bound on the L2 error that a baseline adds to an output, relative to what was summed to it.
double baseline_bound(Contender contender, const Case& by, std::string_view output);

}  // namespace danaus
