// Ways to compute cases: --method of verify, which judges what they compute, and of bench, which times them. A file of
// this folder says of each what it computes, and methods.cpp lists the files.
#pragma once

#include <functional>
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

struct Method {
  std::string_view name, summary = {};

  // To bench, where it is timed: the case that it computes in place of the one asked, whose outputs are the same.
  // Throws std::invalid_argument, saying why, where it computes none on the device.
  Case (*by)(const Method& method, const Case& asked, const Device& device) = nullptr;
  bool runs_plan = false;  // of that case; otherwise a baseline's code does (runners.cpp)

  // To verify, by `compute`: y [B, H, L] of convolutions alone.
  std::vector<double> (*compute)(const Convolution& problem, const Inputs& inputs) = nullptr;
  // On the relative L2 error that the computation itself adds.
  double (*bound)(const Convolution& planned) = nullptr;
  bool in_double = false;               // whatever the case's type; otherwise in the case's type
  std::optional<Scaling> scaling = {};  // --scaling, for those that have one
  double usual_share = 1;               // of its bound of L2 errors that Gaussian data may take
  // Or by plans of cases of every operation, whose kernels promise their bounds, on this machine.
  std::function<std::shared_ptr<const Machine>()> machine = {};
  std::string profile = {};  // --profile, where it was given

  bool is_judged() const { return compute || machine; }
  bool is_timed() const { return by; }
};

inline constexpr std::int64_t kWholeBlocks = 8192;   // of a launch that is executed whole; else the blocks that differ
inline constexpr std::string_view kPlan = "kernel";  // to bench on a GPU, to verify on the executor
inline constexpr std::string_view kCopy = "copy";
inline constexpr std::string_view kOnGpu = "gpu";  // verifies; needs a GPU, and computes no case without

// The names of methods, each once.
std::vector<std::string> names_of(std::span<const Method> methods);

const std::vector<Method>& judged_methods();
const std::vector<Method>& timed_methods();
// Throws std::invalid_argument and lists the names; `what` begins the message.
const Method& timed_method(std::string_view name, std::string_view what = "method");

// Why a method that is timed does not compute a case on a device; nothing where it does.
std::optional<std::string> obstacle(const Method& method, const Case& asked, const Device& device);

// The convolution, or its gradients, with the same outputs. Throws std::invalid_argument where there is none.
Case convolution_by(const Method& method, const Case& asked);

// Whether a method that is judged computes a case.
bool computes(const Method& method, const Case& asked);
// The convolution with fold, N and factors as it chooses them; throws, saying why, where it does not compute it.
Convolution planned_by(const Method& method, const Convolution& problem);

// What methods.cpp lists, a file each.
std::vector<Method> reference_methods();
std::vector<Method> plan_methods();
std::vector<Method> copy_methods();
std::vector<Method> cufft_methods();

}  // namespace danaus
