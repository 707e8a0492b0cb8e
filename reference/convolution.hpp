// The truth: y = postgate * conv(pregate * u, k) in double, three ways that agree.
//
// The filter first takes the length that can matter, min(K, L): a causal filter is cut, a circular one is wrapped
// modulo L. Without a mask nothing else about the case changes the answer; fold, N and factors only say how to get
// there. With a mask the filter's N-point spectrum is masked, u is convolved with it cyclically at N, and the N results
// are cut to L (causal) or added up modulo L (circular). A literal mask makes the filter complex; y is the real part.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/data.hpp"
#include "reference/problem.hpp"

namespace danaus {

//   direct   the defining sum, O(L min(K, L)) a row; a mask goes through a direct DFT of the filter
//   fftw     real FFTs at a size of its own choice
//   monarch  the Monarch factorization by explicit factors, in the case's fold
enum class Method { direct, fftw, monarch };

std::string_view name(Method method);
Method parse_method(std::string_view word);

// y [B, H, L]. Throws when the arrays do not have the sizes that the case says. Re-entrant; one thread.
std::vector<double> convolve(const Problem& problem, const Inputs& inputs, Method method);

// The case as the Monarch pipeline computes it: fold, N and factors chosen where they were open. N is the smallest that
// the fold allows, made smooth where its prime factors are too large for dense stages; the factors are the fewest, at
// most 5, of at most 64.
Problem planned(const Problem& problem);

// Size of the real FFTs that Method::fftw takes.
std::int64_t real_fft_size(const Problem& problem);

}  // namespace danaus
