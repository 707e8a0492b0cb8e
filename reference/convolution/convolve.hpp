// The truth: y = postgate * conv(pregate * u, k) in double, three ways that agree.
//
// The filter first takes the length that can matter, min(K, L): a causal filter is cut, a circular one is wrapped
// modulo L. Without a mask nothing else about the case changes the answer; fold, N and factors only say how to get
// there. With a mask the filter's N-point spectrum is masked, u is convolved with it cyclically at N, and the N results
// are cut to L (causal) or added up modulo L (circular). A literal mask makes the filter complex; y is the real part.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "reference/convolution/convolution.hpp"
#include "reference/convolution/data.hpp"
#include "reference/names.hpp"

namespace danaus {

enum class Algorithm { direct, fftw, monarch };

inline constexpr std::array kAlgorithms = {
    Named{Algorithm::fftw, "fftw", "real FFTs at a size of FFTW's choice"},
    Named{Algorithm::monarch, "monarch", "explicit Monarch factors, in the case's fold"},
    Named{Algorithm::direct, "direct",
          "the defining sum, L min(K, L) products a row; a mask by a direct DFT of the filter"},
};

std::string_view name(Algorithm method);

// y [B, H, L]. Throws when the arrays do not have the sizes that the case says. Re-entrant; one thread.
std::vector<double> convolve(const Convolution& problem, const Inputs& inputs, Algorithm method);

// The case as the Monarch pipeline computes it: fold, N and factors chosen where they were open. N is the smallest that
// the fold allows, made smooth where its prime factors are too large for dense stages; the factors are the fewest, at
// most 5, of at most 64.
Convolution planned(const Convolution& problem);

// Size of the real FFTs that Algorithm::fftw takes.
std::int64_t real_fft_size(const Convolution& problem);

// What a mask leaves of the filters k [H, K] as they act on L samples: [H, N], the taps of circular ones.
std::vector<double> masked_filters(const Convolution& problem, std::span<const double> k);

}  // namespace danaus
