// The batch of a case's arrays; where those of a convolution stand, and what a plan prepares for it.
#pragma once

#include <algorithm>

#include "kernels/plan/program.hpp"

namespace danaus {

// The number of an array among those of a case; -1 where it has none.
inline int array_of(const std::vector<Array>& arrays, std::string_view name) {
  const auto found = std::ranges::find(arrays, name, &Array::name);
  return found == arrays.end() ? -1 : static_cast<int>(found - arrays.begin());
}

// B of a case with these arrays; 1 where none has it.
inline std::int64_t batch_of(const std::vector<Array>& arrays) {
  for (const Array& array : arrays) {
    const std::string_view before = array.shape.substr(0, array.shape.find('B'));
    if (before.size() < array.shape.size())
      return array.extents[static_cast<std::size_t>(std::ranges::count(before, '*'))];
  }
  return 1;
}

struct ConvolutionArrays {
  int u = -1, pregate = -1, postgate = -1, y = -1;
  ConvolutionArrays(int of_u, int of_pregate, int of_postgate, int of_y)
      : u(of_u), pregate(of_pregate), postgate(of_postgate), y(of_y) {}
  explicit ConvolutionArrays(const Case& asked) {
    const std::vector<Array> arrays = asked.arrays();
    u = array_of(arrays, "u"), pregate = array_of(arrays, "pregate");
    postgate = array_of(arrays, "postgate"), y = array_of(arrays, "y");
  }
};

inline void* at(const Call& call, int array) { return array < 0 ? nullptr : call.arrays[array]; }

// From sample `first` of an array on; null where there is none.
inline void* samples_from(void* array, std::int64_t first) {
  return array ? static_cast<std::uint16_t*>(array) + first : nullptr;
}

constexpr std::int64_t ratio_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Whether all that there are begin at 16 bytes, as vectors of 8 samples do.
inline bool are_aligned(std::initializer_list<const void*> arrays) {
  return std::ranges::all_of(arrays, [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; });
}

// Whether tensor maps of rows [B, H, L] can be made for the device: their strides have 40 bits.
inline bool has_maps(const Device& device, std::int64_t length, std::int64_t channels) {
  return device.has_tensor_copies() && 2 * length * channels < std::int64_t{1} << 40;
}

// Of what one launch of a long convolution leaves for the next. On an H200 the beginnings and ends of many small
// launches cost more than what L2 then saves: 64K samples a row (B=64, H=48) take 960 us by chunks of 25 MB, 880 by
// 100, 830 by 250 and 800 by 400, as by all at once.
inline std::int64_t chunk_bytes(const Device& device) { return 8 * device.cache_bytes; }
// And no more than a copy of u.
inline std::int64_t chunk_bytes(const Device& device, const Convolution& p) {
  return std::min(chunk_bytes(device), bytes(p.dtype) * p.batch * p.channels * p.length);
}

// To where kernels read fastest.
constexpr std::int64_t aligned_words(std::int64_t words) {
  constexpr std::int64_t kAlignment = 64;
  return (words + kAlignment - 1) / kAlignment * kAlignment;
}

// The prepared filters of a case: where each part begins, in words.
//   spectrum   [H, N], or its live part; without an FFT the filter itself
//   factors    [H, N1], N1 the rows of outer passes
//   ranges     [H, R, 2], of f16 samples; R the parts of a channel's transform
//   conjugate  [H, N], for gradients: the conjugate spectrum, or that of the kernel of all gradients. It comes last, so
//              that a plan of the convolution alone can read these filters.
struct Prepared {
  std::int64_t spectrum = -1, factors = -1, ranges = -1, conjugate = -1;
  std::int64_t words = 0;

  // Behind `before` words of others. `range_parts`: R.
  Prepared(const Convolution& p, int size, int rows, int range_parts, bool plain, bool conjugated,
           std::int64_t before = 0)
      : words(before) {
    const auto take = [&](std::int64_t count) { return std::exchange(words, words + count); };
    if (plain) spectrum = take(p.channels * (size > 0 ? size : p.filter_length));
    if (size > 0) factors = take(p.channels * rows);
    if (size > 0 && p.dtype == Dtype::f16) {
      words += words % 2;  // pairs of words are read at once
      ranges = take(2 * p.channels * range_parts);
    }
    if (!conjugated) return;
    words = aligned_words(words);
    conjugate = take(p.channels * size);
  }
  std::int64_t bytes() const { return 4 * words; }
};

// In a call's prepared memory; null where there is none.
inline std::uint32_t* prepared_at(const Call& call, std::int64_t word) {
  return word < 0 ? nullptr : static_cast<std::uint32_t*>(call.prepared) + word;
}

// A convolution, or what takes a gradient by y to one by u: the same with the conjugate spectrum.
enum class Pass { forward, adjoint };

// What a convolution's step reads: one of the spectra, the factors, and the ranges, of so many parts.
struct SpectrumPlace {
  std::int64_t spectrum, factors, ranges = -1;
  int parts = 1;
};

// Factors and ranges from channel `first` on.
inline void give_factors(const Call& call, const SpectrumPlace& place, std::int64_t first, ConvolutionArguments& a) {
  const auto from = [&](std::int64_t word, std::int64_t skipped) {
    return word < 0 ? nullptr : reinterpret_cast<const float*>(prepared_at(call, word)) + skipped;
  };
  a.spectrum_factors = from(place.factors, first);
  a.spectrum_ranges = from(place.ranges, 2 * first * place.parts), a.spectrum_parts = place.parts;
}

// Of a launch that convolves all rows of a call, but for how they are moved and divided.
inline ConvolutionArguments arguments_of_rows(const Call& call, const Convolution& p, const ConvolutionArrays& arrays,
                                              const SpectrumPlace& place, std::span<const std::uint32_t> constants) {
  ConvolutionArguments a{};
  a.u = at(call, arrays.u), a.y = at(call, arrays.y);
  a.pregate = at(call, arrays.pregate), a.postgate = at(call, arrays.postgate);
  a.spectrum = prepared_at(call, place.spectrum), a.tables = constants.data();
  give_factors(call, place, 0, a);
  a.batch = static_cast<int>(call.batch), a.channels = static_cast<int>(p.channels);
  a.length = static_cast<int>(p.length);
  return a;
}

}  // namespace danaus
