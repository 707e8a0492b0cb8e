// Rows and gates through short filters, for a long convolution that does not filter them itself.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/families/filtered_rows/layout.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::filtered_rows {

struct Family {
  static constexpr std::string_view name = "filtered_rows";
  using Key = filtered_rows::Key;
  using Tuning = filtered_rows::Tuning;
  using Layout = filtered_rows::Layout;
  using Arguments = filtered_rows::Arguments;
  static constexpr std::size_t line_count = 1;

  static constexpr Instances<Family> instances(std::size_t) {
    Instances<Family> all;
    for (Dtype dtype : {Dtype::f16, Dtype::bf16}) all.list[all.count++] = {{dtype}, {128, 8, 2}, kChosen, 0b111, true};
    return all;
  }
};

// No convolution.
inline std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

}  // namespace danaus::filtered_rows
