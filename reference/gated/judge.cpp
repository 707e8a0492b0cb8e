#include "reference/judge.hpp"

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/rounding.hpp"
#include "reference/convolution/terms.hpp"
#include "reference/gated/filtered.hpp"

namespace danaus {
namespace {

// The convolution of what the short filters leave. Their roundings are among those that a plan promises.
class GatedJudge final : public Judge {
 public:
  explicit GatedJudge(const GatedConvolution& p) : Judge(p), p_(p) {}

  double bound(std::string_view, const Roundings& roundings) const override {
    return bound_l2_of_kernel(p_.conv, roundings.forward);
  }
  RowWork work(std::string_view output, const Values&) const override {
    RowWork of = work_of(p_.conv, output);
    of.roundings += p_.taps > 0 ? static_cast<int>(parts(p_)) : 0;
    return of;
  }
  std::string_view truth() const override { return name(Algorithm::fftw); }
  double bound_of_truth() const override { return fftw_bound(p_.conv); }

 private:
  std::vector<OutputTerms> row_terms(const Values& values, const Promise& promise) const override {
    const Inputs inputs = filtered(p_, values, true);
    return {convolved_terms(p_.conv, array("y"), inputs.u, inputs.k, inputs.pregate, inputs.postgate,
                            bound("y", promise.roundings), promise)};
  }

  GatedConvolution p_;
};

}  // namespace

JudgeEntry gated_judge() { return judge_entry<GatedConvolution, GatedJudge>("gatedconv"); }

}  // namespace danaus
