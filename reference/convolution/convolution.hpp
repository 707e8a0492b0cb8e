// What is asked: one long convolution, described completely by one word, its token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/operation.hpp"

namespace danaus {

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

// How a pattern is read: k_f is reshaped to the factors, the last factor's frequency digit first (it is the most
// significant), and the last zeroed[i] indices of dimension i are removed (Fu et al. 2023, A.4).
//   literal    the indices as the paper slices them; applied to a real filter it removes one of each conjugate pair
//   hermitian  a frequency is kept when it or its mirror N - k is kept literally, so that a real filter stays real;
//              it removes less than Table 10 of the paper says, for (16, 0, 0, 0) almost nothing: the slice keeps the
//              lower half of the spectrum, whose mirror is the upper half
enum class MaskReading { literal, hermitian };

// Frequencies first to last, 0 <= first <= last <= N/2, and their mirrors.
struct Band {
  std::int64_t first = 0, last = 0;
  bool operator==(const Band&) const = default;
};

// Which part of the filter's spectrum is zero: said by a pattern, by bands, by blocks, or not at all.
struct FrequencyMask {
  std::vector<int> zeroed;  // the pattern: one count per dimension
  MaskReading reading = MaskReading::hermitian;
  std::vector<Band> kept;  // ascending, with something removed between; a low-pass is {{0, m}}
  // k_f reshaped as for patterns and dimension i cut into pieces[i] equal ones: blocks, the last dimension fastest, 1
  // kept and 0 removed. A removed block takes its mirror image with it, so that a real filter stays real.
  std::vector<int> pieces;
  std::vector<std::uint8_t> blocks;

  bool empty() const { return zeroed.empty() && kept.empty() && pieces.empty(); }
  bool operator==(const FrequencyMask&) const = default;
};

// One case. Everything that is left open (fft_size 0, no fold, no factors) is the choice of whoever computes it.
struct Convolution {
  Dtype dtype = Dtype::f16;   // of u, y and the gates
  Dtype filter = Dtype::f32;  // of k, where u is f16 or bf16: f32, f16 or bf16; else k has the type of u
  Mode mode = Mode::circular;
  std::int64_t batch = 1;          // B
  std::int64_t channels = 1;       // H
  std::int64_t length = 1;         // L: samples of u and y
  std::int64_t filter_length = 1;  // K: samples of the filter; K < L is a partial filter, K > L wraps or is cut
  bool pregate = false;            // y = v * conv(w * u, k): w
  bool postgate = false;           //                         v
  std::int64_t fft_size = 0;       // N, in real samples; less than L: rows in chunks
  std::optional<Fold> fold;
  std::vector<int> factors;  // N (or N/2 for the half fold) = product, outermost stage first
  FrequencyMask mask;

  bool operator==(const Convolution&) const = default;
};

// The case as one word, and back. Fields in this order, those in brackets only where they say something:
//   fftconv_<dtype>_<mode>_l<L>[_k<K>][_kf16|_kbf16]_b<B>_h<H>[_pregate][_postgate][_n<N>][_<fold>][_r<N1>x<N2>x...]
//     [_zero<a>x<b>x...[literal] | _keep<first>to<last>+<first>to<last>... | _blocks<pieces>x<pieces>x...h<hex>]
// for example fftconv_f16_causal_l1024_b64_h768. K is left out when K = L. A hexadecimal digit has four blocks, the
// first as its highest bit. parse() accepts exactly what token() prints, with the fields in any order, and says which
// field of a wrong token breaks which rule.
std::string token(const Convolution& problem);
Convolution parse_convolution(std::string_view token);
// The field of the mask alone, as in zero8x0; empty without one.
std::string token(const FrequencyMask& mask);

// The type of k.
inline Dtype filter_dtype(const Convolution& p) {
  return p.dtype == Dtype::f16 || p.dtype == Dtype::bf16 ? p.filter : p.dtype;
}

// What reference/operation.hpp asks of every operation.
std::vector<Array> arrays(const Convolution& problem);
double useful_flops(const Convolution& problem);

// Throws unless the case means something: positive sizes, N large enough for mode and fold, or for chunks K, factors
// that multiply to the complex FFT's size, a mask that fits the factors. parse_convolution() calls it.
void validate(const Convolution& problem);

// The same case with fold and N chosen where they were open: pair for circular and right_angle for causal, and the N of
// the factors or the smallest that the fold allows.
Convolution resolved(Convolution problem);

// Smallest N that holds the linear convolution without aliasing, L + min(K, L) - 1: what padded causal needs, and a
// circular convolution that does not take N = L.
std::int64_t smallest_linear_fft_size(const Convolution& problem);

// Points of the complex FFT: N, or N/2 for the half fold.
std::int64_t complex_points(const Convolution& resolved);

}  // namespace danaus
