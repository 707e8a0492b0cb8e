#include "reference/judge.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/backward/backward.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/convolution/gradient.hpp"
#include "reference/convolution/rounding.hpp"
#include "reference/convolution/terms.hpp"

namespace danaus {
namespace {

// A gradient of samples is a convolution itself: of dy and the conjugate spectrum, du with the gates the other way
// round.
class BackwardJudge final : public Judge {
 public:
  explicit BackwardJudge(const Backward& asked) : Judge(asked), p_(asked.forward) {}

  double bound(std::string_view output, const Roundings& roundings) const override {
    if (output == "dk") return bound_l2_of_correlation(p_, roundings.of_sums);
    Convolution by = p_;
    by.pregate = output == "dpostgate" ? p_.pregate : p_.postgate;
    by.postgate = output == "du" ? p_.pregate : true;
    return bound_l2_of_kernel(by, roundings.of_rows);
  }
  std::optional<AdjointProduct> product(const Values& values) const override {
    const std::vector<double> y = convolve(p_, inputs_of(values), Algorithm::fftw);
    return AdjointProduct{std::inner_product(y.begin(), y.end(), array_in(values, "dy").begin(), 0.)};
  }
  RowWork work(std::string_view output, const Values&) const override { return work_of(p_, output); }
  std::string_view truth() const override { return name(truth_of_gradients(p_)); }
  double bound_of_truth() const override { return fftw_bound(p_); }

 private:
  std::vector<OutputTerms> row_terms(const Values& values, const Promise& promise) const override {
    const Inputs inputs = inputs_of(values);
    check_inputs(p_, inputs);
    const std::vector<double>& dy = array_in(values, "dy");
    std::vector<OutputTerms> all;
    const auto convolved = [&](std::string_view name, const std::vector<double>& rows,
                               const std::vector<double>& before, const std::vector<double>& after) {
      all.push_back(
          convolved_terms(p_, array(name), rows, inputs.k, before, after, bound(name, promise.roundings), promise));
    };
    convolved("du", dy, inputs.postgate, inputs.pregate);
    if (p_.pregate) convolved("dpregate", dy, inputs.postgate, inputs.u);
    if (p_.postgate) convolved("dpostgate", inputs.u, inputs.pregate, dy);
    all.push_back(correlated_terms(p_, array("dk"), inputs, dy, bound("dk", promise.roundings), promise));
    return all;
  }

  Convolution p_;
};

}  // namespace

JudgeEntry backward_judge() { return judge_entry<Backward, BackwardJudge>("fftconvgrad"); }

}  // namespace danaus
