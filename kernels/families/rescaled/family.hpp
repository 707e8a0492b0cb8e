// Items that the fast kernels have no room for.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/families/rescaled/layout.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::rescaled {

struct Family {
  static constexpr std::string_view name = "rescaled";
  using Key = rescaled::Key;
  using Tuning = rescaled::Tuning;
  using Layout = rescaled::Layout;
  using Arguments = rescaled::Arguments;
  static constexpr std::size_t line_count = 1;

  static constexpr Instances<Family> instances(std::size_t) {
    Instances<Family> all;
    for (bool gradients : {false, true})
      for (const Key& key : {Key{Dtype::f16, Fold::pair}, {Dtype::f16, Fold::right_angle}, {Dtype::bf16, Fold::pair}})
        all.list[all.count++] = {{key.dtype, key.fold, gradients}, Tuning{2}, kChosen, 0b111, true};
    return all;
  }
};

// Single rows of bf16 have powers of two of their own anyway.
constexpr bool is_needed(Dtype dtype, Fold fold) { return fold == Fold::pair || dtype == Dtype::f16; }

// No convolution by itself.
std::vector<std::unique_ptr<const Variant>> variants();

}  // namespace danaus::rescaled
