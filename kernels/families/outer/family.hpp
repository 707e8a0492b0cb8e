// The outer passes of a long convolution, there and back.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/families/outer/tunings.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::outer {

struct Family {
  static constexpr std::string_view name = "outer";
  using Key = outer::Key;
  using Tuning = outer::Tuning;
  using Layout = outer::Layout;
  using Arguments = outer::Arguments;
  static constexpr std::size_t line_count = kLines.size();

  static constexpr Instances<Family> instances(std::size_t number) {
    const Line& line = kLines[number];
    Instances<Family> all;
    for (Dtype dtype : {Dtype::f16, Dtype::bf16})
      for (Fold fold : {Fold::pair, Fold::right_angle})
        for (bool back : {false, true})
          for (bool some : {false, true})  // masks are of pairs
            if (!some || fold == Fold::pair)
              all.list[all.count++] = {{dtype, fold, line.radix, back, some}, line.tuning, kChosen, 0b111, true};
    return all;
  }
};

// No convolution by itself.
std::vector<std::unique_ptr<const Variant>> variants();

// How often a pass rounds a sample (families/roundings.hpp), with the twiddle between it and the inner convolution.
int roundings_of_pass(const Layout& layout);

// Digits of N1, outermost first.
std::vector<int> factors_of(const Layout& layout);

// Constants of the kernel, of passes between `columns` columns.
std::vector<std::uint32_t> make_tables(const Layout& layout, int columns);

}  // namespace danaus::outer
