#include "reference/judge.hpp"

#include <algorithm>
#include <cmath>

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/rounding.hpp"
#include "reference/convolution/terms.hpp"

namespace danaus {
namespace {

// Multiplications up to which the direct sum is the truth.
constexpr double kDirectByDefault = 1 << 24;

class ConvolutionJudge final : public Judge {
 public:
  explicit ConvolutionJudge(const Convolution& p) : Judge(p), p_(p) {}

  double bound(std::string_view, const Roundings& roundings) const override {
    return bound_l2_of_kernel(p_, roundings.forward);
  }
  Expected expected(const Values& values, bool of_fftw) const override {
    if (!of_fftw && direct_multiplications(p_) > kDirectByDefault)
      return {{{"y", convolve(p_, inputs_of(values), Algorithm::fftw)}}, truth(), bound_of_truth()};
    return {{{"y", convolve(p_, inputs_of(values), Algorithm::direct)}}, name(Algorithm::direct), direct_bound(p_)};
  }
  RowWork work(std::string_view output, const Values&) const override { return work_of(p_, output); }
  std::string_view truth() const override { return name(Algorithm::fftw); }
  double bound_of_truth() const override { return fftw_bound(p_); }

 private:
  std::vector<OutputTerms> row_terms(const Values& values, const Promise& promise) const override {
    const Inputs inputs = inputs_of(values);
    check_inputs(p_, inputs);
    return {convolved_terms(p_, array("y"), inputs.u, inputs.k, inputs.pregate, inputs.postgate,
                            bound("y", promise.roundings), promise)};
  }

  Convolution p_;
};

}  // namespace

JudgeEntry convolution_judge() { return judge_entry<Convolution, ConvolutionJudge>("fftconv"); }

}  // namespace danaus
