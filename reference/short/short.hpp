// What is asked: one short depthwise convolution, described completely by one word, its token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/operation.hpp"

namespace danaus {

// Where the filter stands: k[m] multiplies u[n + A - m] in y[n], samples outside of 0 to L - 1 being zero.
//   causal   A = 0: the current sample and those before it
//   same     A = K / 2, rounded down: centred as PyTorch's padding='same' is, whose weights are k from its end on
enum class Padding { causal, same };

std::string_view name(Padding padding);

// One case, y = postgate * (conv(pregate * u, k) + bias). Shapes: u, gates and y [B, H, L], channels last [B, L, H], of
// the case's dtype; k [H, K] and bias [H].
struct ShortConvolution {
  Dtype dtype = Dtype::f16;   // of u, y and the gates
  Dtype filter = Dtype::f32;  // of k and the bias: f32, or the dtype, if that is f16 or bf16; see filter_dtype()
  Padding padding = Padding::causal;
  std::int64_t taps = 1;      // K, 2 to 256
  std::int64_t length = 1;    // L
  std::int64_t batch = 1;     // B
  std::int64_t channels = 1;  // H
  bool bias = false, pregate = false, postgate = false;
  bool channels_last = false;

  bool operator==(const ShortConvolution&) const = default;
};

inline constexpr std::int64_t kMostTaps = 256;

// The case as one word, and back. Fields in this order, those in brackets only where they say something:
//   shortconv_<dtype>_<padding>_k<K>[_kf16|_kbf16]_l<L>_b<B>_h<H>[_bias][_pregate][_postgate][_channelslast]
// for example shortconv_bf16_causal_k64_l8192_b64_h768. parse() accepts exactly what token() prints, with the fields in
// any order, and says which field of a wrong token breaks which rule.
std::string token(const ShortConvolution& problem);
ShortConvolution parse_short(std::string_view token);

// What reference/operation.hpp asks of every operation.
std::vector<Array> arrays(const ShortConvolution& problem);
double useful_flops(const ShortConvolution& problem);

// Throws unless the case means something. parse_short() calls it.
void validate(const ShortConvolution& problem);

// Type of k and the bias: that of f64 samples is f64.
inline Dtype filter_dtype(const ShortConvolution& p) { return p.dtype == Dtype::f64 ? p.dtype : p.filter; }

// A, how far ahead the filter reaches.
inline std::int64_t ahead(const ShortConvolution& p) { return p.padding == Padding::same ? p.taps / 2 : 0; }

// Of sample n of a channel's row in u, y and the gates.
inline std::int64_t index_of(const ShortConvolution& p, std::int64_t b, std::int64_t h, std::int64_t n) {
  return p.channels_last ? (b * p.length + n) * p.channels + h : (b * p.channels + h) * p.length + n;
}

}  // namespace danaus
