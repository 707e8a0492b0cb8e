// What every operation keeps to: calls and the C interface have room for as much. parse_case() refuses what declares
// more.
#pragma once

#include <cstddef>

namespace danaus {

inline constexpr std::size_t kMaxRank = 8;     // extents of an array
inline constexpr std::size_t kMaxArrays = 12;  // of a case

}  // namespace danaus
