#include "reference/judge.hpp"

#include "reference/backward/backward.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

// Of both passes.
class StepJudge final : public Judge {
 public:
  explicit StepJudge(const TrainingStep& asked)
      : Judge(asked), forward_(judge_of(asked.forward)), backward_(judge_of(Backward{asked.forward})) {}

  double bound(std::string_view output, const Roundings& roundings) const override {
    return (output == "y" ? forward_ : backward_)->bound(output, roundings);
  }
  RowWork work(std::string_view output, const Values& inputs) const override {
    return (output == "y" ? forward_ : backward_)->work(output, inputs);
  }
  std::optional<AdjointProduct> product(const Values& values) const override { return backward_->product(values); }
  Expected expected(const Values& values, bool) const override {
    Expected all = backward_->expected(values);
    Expected of_y = forward_->expected(values);
    all.outputs.merge(of_y.outputs);
    all.bound = std::max(all.bound, of_y.bound);
    return all;
  }
  std::string_view truth() const override { return backward_->truth(); }
  double bound_of_truth() const override { return backward_->bound_of_truth(); }

 private:
  std::vector<OutputTerms> row_terms(const Values& values, const Promise& promise) const override {
    std::vector<OutputTerms> all = forward_->terms(values, promise);
    for (OutputTerms& of : backward_->terms(values, promise)) all.push_back(std::move(of));
    return all;
  }

  std::unique_ptr<const Judge> forward_, backward_;
};

}  // namespace

JudgeEntry step_judge() { return judge_entry<TrainingStep, StepJudge>("fftconvstep"); }

}  // namespace danaus
