#include "experiments/cli/paragraph.hpp"

#include <algorithm>

namespace danaus {

std::string paragraph(std::string_view words, std::size_t indent, std::string_view first) {
  std::string text(first), line = text;
  const auto begin_line = [&] { text += '\n', line.clear(); };
  const auto add = [&](std::string_view piece) { text += piece, line += piece; };
  if (first.size() >= indent && !first.empty()) begin_line();
  add(std::string(indent - std::min(indent, line.size()), ' '));
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, end);
    const bool begins = line.find_first_not_of(' ', std::min(indent, line.size())) == line.npos;
    if (!begins && line.size() + 1 + word.size() > kScreenColumns) {
      begin_line();
      add(std::string(indent, ' '));
    } else if (!begins) {
      add(" ");
    }
    add(word);
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return text + '\n';
}

}  // namespace danaus
