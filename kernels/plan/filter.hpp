// What is prepared of a convolution's filters, as the first part of a program.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/plan/arrays.hpp"
#include "kernels/plan/live_blocks.hpp"

namespace danaus {

// Of the filters of the convolution `problem` of a case, into what is prepared for its kernel. Long ones, N = N1 N2, by
// an outer pass and one along its rows, channels by channels. `kept`: as make_program() has it; `rows`: as Filters has
// them.
std::unique_ptr<Step> make_filter_transform(const Case& asked, const Convolution& problem, const Prepared& prepared,
                                            const Variant& variant, const Device& device,
                                            std::span<const std::uint8_t> kept, std::span<const int> rows = {});

struct Filters {
  std::vector<std::unique_ptr<Step>> steps;
  std::int64_t bytes = 0;
  std::string layout;                              // Program::layout: of the forward pass, which gradients share
  LivePart live;                                   // of what is prepared for a sparse kernel
  std::vector<int> rows;                           // LongVariant::live_rows() of a mask; else none
  SpectrumPlace forward{-1, -1}, adjoint{-1, -1};  // -1: not wanted, or no factors
};
// For one pass or both.
Filters make_filters(const Case& asked, const Convolution& problem, bool forward, bool adjoint, const Variant& variant,
                     const Device& device, std::span<const std::uint8_t> kept);
// The spectrum [H, N] and the factors that another kernel reads, whose order is `convolution`'s: those of the forward
// pass by `variant`, where that has the same order; else what is prepared for it besides.
SpectrumPlace add_spectrum(Filters& filters, const Case& asked, const Convolution& problem, const Variant& variant,
                           const Variant& convolution, const Device& device);

}  // namespace danaus
