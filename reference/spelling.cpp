#include "reference/spelling.hpp"

#include <algorithm>
#include <cctype>

#include "reference/basics.hpp"

namespace danaus {
namespace {

char lower(char letter) { return static_cast<char>(std::tolower(static_cast<unsigned char>(letter))); }

// Damerau and Levenshtein's distance, without edits of swapped letters.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> edits(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      const bool differs = lower(a[i - 1]) != lower(b[j - 1]);
      edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, edits[i - 1][j - 1] + differs});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  return edits[a.size()][b.size()];
}

}  // namespace

std::string closest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kLongest = 200;  // a longer word is no slip of the keyboard
  if (word.size() > kLongest) return {};
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  if (word.size() < 3) least = 1;
  for (const std::string& candidate : candidates)
    if (const std::size_t edits = distance(word, candidate); edits < least) nearest = candidate, least = edits;
  return nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string nearest = closest(word, candidates);
  return nearest.empty() ? "" : text("; did you mean '", nearest, "'?");
}

std::string listed(std::span<const std::string> words) {
  std::string list;
  for (const std::string& word : words) list.append(list.empty() ? "" : ", ").append(word);
  return list;
}

std::string must_be_one_of(std::string_view what, std::string_view word, std::span<const std::string> candidates) {
  return text(what, " '", word, "', must be one of ", listed(candidates), did_you_mean(word, candidates));
}

}  // namespace danaus
