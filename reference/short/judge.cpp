#include "reference/judge.hpp"

#include "reference/convolution/convolve.hpp"
#include "reference/short/bounds.hpp"
#include "reference/short/direct.hpp"

namespace danaus {
namespace {

class ShortJudge final : public Judge {
 public:
  explicit ShortJudge(const ShortConvolution& p) : Judge(p), p_(p) {}

  double bound(std::string_view output, const Roundings& roundings) const override {
    return bound_l2_of_short(p_, output, roundings.forward);
  }
  RowWork work(std::string_view output, const Values&) const override { return work_of(p_, output); }
  std::string_view truth() const override { return name(Algorithm::direct); }
  double bound_of_truth() const override { return bound_of_short_truth(p_); }

 private:
  std::vector<OutputTerms> row_terms(const Values& values, const Promise& promise) const override {
    return {short_terms(array("y"), summed_squares(p_, values), bound("y", promise.roundings), array_in(values, "u"),
                        array_in(values, "pregate"))};
  }

  ShortConvolution p_;
};

}  // namespace

JudgeEntry short_judge() { return judge_entry<ShortConvolution, ShortJudge>("shortconv"); }

}  // namespace danaus
