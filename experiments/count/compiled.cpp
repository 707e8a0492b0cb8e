#include "experiments/count/compiled.hpp"

#include <algorithm>
#include <sstream>

namespace danaus {
namespace {

constexpr const char* kRows =
#include "embedded_reports.inc"
    "";

std::size_t place_of(std::string_view word) {
  return static_cast<std::size_t>(std::ranges::find(kPathWords, word) - kPathWords.begin());
}

}  // namespace

CompilerReport::CompilerReport(const std::string& rows) {
  std::istringstream lines(rows);
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line);
    const std::string family = row.at("family");
    if (row.at("code") != code_of_kernel(family)) continue;
    for (const Json& kernel : row.at("kernels")) {
      auto& paths = kernels_[{row.at("device").at("sm"), family, kernel.at("line"), kernel.at("instance")}];
      for (const auto& [word, said] : kernel.at("paths").items())
        paths.at(place_of(word)) = {said.at("registers"), said.at("local_bytes")};
    }
  }
}

std::optional<Compiled> CompilerReport::of(const KernelId& kernel, Path path, int sm) const {
  const auto found = kernels_.find({sm, std::string(kernel.family), kernel.line, kernel.instance});
  const auto place = static_cast<std::size_t>(path);
  return found == kernels_.end() || place >= kPaths ? std::nullopt : found->second[place];
}

const CompilerReport& compiler_report() {
  static const CompilerReport kReport(kRows);
  return kReport;
}

}  // namespace danaus
