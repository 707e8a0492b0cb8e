// Text for a screen of 80 columns.
#pragma once

#include <string>
#include <string_view>

namespace danaus {

inline constexpr std::size_t kScreenColumns = 80;

// The words in lines of at most kScreenColumns, each after `indent` blanks, the first after `first` if that has text. A
// word that is longer has a line of its own. Ends with a line break.
std::string paragraph(std::string_view words, std::size_t indent = 0, std::string_view first = "");

}  // namespace danaus
