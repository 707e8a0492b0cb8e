// danaus verify, over any table of candidates.
#pragma once

#include "experiments/candidates.hpp"
#include "experiments/cli.hpp"

namespace danaus {

int verify(std::span<const std::string> words, Console& console, std::span<const Candidate> candidates);

}  // namespace danaus
