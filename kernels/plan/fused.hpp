// A fused convolution as a launch.
#pragma once

#include <array>
#include <string>

#include "kernels/plan/arrays.hpp"
#include "kernels/plan/live_blocks.hpp"
#include "kernels/plan/machine.hpp"

namespace danaus {

// Rows that are not [B, H, L]: tensor maps of where samples and pregate come from and of where results go, from what
// the arguments point to on, and the bytes that they reach over.
struct RowMaps {
  TensorShape from, into;
  std::int64_t bytes_from, bytes_into;
};

class FusedKernel {
 public:
  FusedKernel(const Variant& variant, std::string description)
      : variant_(variant), description_(std::move(description)) {}

  const Variant& variant() const { return variant_; }
  // Learns what the machine has room for.
  void fit(const Machine& machine);
  // `a` has the arrays, spectrum and tables, batch, channels and length; `spectrum_bytes` are read, and of the tables
  // `table_bytes`.
  Launch launch(ConvolutionArguments a, const Machine& machine, std::int64_t spectrum_bytes,
                std::int64_t table_bytes) const;
  // The same of rows that maps say.
  Launch launch(ConvolutionArguments a, const RowMaps& maps, const Machine& machine, std::int64_t spectrum_bytes,
                std::int64_t table_bytes) const;

 private:
  std::int64_t& concurrent(Path path) { return concurrent_.at(static_cast<std::size_t>(path)); }
  std::int64_t concurrent(Path path) const { return concurrent_.at(static_cast<std::size_t>(path)); }
  void bind_enclosing(const Machine& machine, ConvolutionArguments& a) const;
  Launch launch_of(ConvolutionArguments& a, const Machine& machine, std::int64_t bytes_from, std::int64_t bytes_into,
                   std::int64_t spectrum_bytes, std::int64_t table_bytes) const;
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
