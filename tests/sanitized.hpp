// What tests leave out under the sanitizers, which look for other faults than wrong numbers and take several times as
// long: sizes of which others show the same.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace danaus {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// All of them, or the first `few`.
template <class T>
std::vector<T> unless_sanitized(std::initializer_list<T> all, std::size_t few) {
  return {all.begin(), kSanitized ? all.begin() + std::min(few, all.size()) : all.end()};
}

}  // namespace danaus
