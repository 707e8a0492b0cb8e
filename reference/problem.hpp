// What is asked: one long convolution, described completely by one word, its token.
//
// This is the vocabulary that every folder shares; it includes no CUDA, no FFT and no linear algebra.
#pragma once

#include <cstdint>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace danaus {

// Its parts, one after the other, as a stream prints them.
template <class... Part>
std::string text(const Part&... part) {
  std::ostringstream out;
  (out << ... << part);
  return out.str();
}

// As tokens write factors: 8x8x16.
std::string join(const std::vector<int>& list, std::string_view between = "x");

// Throws std::invalid_argument. A message names the operation, the value and the rule:
//   fail("convolve: L=", length, ", must be at least 1");
template <class... Part>
[[noreturn]] void fail(const Part&... part) {
  throw std::invalid_argument(text(part...));
}

// Type of u, y and the gates in memory. The filter is fp32 for f16 and bf16, else it has the type of u.
enum class Dtype { f16, bf16, f32, f64 };

std::string_view name(Dtype dtype);
std::int64_t bytes(Dtype dtype);
double unit_roundoff(Dtype dtype);  // half the distance from 1 to the next larger number: 2^-11, 2^-8, 2^-24, 2^-53

// circular: y[n] = sum_m k[m] u[(n - m) mod L].   causal: y[n] = sum_{m <= n} k[m] u[n - m].   Both for 0 <= n < L.
enum class Mode { circular, causal };

std::string_view name(Mode mode);

// How real rows are put into complex FFTs of size N.
//   plain        one row, imaginary part zero
//   pair         two batch rows: u1 + i u2
//   half         one row of N samples in N/2 complex points (one decimation in time; N even)
//   right_angle  one row weighted by exp(i pi n / 2N): the cyclic convolution is lo + i hi, the first N samples of the
//                linear convolution and the N after them
enum class Fold { plain, pair, half, right_angle };

std::string_view name(Fold fold);

// Which part of the filter's spectrum is zero: k_f is reshaped to the factors, the last factor's frequency digit first
// (it is the most significant), and the last zeroed[i] indices of dimension i are removed (Fu et al. 2023, A.4).
//   literal    the indices as the paper slices them; applied to a real filter it removes one of each conjugate pair
//   hermitian  a frequency is kept when it or its mirror N - k is kept literally, so that a real filter stays real;
//              it removes less than Table 10 of the paper says, for (16, 0, 0, 0) almost nothing: the slice keeps the
//              lower half of the spectrum, whose mirror is the upper half
enum class MaskReading { literal, hermitian };

struct FrequencyMask {
  std::vector<int> zeroed;  // one count per dimension; empty: nothing is removed
  MaskReading reading = MaskReading::hermitian;
  bool operator==(const FrequencyMask&) const = default;
};

// One case. Everything that is left open (fft_size 0, no fold, no factors) is the choice of whoever computes it.
struct Problem {
  Dtype dtype = Dtype::f16;
  Mode mode = Mode::circular;
  std::int64_t batch = 1;          // B
  std::int64_t channels = 1;       // H
  std::int64_t length = 1;         // L: samples of u and y
  std::int64_t filter_length = 1;  // K: samples of the filter; K < L is a partial filter, K > L wraps or is cut
  bool pregate = false;            // y = v * conv(w * u, k): w
  bool postgate = false;           //                         v
  std::int64_t fft_size = 0;       // N, in real samples
  std::optional<Fold> fold;
  std::vector<int> factors;  // N (or N/2 for the half fold) = product, outermost stage first
  FrequencyMask mask;

  bool operator==(const Problem&) const = default;
};

// The case as one word, and back. Fields in this order, those in brackets only where they say something:
//   fftconv_<dtype>_<mode>_l<L>[_k<K>]_b<B>_h<H>[_pregate][_postgate][_n<N>][_<fold>][_r<N1>x<N2>x...][_zero<a>x<b>x...[literal]]
// for example fftconv_f16_causal_l1024_b64_h768. K is left out when K = L. parse() accepts exactly what token() prints,
// with the fields in any order, and says which field of a wrong token breaks which rule.
std::string token(const Problem& problem);
Problem parse_problem(std::string_view token);

// Throws unless the case means something: positive sizes, N large enough for mode and fold, factors that multiply to
// the complex FFT's size, a mask that fits the factors. parse_problem() calls it.
void validate(const Problem& problem);

// The same case with fold and N chosen where they were open: pair for circular and right_angle for causal, and the N of
// the factors or the smallest that the fold allows.
Problem resolved(Problem problem);

// Smallest N that holds the linear convolution without aliasing, L + min(K, L) - 1: what padded causal needs, and a
// circular convolution that does not take N = L.
std::int64_t smallest_linear_fft_size(const Problem& problem);

// Points of the complex FFT: N, or N/2 for the half fold.
std::int64_t complex_points(const Problem& resolved);

}  // namespace danaus
