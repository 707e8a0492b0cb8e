// The name of a kernel. Apart from all else, since every file of compiled kernels includes it, and nothing of plans.
#pragma once

#include <compare>
#include <cstddef>
#include <string_view>

namespace danaus {

// A kernel of a family: one of its lines, one of the line's instances.
struct KernelId {
  std::string_view family;
  std::size_t line = 0, instance = 0;
  auto operator<=>(const KernelId&) const = default;
};

}  // namespace danaus
