// Pieces of rows, for convolutions that are computed chunk by chunk.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/families/pieces/layout.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::pieces {

struct Family {
  static constexpr std::string_view name = "pieces";
  using Key = pieces::Key;
  using Tuning = pieces::Tuning;
  using Layout = pieces::Layout;
  using Arguments = pieces::Arguments;
  static constexpr std::size_t line_count = 1;

  static constexpr Instances<Family> instances(std::size_t) {
    Instances<Family> all;
    for (const Key& key : {Key{Dtype::f16, Job::cut},
                           {Dtype::f16, Job::join},
                           {Dtype::bf16, Job::cut},
                           {Dtype::bf16, Job::join},
                           {Dtype::f16, Job::turn},
                           {Dtype::f32, Job::turn}})
      all.list[all.count++] = {key, Tuning{4}, kChosen, 0b111, true};
    return all;
  }
};

// No convolution by itself.
std::vector<std::unique_ptr<const Variant>> variants();

}  // namespace danaus::pieces
