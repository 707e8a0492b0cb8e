#include "reference/judge.hpp"

#include "reference/convolution/convolve.hpp"
#include "reference/spectral/conditioning.hpp"

namespace danaus {
namespace {

class SpectralJudge final : public Judge {
 public:
  explicit SpectralJudge(const Spectral& p) : Judge(p), p_(p) {}

  double bound(std::string_view, const Roundings&) const override { return bound_l2(p_); }
  RowWork work(std::string_view output, const Values&) const override { return work_of(p_, output); }
  std::string_view truth() const override { return name(Algorithm::fftw); }
  double bound_of_truth() const override { return bound_of_layer_truth(p_); }

 private:
  std::vector<OutputTerms> row_terms(const Values& values, const Promise& promise) const override {
    return {layer_terms(p_, array("y"), array_in(values, "u"), array_in(values, "w"), bound("y", promise.roundings))};
  }

  Spectral p_;
};

}  // namespace

JudgeEntry spectral_judge() { return judge_entry<Spectral, SpectralJudge>("spectral"); }

}  // namespace danaus
