// Names of files, as people type them.
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

namespace danaus {

// ".npy" ends a.npy and A.NPY.
inline bool has_ending(std::string_view path, std::string_view ending) {
  const auto is_alike = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return path.size() >= ending.size() && std::ranges::equal(path.substr(path.size() - ending.size()), ending, is_alike);
}

}  // namespace danaus
