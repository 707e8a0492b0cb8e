// The shape of a fused kernel as plain numbers, and what follows from it on the host: constants, orders, scales.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "reference/convolution/convolution.hpp"

namespace danaus {

enum class Algorithm { chain, exchange };

std::string_view name(Algorithm algorithm);

struct Geometry {
  Algorithm algorithm;
  Dtype dtype;
  Fold fold;    // pair or right_angle
  int radix;    // r: tiles' radix on top
  int columns;  // exchange: samples of a row n_hi; chain: 256
  int size() const { return algorithm == Algorithm::chain ? 256 * radix : 64 * radix * columns; }
  bool operator==(const Geometry&) const = default;
};

// The factors of N in the order of the stages, outermost first.
std::vector<int> factors(const Geometry& geometry);

// Constants of the kernel, computed in double and rounded once, in the layout that its file describes.
std::vector<std::uint32_t> make_tables(const Geometry& geometry);

// Where the kernel reads frequency k of the spectrum: slot[k], 0 <= slot < N. Slot s is the complex number whose real
// part is half 4 (s / 2) + s mod 2 of a channel's N packed pairs, its imaginary part two halves later.
std::vector<std::int32_t> spectrum_slots(const Geometry& geometry);

// What the unnormalised spectrum is multiplied by: 1 / N over the scales of the forward and the inverse stages, a
// number between 1/4 and 4 that keeps every intermediate at the scale of u.
double spectrum_scale(const Geometry& geometry);

// A tensor map's extents, strides (in samples) and box, in five dimensions, for rows [B, H, L].
struct TensorShape {
  std::array<std::uint64_t, 5> extent;
  std::array<std::uint64_t, 5> stride;
  std::array<std::uint32_t, 5> box;
};
TensorShape tensor_shape(const Geometry& geometry, int batch, int channels, int length);

// L must be a multiple of this for tensor copies: rows of the map's outer dimension are whole.
int tensor_grain(const Geometry& geometry);

}  // namespace danaus
