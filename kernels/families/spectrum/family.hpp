// The filter's transform, in fp32, into the order in which a convolution's kernel reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/families/spectrum/layout.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::spectrum {

struct Family {
  static constexpr std::string_view name = "spectrum";
  using Key = spectrum::Key;
  using Tuning = spectrum::Tuning;
  using Arguments = spectrum::Arguments;
  static constexpr std::size_t line_count = 2;

  static constexpr Instances<Family> instances(std::size_t line) {
    Instances<Family> all;
    all.list[all.count++] = {{line == 0 ? Dtype::f16 : Dtype::bf16}, {}, kChosen, 0b111, true};
    return all;
  }
};

// No convolution by itself.
std::vector<std::unique_ptr<const Variant>> variants();

// R: blocks that share a channel's transform of N points, so that each has a part of it in 32 KB of shared memory.
int parts(int size);

// Where the kernel leaves frequency m of a part of `points` points.
int place(int m, int points);

// [R, N / 2R] entries of four words, one for each pair of slots: its number in the spectrum; the places of its two
// frequencies in the part, the second in the upper half; what each is multiplied by, as fp32.
// `kept` [N] masks frequencies, 1 kept and 0 removed; empty keeps all. Of a mask that is not symmetric, kept[k] !=
// kept[N - k], the part that leaves a real filter real is applied: a frequency and its mirror get the mean of their
// marks, which gives the real part of what the complex filter gives.
std::vector<std::uint32_t> make_table(const Variant& convolution, std::span<const std::uint8_t> kept);

}  // namespace danaus::spectrum
