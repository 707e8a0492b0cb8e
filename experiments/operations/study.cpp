#include "experiments/operations/study.hpp"

#include "reference/token.hpp"

namespace danaus {

const std::vector<Study>& studies() {
  static const std::vector<Study> kStudies = {convolution_study(), layer_study(), short_study(), state_study()};
  return kStudies;
}

const std::vector<StudiedOperation>& studied_operations() {
  static const std::vector<StudiedOperation> kAll = [] {
    std::vector<StudiedOperation> all;
    for (const Study& study : studies()) all.insert(all.end(), study.operations.begin(), study.operations.end());
    return all;
  }();
  return kAll;
}

const StudiedOperation* find_studied_operation(std::string_view word) {
  const auto& all = studied_operations();
  const auto found = std::ranges::find(all, word, &StudiedOperation::word);
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> expanded(std::string_view pattern) {
  const std::size_t open = pattern.find('{'), close = pattern.find('}');
  if (open == pattern.npos) return {std::string(pattern)};
  const std::vector<std::string> ends = expanded(pattern.substr(close + 1));
  std::vector<std::string> all;
  for (std::size_t from = open + 1, to; from <= close; from = to + 1) {
    to = std::min(pattern.find(',', from), close);
    for (const std::string& end : ends)
      all.push_back(text(pattern.substr(0, open), pattern.substr(from, to - from), end));
  }
  return all;
}

std::function<std::vector<Case>()> cases_of(std::vector<std::string> patterns) {
  return [patterns = std::move(patterns)] {
    std::vector<Case> cases;
    for (const std::string& pattern : patterns)
      for (const std::string& token : expanded(pattern)) cases.push_back(parse_case(token));
    return cases;
  };
}

}  // namespace danaus
