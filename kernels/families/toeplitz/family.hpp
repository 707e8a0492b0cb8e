// Short convolutions as products of the filter's Toeplitz blocks with blocks of samples, on tensor cores.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/toeplitz/tunings.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::toeplitz {

struct Family {
  static constexpr std::string_view name = "toeplitz";
  using Key = toeplitz::Key;
  using Tuning = toeplitz::Tuning;
  using Layout = toeplitz::Layout;
  using Arguments = toeplitz::Arguments;
  static constexpr std::size_t line_count = kLines.size();

  static constexpr Instances<Family> instances(std::size_t number) {
    const Line& line = kLines[number];
    Instances<Family> all;
    for (Dtype dtype : {Dtype::f16, Dtype::bf16})
      all.list[all.count++] = {{dtype, line.channels_last, line.blocks},
                               line.tuning,
                               line.worth,
                               0b111,
                               line.worth == kChosen || DANAUS_ALL};
    return all;
  }
};

// No convolution by FFT's rules: short ones have plans of their own.
inline std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

inline std::string name_of(const Layout& l) {
  return text("toeplitz_", l.key.blocks, "x32_", danaus::name(l.key.dtype), l.key.channels_last ? "_channelslast" : "",
              "_w", l.tuning.warps, l.tuning.lines ? "_lines" : "_line", l.tuning.line,
              l.key.channels_last ? text("_c", 8 * l.tuning.groups, "_by", l.tuning.pieces) : "",
              l.tuning.ahead ? "_ahead" : "", l.tuning.run > 1 ? text("_run", l.tuning.run) : "", "_x",
              l.tuning.blocks);
}

// How often a kernel rounds on the way from u to y: the taps, where they are fp32, and y.
inline constexpr int kRoundings = 2;

}  // namespace danaus::toeplitz
