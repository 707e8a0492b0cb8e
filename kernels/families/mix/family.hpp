// Spectral layers: a truncated transform, a product over channels, a zero-padded inverse in one kernel; and the kernel
// that prepares their weights.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/mix/tunings.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::mix {

struct Family {
  static constexpr std::string_view name = "mix";
  using Key = mix::Key;
  using Tuning = mix::Tuning;
  using Layout = mix::Layout;
  using Arguments = mix::Arguments;
  static constexpr std::size_t line_count = kLines.size();

  static constexpr Instances<Family> instances(std::size_t number) {
    const Line& line = kLines[number];
    Instances<Family> all;
    const auto add = [&](Key key) {
      if (operands_of(key) == line.operands) all.list[all.count++] = {key, line.tuning, kChosen, 0b111, true};
    };
    for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32})
      for (bool tf32 : {false, true}) {
        if (tf32 && dtype != Dtype::f32) continue;
        for (bool complex : {false, true})
          for (bool shared : {false, true}) add({dtype, tf32, complex, shared});
        add({dtype, tf32, false, false, true});
      }
    return all;
  }
};

// No convolution.
std::vector<std::unique_ptr<const Variant>> variants();

// A kernel of the table.
struct Choice {
  std::size_t line = 0, instance = 0;
  Layout layout() const {
    const auto made = Family::instances(line).list[instance];
    return {made.key, made.tuning};
  }
  std::string name() const;
};
// What computes a case of one axis, and what prepares its weights. Throws where the family has none for the type.
Choice choose_layer(const Spectral& problem);
Choice choose_arrangement(const Spectral& problem);

// How often a kernel rounds a number on its way from u to y.
inline constexpr int kRoundings = 7;

// Constants of the kernel, of `length` points and these frequencies of them; of real samples those that a mirror image
// stands for count twice in the inverse.
struct Tables {
  std::vector<std::uint32_t> words;
  std::int64_t inverse_at;
  double scale;  // of the results
};
Tables make_tables(const Layout& layout, int length, std::span<const int> frequencies);

}  // namespace danaus::mix
