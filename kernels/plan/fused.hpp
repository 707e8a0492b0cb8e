// A fused convolution as a launch.
#pragma once

#include <array>
#include <string>

#include "kernels/plan/arrays.hpp"
#include "kernels/plan/live_blocks.hpp"
#include "kernels/plan/machine.hpp"

namespace danaus {

class FusedKernel {
 public:
  FusedKernel(const Variant& variant, std::string description)
      : variant_(variant), description_(std::move(description)) {}

  const Variant& variant() const { return variant_; }
  // Learns what the machine has room for.
  void fit(const Machine& machine);
  // `a` has the arrays with their strides, spectrum and tables, batch, channels and length, and where rows have fewer
  // results, a multiple of the tensor maps' grain, their number; `spectrum_bytes` are read, and of the tables
  // `table_bytes`.
  Launch launch(ConvolutionArguments a, const Machine& machine, std::int64_t spectrum_bytes,
                std::int64_t table_bytes) const;
  // The same of a kernel that filters rows first. `taps` and `bias` are [P, H, T] and [P, H] for P parts.
  Launch launch_filtered(ConvolutionArguments a, const float* taps, const float* bias, std::int64_t tap_count,
                         const Machine& machine, std::int64_t spectrum_bytes, std::int64_t table_bytes) const;

 private:
  std::int64_t& concurrent(Path path) { return concurrent_.at(static_cast<std::size_t>(path)); }
  std::int64_t concurrent(Path path) const { return concurrent_.at(static_cast<std::size_t>(path)); }
  // The launch but for its arguments, which `a` then are.
  Launch prepared(ConvolutionArguments& a, const Machine& machine, std::int64_t spectrum_bytes,
                  std::int64_t table_bytes) const;
  void bind_maps(const Machine& machine, ConvolutionArguments& a) const;
  void bind_enclosing(const Machine& machine, ConvolutionArguments& a) const;
  KernelId kernel() const { return {variant_.family, variant_.line, variant_.instance}; }

  const Variant& variant_;
  std::string description_;
  std::array<std::int64_t, kPaths> concurrent_{1, 1, 1, 1};  // blocks that the machine runs at once
};

// The convolution `problem` of a case, of these of its arrays, with what is prepared at the place; `live` of a
// sparse kernel's spectrum.
std::unique_ptr<Step> make_fused_convolution(const Case& asked, const Convolution& problem,
                                             const ConvolutionArrays& arrays, const SpectrumPlace& place,
                                             const Variant& variant, const LivePart& live);

}  // namespace danaus
