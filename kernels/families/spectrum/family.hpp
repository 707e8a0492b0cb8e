// The filter's transform, in fp32, into the order in which a convolution's kernel reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/families/spectrum/tunings.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::spectrum {

constexpr bool is_wanted(int size) {
  static_cast<void>(size);
  return DANAUS_WANTED;
}

struct Family {
  static constexpr std::string_view name = "spectrum";
  using Key = spectrum::Key;
  using Tuning = spectrum::Tuning;
  using Layout = spectrum::Layout;
  using Arguments = spectrum::Arguments;
  static constexpr std::size_t line_count = kLines.size();

  static constexpr Instances<Family> instances(std::size_t line) {
    const Line& l = kLines[line];
    const bool wanted =
        l.columns || is_wanted(l.points) || is_wanted(2 * l.points);  // FFTs of as many, or twice as many
    Instances<Family> all;
    all.list[all.count++] = {l.key(), l.tuning, kChosen, 0b111, wanted};
    return all;
  }
};

// No convolution by itself.
std::vector<std::unique_ptr<const Variant>> variants();

// How a convolution's filters are transformed: the line of the table; R, the parts of a channel; and whether two taps
// are a point, or one.
struct Split {
  std::size_t line;
  int parts;
  bool real_pairs;
  Layout layout() const { return {kLines[line].key(), kLines[line].tuning}; }
  bool operator==(const Split&) const = default;
};
// The fewest parts that `block_bytes` of shared memory have room for.
Split split_of(bool real_pairs, int size, int block_bytes);
// The outer pass of N1 rows.
Split split_of_columns(int rows);

// [M / 2] exp(-2 pi i j / M), complex fp32.
std::vector<std::uint32_t> roots_of(int points);

// Constants of the kernel (Arguments): entries, roots, numbers where there are several parts, marks where there is a
// mask.
struct Table {
  std::vector<std::uint32_t> words;
  int entries = 0;                                            // of each part
  std::int64_t roots_at = 0, numbers_at = -1, marks_at = -1;  // -1: there are none
};

// `kept` [N] masks frequencies, 1 kept and 0 removed; empty keeps all. Of a mask that is not symmetric, kept[k] !=
// kept[N - k], the part that leaves a real filter real is applied: a frequency and its mirror get the mean of their
// marks, which gives the real part of what the complex filter gives. For a sparse kernel entries of removed frequencies
// are left out. Of a kernel that reads a part of the spectrum a frequency whose mirror is not there counts twice.
Table make_table(const Variant& convolution, const Split& split, std::span<const std::uint8_t> kept);

}  // namespace danaus::spectrum
