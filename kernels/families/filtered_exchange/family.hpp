// The exchange whose rows short filters convolve first: what the gated convolution of an operator takes in one launch.
#pragma once

#include "kernels/families/exchange/family.hpp"
#include "kernels/families/filtered_exchange/tunings.hpp"

namespace danaus::filtered_exchange {

struct Family : exchange::Family {
  static constexpr std::string_view name = "filtered_exchange";
  using Arguments = FilteredArguments;
  static constexpr const auto& lines = kLines;
  static constexpr std::size_t line_count = kLines.size();
  static constexpr Instances<Family> instances(std::size_t line) { return fused_instances<Family>(line); }

  static constexpr Key key_of(const exchange::Line& line, Dtype dtype, Fold fold, bool gated) {
    return {dtype, fold, gated, line.radix, line.columns, false, true};
  }
  // Gates stand in shared memory, which other devices have too little of: there it takes several launches.
  static constexpr std::optional<Tuning> fitted(const Key&, const Tuning&, const DeviceClass&) { return std::nullopt; }
};

inline std::vector<std::unique_ptr<const Variant>> variants() { return variants_of<Family>(); }

}  // namespace danaus::filtered_exchange
