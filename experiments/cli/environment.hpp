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
  // For rows that only a change of it makes stale:
  const char* stopwatch;  // what times kernels and baselines, and the flags that they are compiled with
  const char* kernels;    // all of kernels/: what runs on the executor
};
extern const Revision kRevision;
// The same of what nvcc makes a family's kernels of.
std::string sources_of_family(std::string_view family);
// Of a baseline, by the name of its method, which begins with that of its file.
std::string code_of_baseline(std::string_view method);
// The compiler of what runs on a GPU, its flags and architectures, in words; that of the host in builds without CUDA.
std::string compiler_in_words();
std::string sources_in_words();  // digest, commit, and whether it is dirty

std::string today();  // UTC, as in 2026-11-21

// {"cpu": ..., "threads": ..., "os": ..., "compiler": ...}
Json host_block();

// {"name": ..., "sm": ..., "multiprocessors": ...}
Json device_block(const Device& device);

// Says on stderr that there is no CUDA device, which `needs` one; returns kExitNoDevice.
int without_gpu(Console& console, std::string_view operation, std::string_view needs = "it needs");

// The fields that every result row carries: date (UTC), git, dirty, sources, argv, host.
Json provenance(const Console& console);

}  // namespace danaus
