// What a result was made with: the program's sources, the compiler and the machine.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/cli/console.hpp"
#include "kernels/plan/machine.hpp"

namespace danaus {

using Json = nlohmann::ordered_json;

// Written at build time by revision.cmake.
struct Revision {
  const char* git;      // commit, or "unknown" outside a git checkout
  bool dirty;           // tracked files differ from that commit
  const char* sources;  // digest of the sources this program was built from: rows with another one are stale
  // Digests of fewer sources, for rows that depend on them alone:
  const char* stopwatch;  // the code that times kernels and baselines, and their compiler flags
  const char* kernels;    // all of kernels/, which the executor runs
};
extern const Revision kRevision;
// Digest of the sources that nvcc compiles into a family's kernels.
std::string sources_of_family(std::string_view family);
// Digest of a baseline's sources. The name of its method begins with the name of its file.
std::string code_of_baseline(std::string_view method);
// The CUDA compiler, its flags and architectures, in words; the host's compiler in builds without CUDA.
std::string compiler_in_words();
std::string sources_in_words();  // digest, commit, and whether it is dirty

std::string today();  // UTC, as in 2026-11-21

// {"cpu": ..., "threads": ..., "os": ..., "compiler": ...}
Json host_block();

// {"name": ..., "sm": ..., "multiprocessors": ...}
Json device_block(const Device& device);

// Prints on stderr that there is no CUDA device, and what `needs` one. Returns kExitNoDevice.
int without_gpu(Console& console, std::string_view operation, std::string_view needs = "it needs");

// The fields that every result row carries: date (UTC), git, dirty, sources, argv, host.
Json provenance(const Console& console);

}  // namespace danaus
