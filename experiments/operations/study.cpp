#include "experiments/operations/study.hpp"

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

std::vector<std::string> tokens_of(std::string_view head, std::initializer_list<std::string_view> tails) {
  std::vector<std::string> tokens;
  for (std::string_view tail : tails) tokens.push_back(text(head, tail));
  return tokens;
}

}  // namespace danaus
