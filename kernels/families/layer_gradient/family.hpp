// The gradient of a spectral layer's weights: at each kept frequency the sum over the batch of conj(U) dY.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/layer_gradient/tunings.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::layer_gradient {

struct Family {
  static constexpr std::string_view name = "layer_gradient";
  using Key = layer_gradient::Key;
  using Tuning = layer_gradient::Tuning;
  using Layout = layer_gradient::Layout;
  using Arguments = layer_gradient::Arguments;
  static constexpr std::size_t line_count = kLines.size();

  static constexpr Instances<Family> instances(std::size_t number) {
    Instances<Family> all;
    const auto add = [&](Key key) { all.list[all.count++] = {key, kLines[number].tuning, kChosen, 0b111, true}; };
    for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32}) add({dtype, false, Stage::sums});
    add({Dtype::f32, true, Stage::sums});
    add({Dtype::f32, true, Stage::total});
    return all;
  }
};

// No convolution.
std::vector<std::unique_ptr<const Variant>> variants();

// The number of the kernel among the instances of the first line. Throws where the family has none for the type.
std::size_t instance_of(const Key& key);

}  // namespace danaus::layer_gradient
