// Long filters with a skip in their first tap.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/families/skip/layout.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::skip {

struct Family {
  static constexpr std::string_view name = "skip";
  using Key = skip::Key;
  using Tuning = skip::Tuning;
  using Layout = skip::Layout;
  using Arguments = skip::Arguments;
  static constexpr std::size_t line_count = 1;

  static constexpr Instances<Family> instances(std::size_t) {
    Instances<Family> all;
    for (Dtype filter : {Dtype::f32, Dtype::f16, Dtype::bf16})
      all.list[all.count++] = {{filter}, {256, 8}, kChosen, 0b111, true};
    return all;
  }
};

// No convolution.
inline std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

}  // namespace danaus::skip
