// The filters of short convolutions as their kernels read them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/families/short_filter/layout.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::short_filter {

struct Family {
  static constexpr std::string_view name = "short_filter";
  using Key = short_filter::Key;
  using Tuning = short_filter::Tuning;
  using Layout = short_filter::Layout;
  using Arguments = short_filter::Arguments;
  static constexpr std::size_t line_count = 1;

  static constexpr Instances<Family> instances(std::size_t) {
    Instances<Family> all;
    for (Dtype dtype : {Dtype::f16, Dtype::bf16})
      for (Dtype filter : {Dtype::f32, dtype})
        all.list[all.count++] = {{dtype, filter}, {256, 1}, kChosen, 0b111, true};
    return all;
  }
};

// No convolution.
inline std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

}  // namespace danaus::short_filter
