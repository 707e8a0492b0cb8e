// A long convolution in one launch, by clusters of blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/families/cluster/tunings.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::cluster {

struct Family {
  static constexpr std::string_view name = "cluster";
  using Key = cluster::Key;
  using Tuning = cluster::Tuning;
  using Layout = cluster::Layout;
  using Arguments = ConvolutionArguments;
  static constexpr std::size_t line_count = kLines.size();

  static constexpr Instances<Family> instances(std::size_t number) {
    const Line& line = kLines[number];
    Instances<Family> all;
    for (Dtype dtype : {Dtype::f16, Dtype::bf16})
      for (Fold fold : {Fold::pair, Fold::right_angle}) {
        const Key key{dtype, fold, line.radix, line.columns, line.shares};
        all.list[all.count++] = {key, line.tuning, line.worth, 0b001, is_compiled(key.size(), line.worth, 0)};
      }
    return all;
  }
};

// Those of plans are of plan/long.hpp: their filters are those of outer passes with a chain between them.
std::vector<std::unique_ptr<const Variant>> variants();

// Constants of the kernel, without the chain's.
std::vector<std::uint32_t> make_tables(const Layout& layout);

}  // namespace danaus::cluster
