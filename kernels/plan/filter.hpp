// The transform of a convolution's filters, as the first part of a program.
#pragma once

#include <memory>
#include <span>

#include "kernels/plan/program.hpp"

namespace danaus {

// Into the order of the convolution's kernel. `kept`: as make_program() has it.
std::unique_ptr<Step> make_filter_transform(const Case& asked, const Variant& convolution, const Device& device,
                                            std::span<const std::uint8_t> kept);

// Of a long convolution, N = N1 N2, for the inner kernel of N2 points: by an outer pass and one along its rows,
// channels by channels, of which the workspace has the rows of `workspace_bytes`.
struct LongFilterTransform {
  std::unique_ptr<Step> step;
  std::int64_t workspace_bytes;
};
LongFilterTransform make_long_filter_transform(const Case& asked, const Variant& convolution, const Variant& inner,
                                               const Device& device);

}  // namespace danaus
