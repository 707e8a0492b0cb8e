// Convolutions longer than any fused kernel's: an outer pass there, fused convolutions of pairs, an outer pass back.
#pragma once

#include <memory>
#include <span>

#include "kernels/families/outer/family.hpp"
#include "kernels/plan/program.hpp"

namespace danaus {

// N = N1 N2: the rows of the outer passes, and the points of the fused kernel, of a pair without gates.
class LongVariant final : public Variant {
 public:
  LongVariant(const Variant& inner, Fold fold, bool gated, std::size_t line);

  const Variant& inner() const { return inner_; }
  int outer_rows() const { return size / inner_.size; }
  outer::Layout outer_layout(bool back) const {
    return {{dtype, fold, outer::kLines[line].radix, back}, outer::kLines[line].tuning};
  }
  KernelId outer_kernel(bool back) const;

  bool takes(const Convolution&) const override { return true; }
  std::vector<std::uint32_t> make_tables() const override {
    return outer::make_tables(outer_layout(false), inner_.size);
  }
  std::vector<std::int32_t> spectrum_slots() const override;
  double spectrum_scale() const override;
  int roundings() const override;
  const RowLayout& rows() const override { return inner_.rows(); }
  Share share(const Load& load) const override { return inner_.share(load); }

 private:
  const Variant& inner_;
};

// By N, the preferred split of each first.
std::span<const std::unique_ptr<const LongVariant>> long_variants();

Program make_long_program(const Case& asked, const LongVariant& variant, const Device& device);

}  // namespace danaus
