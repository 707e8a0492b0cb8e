// A short convolution's dk and dbias: correlations summed over batch and length, on tensor cores.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/short_gradient/tunings.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::short_gradient {

struct Family {
  static constexpr std::string_view name = "short_gradient";
  using Key = short_gradient::Key;
  using Tuning = short_gradient::Tuning;
  using Layout = short_gradient::Layout;
  using Arguments = short_gradient::Arguments;
  static constexpr std::size_t line_count = kLines.size();

  static constexpr Instances<Family> instances(std::size_t number) {
    const Line& line = kLines[number];
    Instances<Family> all;
    for (Dtype dtype : {Dtype::f16, Dtype::bf16})
      if (!line.total || dtype == Dtype::bf16)
        all.list[all.count++] = {{dtype, line.channels_last, line.blocks, line.total},
                                 line.tuning,
                                 line.worth,
                                 0b111,
                                 line.worth == kChosen || DANAUS_ALL};
    return all;
  }
};

// No convolution.
inline std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

// A channel's streams of u and dy are summed in parts, in an order that the shapes fix, of about so many each.
inline constexpr int kStreamsOfPart = 16, kMostParts = 64;

}  // namespace danaus::short_gradient
