// Decoding by a convolution, sample by sample: what is not a convolution of a tile by the kernels of other families.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/decode/layout.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::decode {

struct Family {
  static constexpr std::string_view name = "decode";
  using Key = decode::Key;
  using Tuning = decode::Tuning;
  using Layout = decode::Layout;
  using Arguments = decode::Arguments;
  static constexpr std::size_t line_count = 1;

  static constexpr Instances<Family> instances(std::size_t) {
    Instances<Family> all;
    for (Dtype dtype : {Dtype::f16, Dtype::bf16})
      for (Work work : {Work::next, Work::dot, Work::move, Work::add})
        all.list[all.count++] = {{dtype, work}, {8, 4}, kChosen, 0b111, true};
    return all;
  }
};

// No convolution by itself.
std::vector<std::unique_ptr<const Variant>> variants();

// The number of a kernel among the instances.
std::size_t instance_of(const Key& key);

}  // namespace danaus::decode
