// Short convolutions by few taps, in fp32.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/direct/tunings.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::direct {

struct Family {
  static constexpr std::string_view name = "direct";
  using Key = direct::Key;
  using Tuning = direct::Tuning;
  using Layout = direct::Layout;
  using Arguments = direct::Arguments;
  static constexpr std::size_t line_count = kLines.size();

  static constexpr Instances<Family> instances(std::size_t number) {
    const Line& line = kLines[number];
    Instances<Family> all;
    for (Dtype dtype : {Dtype::f16, Dtype::bf16})
      all.list[all.count++] = {{dtype, line.channels_last, line.taps, line.skipped, line.correlates},
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
  return text("direct_", l.key.taps, '_', danaus::name(l.key.dtype), l.key.channels_last ? "_channelslast" : "",
              l.key.correlates ? "_gradients" : "", "_w", l.tuning.warps, "_run", l.tuning.run,
              l.key.channels_last ? text("_ring", l.tuning.stages) : "", "_x", l.tuning.blocks);
}

// How often a kernel rounds on the way from u to y.
inline constexpr int kRoundings = 1;

// Samples that a run of [B, L, H] is shortened to, at least: before it stand those that it reads again.
inline constexpr int kLeastRun = 64;

// Parts that a channel's sums are of, at most: of [B, L, H] a warp has 64 channels.
inline constexpr int kMostParts = 64, kMostPartsOfColumns = 512;

}  // namespace danaus::direct
