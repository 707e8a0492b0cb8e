// What the compiler makes of kernels: a digest of the machine code, registers of a thread, and local memory, where
// these do not suffice.
//
// Only nvcc knows. machine_code.py asks it and writes results/machine_code.json, which stands in the program, so that a
// build without nvcc has it too.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "experiments/cli/environment.hpp"
#include "kernels/families/kernel_id.hpp"
#include "kernels/memory/arguments.hpp"

namespace danaus {

inline constexpr std::array<std::string_view, kPaths> kPathWords = {"tensor", "enclosing", "overhang", "threads"};

struct Compiled {
  std::string digest;            // of the instructions and what they take; empty where only registers are known
  int registers = 0;             // of a thread
  std::int64_t local_bytes = 0;  // likewise
};

class MachineCode {
 public:
  // Of a file as machine_code.py writes it; "" has no kernels. Left out are families whose sources have changed since.
  explicit MachineCode(const std::string& file);

  // Whether all of it was made by a compiler, as compiler_in_words() names one.
  bool is_made_by(std::string_view compiler) const;

  // Nothing where the file has not the kernel as it is now, for that architecture.
  std::optional<Compiled> of(const KernelId& kernel, Path path, int sm) const;
  // One digest of all kernels of these families; nothing where one is left out.
  std::optional<std::string> of(const std::set<std::string>& families, int sm) const;

 private:
  using Paths = std::array<std::optional<Compiled>, kPaths>;
  using Kernels = std::map<std::pair<std::size_t, std::size_t>, Paths>;  // by line and instance
  std::map<std::pair<int, std::string>, Kernels> families_;              // by architecture and name
  std::set<std::string> compilers_;
};

// That this program has.
const MachineCode& machine_code();

// 12 hexadecimal digits.
std::string digest_of(std::string_view text);

}  // namespace danaus
