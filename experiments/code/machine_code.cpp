#include "experiments/code/machine_code.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace danaus {
namespace {

constexpr const char* kFile =
#include "embedded_machine_code.inc"
    ;

std::size_t place_of(std::string_view word) {
  return static_cast<std::size_t>(std::ranges::find(kPathWords, word) - kPathWords.begin());
}

}  // namespace

MachineCode::MachineCode(const std::string& file) {
  if (file.empty()) return;
  const Json table = Json::parse(file);
  for (const Json& made : table.at("families")) {
    const std::string family = made.at("family");
    if (made.at("sources") != sources_of_family(family)) continue;
    compilers_.insert(made.at("compiler"));
    Kernels& kernels = families_[{std::stoi(made.at("architecture").get<std::string>()), family}];
    for (const auto& [name, said] : made.at("kernels").items()) {  // LINE.INSTANCE.PATH
      std::istringstream words(name);
      std::size_t line = 0, instance = 0;
      char point = 0;
      std::string path;
      words >> line >> point >> instance >> point >> path;
      kernels[{line, instance}].at(place_of(path)) = {said.at(0), said.at(1), said.at(2)};
    }
  }
}

bool MachineCode::is_made_by(std::string_view compiler) const {
  return std::ranges::all_of(compilers_, [&](const auto& made_by) { return compiler.starts_with(made_by + ", sm_"); });
}

std::optional<Compiled> MachineCode::of(const KernelId& kernel, Path path, int sm) const {
  const auto family = families_.find(std::pair(sm, std::string(kernel.family)));
  if (family == families_.end()) return std::nullopt;
  const auto found = family->second.find({kernel.line, kernel.instance});
  const auto place = static_cast<std::size_t>(path);
  return found == family->second.end() || place >= kPaths ? std::nullopt : found->second[place];
}

std::optional<std::string> MachineCode::of(const std::set<std::string>& families, int sm) const {
  std::set<std::string> digests;
  for (const std::string& family : families) {
    const auto found = families_.find(std::pair(sm, family));
    if (found == families_.end()) return std::nullopt;
    for (const auto& [number, paths] : found->second)
      for (const auto& compiled : paths)
        if (compiled) digests.insert(compiled->digest);
  }
  if (digests.contains("")) return std::nullopt;
  std::string all;
  for (const std::string& digest : digests) all += digest;
  return digest_of(all);
}

const MachineCode& machine_code() {
  static const MachineCode kCode(kFile);
  return kCode;
}

std::string digest_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return {digits, 12};
}

}  // namespace danaus
