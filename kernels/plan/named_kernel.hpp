// A kernel that a program asks for by name, in place of the one that a plan would choose.
#pragma once

#include <string>
#include <string_view>

#include "kernels/families/correlator.hpp"
#include "kernels/plan/choice.hpp"

namespace danaus {

// While it lives, every plan takes this kernel for the cases that the kernel computes. For
// programs that study kernels: one at a time, made and destroyed while no other thread makes plans.
class NamedKernel {
 public:
  // A kernel of `danaus list kernels`, but for those that a mask chooses. Throws std::invalid_argument, with the
  // nearest name, where there is none.
  explicit NamedKernel(std::string_view name);
  ~NamedKernel();
  NamedKernel(const NamedKernel&) = delete;
  NamedKernel& operator=(const NamedKernel&) = delete;

  // Throws where a plan for the case on the device would not run the kernel, and says why.
  void require(const Case& asked, const Device& device) const;

 private:
  std::string name_;
};

// Null where none is asked for by name.
const Variant* named_variant();
const Correlator* named_correlator();

// Why the kernel does not compute the convolution on the device; empty where it does.
std::string obstacle_of(const Variant& variant, const Convolution& problem, const Device& device);

}  // namespace danaus
