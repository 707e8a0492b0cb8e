// What is judged: every way of computing a convolution, one row each. A new kernel is one more row.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/plan/machine.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/convolution/rounding.hpp"

namespace danaus {

struct Candidate {
  std::string_view name;           // --method
  std::optional<Scaling> scaling;  // --scaling, for those that have one
  std::string_view summary;
  bool in_double;  // computes in double whatever the case's type; otherwise in the case's type
  std::vector<double> (*compute)(const Convolution& problem, const Inputs& inputs);  // y [B, H, L]
  // On the relative L2 error that the computation itself adds; null where a plan's kernels promise theirs.
  double (*bound)(const Convolution& planned);
  // The case with fold, N and factors as the candidate chooses them; throws, saying why, where it does not compute it.
  Convolution (*planned)(const Convolution& problem) = &danaus::planned;
  bool (*computes)(const Convolution& problem) = [](const Convolution&) { return true; };
  double usual_share = 1;  // of its bound of L2 errors that Gaussian data may take
  // Where plans compute cases of every other operation; null for what computes convolutions alone.
  std::shared_ptr<const Machine> (*machine)() = nullptr;
};

// Whether it computes a case of any operation.
bool computes(const Candidate& candidate, const Case& asked);

// The name of the one that needs a GPU, and computes no case without.
inline constexpr std::string_view kOnGpu = "gpu";

std::span<const Candidate> candidates();

}  // namespace danaus
