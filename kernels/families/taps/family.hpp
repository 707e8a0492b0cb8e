// A filter's gradient out of the sums over the batch.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/families/spectrum/family.hpp"
#include "kernels/families/taps/layout.hpp"

namespace danaus::taps {

struct Family {
  static constexpr std::string_view name = "taps";
  using Key = taps::Key;
  using Tuning = taps::Tuning;
  using Layout = taps::Layout;
  using Arguments = taps::Arguments;
  static constexpr std::size_t line_count = kLines.size();

  // Those of the sizes that sums have, which chain_gradient and exchange_gradient leave, or half of them.
  static constexpr Instances<Family> instances(std::size_t line) {
    const spectrum::Line& l = kLines[line];
    const bool has_sums = l.points >= 256 && l.points != 384;
    Instances<Family> all;
    all.list[all.count++] = {l.key(), l.tuning, kChosen, 0b111,
                             l.columns || (has_sums && (spectrum::is_wanted(l.points) ||
                                                        (l.points >= 12288 && spectrum::is_wanted(2 * l.points))))};
    return all;
  }
};

// No convolution by itself.
std::vector<std::unique_ptr<const Variant>> variants();

// Constants of the kernel: entries of a row's sums, of which `slots` are where they stand (Variant), in the order in
// which the first phase's stand, then the roots.
std::vector<std::uint32_t> make_table(std::span<const std::int32_t> slots, int phases);

}  // namespace danaus::taps
