#include "reference/judge.hpp"

#include <numeric>

#include "reference/convolution/convolve.hpp"
#include "reference/spectral/conditioning.hpp"
#include "reference/spectral_gradient/spectral_gradient.hpp"

namespace danaus {
namespace {

class SpectralGradientJudge final : public Judge {
 public:
  explicit SpectralGradientJudge(const SpectralGradient& asked) : Judge(asked), p_(asked.forward) {}

  double bound(std::string_view output, const Roundings&) const override {
    return output == "dw" ? bound_l2_of_gradient(p_) : bound_l2(p_);
  }
  std::optional<AdjointProduct> product(const Values& values) const override {
    const std::vector<double> y = layer_by_fftw(p_, {array_in(values, "u"), array_in(values, "w")});
    return AdjointProduct{std::inner_product(y.begin(), y.end(), array_in(values, "dy").begin(), 0.)};
  }
  RowWork work(std::string_view output, const Values&) const override { return work_of(p_, output); }
  std::string_view truth() const override { return name(Algorithm::fftw); }
  double bound_of_truth() const override { return bound_of_layer_truth(p_); }

 private:
  std::vector<OutputTerms> row_terms(const Values& values, const Promise& promise) const override {
    const std::vector<double>&u = array_in(values, "u"), &w = array_in(values, "w"), &dy = array_in(values, "dy");
    return {layer_terms(adjoint_of(p_), array("du"), dy, w, bound("du", promise.roundings)),
            weight_terms(p_, array("dw"), u, dy, bound("dw", promise.roundings))};
  }

  Spectral p_;
};

}  // namespace

JudgeEntry spectral_gradient_judge() { return judge_entry<SpectralGradient, SpectralGradientJudge>("spectralgrad"); }

}  // namespace danaus
