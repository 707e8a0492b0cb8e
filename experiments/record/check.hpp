// A program of tests that ran, and the tool that watched it, as a result row.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "experiments/cli/environment.hpp"
#include "reference/names.hpp"

namespace danaus {

enum class Tool { none, memcheck, racecheck, initcheck, synccheck };

inline constexpr std::array kTools = {
    Named{Tool::none, "tests", "the tests by themselves"},
    Named{Tool::memcheck, "memcheck", "compute-sanitizer: accesses out of bounds or misaligned, leaks"},
    Named{Tool::racecheck, "racecheck", "compute-sanitizer: hazards in shared memory"},
    Named{Tool::initcheck, "initcheck", "compute-sanitizer: reads of global memory that nothing wrote"},
    Named{Tool::synccheck, "synccheck", "compute-sanitizer: barriers that not all threads reach"},
};

// What came of it:
//   {"program": name of the tests' program, "tests": {"passed", "failed", "skipped"}, "failed": [names],
//    "errors": that the tool found; of a tool only, "status": "passed" | "failed"}
// `results` is what GoogleTest wrote (--gtest_output=json:FILE), `logs` what the tool printed, of each process where
// the tests were shared out (GTEST_TOTAL_SHARDS); each is called by its name in messages. No test that passed is a
// failure. Throws std::invalid_argument where one is something else, or where there are not as many logs as results.
struct Text {
  std::string name, text;
};
Json check_of(Tool tool, const std::string& program, std::span<const Text> results, std::span<const Text> logs);

// Of the device with this number, in words; nothing where it does not say.
std::optional<std::string> gpu_driver(int ordinal);

}  // namespace danaus
