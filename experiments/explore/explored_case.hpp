// What an exploration is of: a case, real filters, and rows that they are applied to.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "experiments/cli/environment.hpp"
#include "experiments/explore/effect.hpp"
#include "model/profile.hpp"
#include "reference/convolution/data.hpp"

namespace danaus {

// As a user gives them; empty: chosen.
struct ExploredCaseWords {
  std::string token;
  std::string filters = "hyena";  // one of kFilterKinds, or a file [K] or [H, K]
  std::string inputs;             // one of kDataKinds, or a file; empty: the recording, where there is one
  std::uint64_t seed = 0;
};

struct ExploredCase {
  Convolution problem;
  Convolution probe;      // of the channels that errors are computed of, B = 1
  std::vector<double> k;  // [H, K] of the probe
  std::vector<ProbeInput> inputs;
  Json filters;  // {"name", and of a file "digest"}
  Json names;    // of the inputs, likewise
  std::uint64_t seed = 0;
};

// {"filters", "inputs", "channels"}: what a row says of them.
Json data_of(const ExploredCase& subject);

// The case without a mask, with filters and inputs; of a file as many channels as it has rows, else at most 16. Without
// a token fp16, B=64, in the mode and of the length given, or as long as a file's filters need. Throws
// std::invalid_argument where files and case do not go together. Notices about files go to `notices`.
ExploredCase read_explored_case(const ExploredCaseWords& words, Mode mode, std::int64_t length, std::ostream& notices);

// With the fold, N and factors of the kernel that computes its masks on the device, or, where none does, the cheapest
// factors by Eq. 2.
Convolution laid_out(Convolution problem, const HardwareProfile& profile);

// us of each case, by its token, in result files of danaus bench.
std::map<std::string, double> measured_times(const std::vector<std::string>& paths, const HardwareProfile& profile);

}  // namespace danaus
