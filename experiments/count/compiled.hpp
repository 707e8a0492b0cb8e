// What the compiler says of kernels: registers of a thread, and local memory, where these do not suffice.
//
// Only the compiler knows. A GPU's driver hands on what it wrote beside the code (cudaFuncGetAttributes); kept as rows,
// results/*_compiled.jsonl, it stands in the program, so that counted work has it everywhere.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "experiments/cli/environment.hpp"
#include "kernels/families/kernel_id.hpp"
#include "kernels/memory/arguments.hpp"

namespace danaus {

inline constexpr std::array<std::string_view, kPaths> kPathWords = {"tensor", "enclosing", "overhang", "threads"};

struct Compiled {
  int registers = 0;             // of a thread
  std::int64_t local_bytes = 0;  // likewise
};

class CompilerReport {
 public:
  // Of rows as report_of_compiler() makes them, a line each. Those of a family whose sources have changed are left out.
  explicit CompilerReport(const std::string& rows);

  // Nothing where no row is of that architecture and of the kernel as it is now.
  std::optional<Compiled> of(const KernelId& kernel, Path path, int sm) const;

 private:
  using Kernel = std::tuple<int, std::string, std::size_t, std::size_t>;  // architecture, family, line, instance
  std::map<Kernel, std::array<std::optional<Compiled>, kPaths>> kernels_;
};

// That this program has.
const CompilerReport& compiler_report();

// What the compiler says of the kernels of this build, a row without provenance for each family:
//   {"family", "device", "code", "compiler",
//    "kernels": [{"line", "instance", "name" of a convolution's, "paths": {path: {"registers", "local_bytes"}}}]}
// In builds with CUDA, on a GPU.
std::vector<Json> report_of_compiler(const Device& device);

}  // namespace danaus
