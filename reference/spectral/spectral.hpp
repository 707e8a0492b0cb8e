// What is asked: one spectral layer of a neural operator, y = F^-1 (W F u), described completely by one word, its
// token.
//
// The transform of a field of one or two axes keeps few frequencies; at each of them a complex matrix mixes the
// channels; all other frequencies of the result are zero (Li et al. 2021, the Fourier neural operator).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/operation.hpp"

namespace danaus {

// One case. Shapes, of two axes X and Y, of one without Y; complex samples have a last extent 2, re and im:
//   u [B, C_in, X, Y], y [B, C_out, X, Y], channel-major [C_in, B, X, Y] and [C_out, B, X, Y], of the case's dtype
//   w [C_in, C_out, M_x, M_y, 2], M_x and M_y the frequencies kept on an axis, as kept_on_axis() lists them; shared by
//     all frequencies [C_in, C_out, 2]; of an adjoint [C_out, C_in, ...]; fp32, of f64 samples f64
// Samples that are real have real results: of their last axis half of the spectrum is transformed, and the inverse
// takes the rest to be the mirror image; imaginary parts of frequency 0 and X/2 there have no effect.
//
// The adjoint, y = F^-1 (W^H F u), is what backpropagation needs: of dy it makes du, by the weights of the layer. Both
// gradients, du and dw, are an operation of their own (reference/spectral_gradient/).
struct Spectral {
  Dtype dtype = Dtype::f32;        // of u and y
  bool tf32 = false;               // f32 samples: products of operands that are rounded to TF32, not to fp32
  bool complex = false;            // samples of u and y
  bool shared = false;             // one matrix for all frequencies
  bool two_sided = false;          // the highest frequencies too, of every axis but the last of real samples
  bool channel_major = false;      // [C, B, ...] instead of [B, C, ...]
  bool adjoint = false;            // by the conjugate transposes of the weights
  std::int64_t batch = 1;          // B
  std::int64_t inputs = 1;         // C_in
  std::int64_t outputs = 1;        // C_out
  std::vector<int> lengths = {1};  // of each axis
  std::vector<int> modes = {1};    // frequencies kept on each axis from 0 on; two-sided as many from the highest down

  bool operator==(const Spectral&) const = default;
};

// The case as one word, and back. Fields in this order, those in brackets only where they say something:
//   spectral_<dtype>[_tf32][_complex]_b<B>_c<C_in>x<C_out>_l<X>[x<Y>]_m<M>[x<M>][_shared][_twosided][_channelmajor][_adjoint]
// for example spectral_f32_tf32_complex_b32_c32x64_l128_m64_shared_channelmajor. parse() accepts exactly what token()
// prints, with the fields in any order, and says which field of a wrong token breaks which rule.
std::string token(const Spectral& problem);
Spectral parse_spectral(std::string_view token);

// What reference/operation.hpp asks of every operation.
std::vector<Array> arrays(const Spectral& problem);
double useful_flops(const Spectral& problem);

// Throws unless the case means something: positive sizes, modes that the transform has. parse_spectral() calls it.
void validate(const Spectral& problem);

// The layer that makes du of dy, by the same weights; its adjoint is the layer itself.
Spectral adjoint_of(Spectral problem);

// Whether half of the axis's spectrum stands for all of it: the last of real samples.
inline bool is_half_axis(const Spectral& p, std::size_t axis) { return !p.complex && axis + 1 == p.lengths.size(); }

// The frequencies kept on an axis, ascending: 0 to m - 1, and two-sided X - m to X - 1.
std::vector<int> kept_on_axis(const Spectral& problem, std::size_t axis);

std::int64_t kept_count(const Spectral& problem);  // of all axes
std::int64_t points_of_row(const Spectral& problem);

// Butterfly outputs of a radix-2 FFT of `points`, a power of two, that its lowest `kept` outputs need: what is left of
// points log2(points) by pruning (Wu et al. 2025, Figure 5).
std::int64_t pruned_operations(std::int64_t points, std::int64_t kept);

}  // namespace danaus
