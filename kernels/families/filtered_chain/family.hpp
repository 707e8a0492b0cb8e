// The chain whose rows short filters convolve first: what the gated convolution of an operator takes in one launch.
#pragma once

#include "kernels/families/chain/family.hpp"
#include "kernels/families/filtered_chain/tunings.hpp"

namespace danaus::filtered_chain {

struct Family : chain::Family {
  static constexpr std::string_view name = "filtered_chain";
  using Arguments = FilteredArguments;
  static constexpr const auto& lines = kLines;
  static constexpr std::size_t line_count = kLines.size();
  static constexpr Instances<Family> instances(std::size_t line) { return fused_instances<Family>(line); }

  static constexpr Key key_of(const chain::Line& line, Dtype dtype, Fold fold, bool gated) {
    return {dtype, fold, gated, line.radix, false, true};
  }
};

inline std::vector<std::unique_ptr<const Variant>> variants() { return variants_of<Family>(); }

}  // namespace danaus::filtered_chain
