// Convolutions by state-space models: chunks of a sequence by products of matrices with the state between them, what
// cuts rows into parts, and the recurrence.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/state/tunings.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::state {

struct Family {
  static constexpr std::string_view name = "state";
  using Key = state::Key;
  using Tuning = state::Tuning;
  using Layout = state::Layout;
  using Arguments = state::Arguments;
  static constexpr std::size_t line_count = kLines.size();

  static constexpr Instances<Family> instances(std::size_t number) {
    const Line& line = kLines[number];
    Instances<Family> all;
    for (Dtype dtype : {Dtype::f16, Dtype::bf16}) {
      const auto add = [&](Work work, const Tuning& tuning) {
        all.list[all.count++] = {
            {dtype, line.states, work, line.group}, tuning, line.worth, line.group ? 0b001u : 0b111u, true};
      };
      if (line.states == 0) {
        for (Work work : {Work::prepare, Work::carry, Work::step}) add(work, line.tuning);
        continue;
      }
      add(Work::convolve, line.tuning);
      add(Work::ends, line.tuning);
      if (line.wide.row_tiles > 0) add(Work::ends, wide_tuning(line));
    }
    return all;
  }
};

// No fused convolution by an FFT.
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
// What does this work of a case on a device; of ends, of so many parts of rows. Throws where the family has none for
// its type or its chunk.
Choice choose(const StateSpace& problem, const Device& device, Work work, std::int64_t rows = 0);

// How often a kernel rounds a number on its way from u to y: matrices twice, the state, y. By the recurrence y alone.
int roundings(Work work);

}  // namespace danaus::state
