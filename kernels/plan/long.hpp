// Convolutions longer than any fused kernel's: an outer pass there, fused convolutions of pairs, an outer pass back; or
// all of these in one launch of clusters.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/families/cluster/family.hpp"
#include "kernels/families/outer/family.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/outer_pass.hpp"

namespace danaus {

// N = N1 N2: the rows of the outer passes, and the points of the fused kernel, of a pair without gates.
class LongVariant : public Variant {
 public:
  LongVariant(const Variant& inner, Fold fold, bool gated, std::size_t outer_line);

  const Variant& inner() const { return inner_; }
  Way way() const override { return Way::passes; }
  int outer_rows() const override { return size / inner_.size; }
  outer::Layout outer_layout(bool back) const {
    return {{dtype, fold, outer::kLines[outer_line_].radix, back}, outer::kLines[outer_line_].tuning};
  }
  // Of rows as live_rows() has them.
  OuterPass outer_pass(bool back, std::string description, std::span<const int> rows = {}) const;
  std::vector<int> live_rows(std::span<const std::uint8_t> live) const override;

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
  std::size_t outer_line_;
};

// The same by the cluster's kernel, of whose transforms `inner` is one. It knows no gates.
class ClusterVariant final : public LongVariant {
 public:
  // `made` is the line's instance of that number.
  ClusterVariant(const Variant& inner, std::size_t outer_line, std::size_t line, std::size_t instance,
                 const Instance<cluster::Family>& made);

  const cluster::Layout& layout() const { return layout_; }
  Way way() const override { return Way::clusters; }
  // What comes and goes by tensor maps: samples of other rows, which threads move, are sooner through outer passes.
  bool takes(const Convolution& problem) const override { return problem.length % tensor_grain() == 0; }
  std::vector<int> live_rows(std::span<const std::uint8_t>) const override { return {}; }  // it computes all
  std::vector<std::uint32_t> make_tables() const override;
  int roundings() const override;
  const RowLayout& rows() const override { return layout_; }
  // Of clusters, of which `concurrent` run at once.
  Share share(const Load& load) const override;

 private:
  cluster::Layout layout_;
};

// By N, the preferred split of each first.
std::span<const std::unique_ptr<const LongVariant>> long_variants();

// The convolution `problem` of a case, of these of its arrays, with what is prepared at the place, of these live rows.
std::unique_ptr<Step> make_long_convolution(const Case& asked, const Convolution& problem,
                                            const ConvolutionArrays& arrays, const SpectrumPlace& place,
                                            const LongVariant& variant, std::span<const int> rows,
                                            const Device& device);

// Of a cluster's variant.
std::unique_ptr<Step> make_cluster_convolution(const Case& asked, const Convolution& problem,
                                               const ConvolutionArrays& arrays, const SpectrumPlace& place,
                                               const ClusterVariant& variant, const Device& device);

}  // namespace danaus
