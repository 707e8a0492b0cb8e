// What a mask leaves of long filters' spectra.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/families/mask/layout.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::mask {

struct Family {
  static constexpr std::string_view name = "mask";
  using Key = mask::Key;
  using Tuning = mask::Tuning;
  using Layout = mask::Layout;
  using Arguments = mask::Arguments;
  static constexpr std::size_t line_count = 1;

  static constexpr Instances<Family> instances(std::size_t) {
    Instances<Family> all;
    all.list[all.count++] = {Key{Dtype::f16}, Tuning{8}, kChosen, 0b111, true};
    return all;
  }
};

// No convolution by itself.
std::vector<std::unique_ptr<const Variant>> variants();

}  // namespace danaus::mask
