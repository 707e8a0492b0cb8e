// The kernels of a plan as a method.
#include "experiments/methods/runner.hpp"
#include "kernels/plan/plan.hpp"
#include "kernels/plan/promise.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/judge.hpp"
#include "reference/state/state.hpp"

namespace danaus {
namespace {

// Poles are not checked again: that reads them back, for which a stream that is held or captured cannot wait.
Case unchecked(const Case& asked) {
  const auto* state = asked.as<StateSpace>();
  if (!state) return asked;
  StateSpace p = *state;
  p.unstable = true;
  return p;
}

class PlanRunner final : public Runner {
 public:
  PlanRunner(const Case& asked, std::shared_ptr<const Machine> machine)
      : judge_(judge_of(asked)),
        plan_(unchecked(asked), std::move(machine), marks_of(asked)),
        promise_(promise_of(asked, plan_.variant(), plan_.machine().device())),
        arrays_(asked.arrays()) {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const Array& array = arrays_[i];
      const Buffer buffer(array.name, nullptr, static_cast<std::size_t>(bytes(array.dtype) * array.size()));
      if (array.role == Role::filter)
        filters_.push_back(buffer), filter_places_.push_back(i);
      else
        buffers_.push_back(buffer), places_.push_back(i);
    }
  }

  void set_filters(const DeviceArrays& arrays, Stream stream) override {
    for (std::size_t i = 0; i < filters_.size(); ++i) filters_[i].data = arrays[filter_places_[i]];
    plan_.prepare(filters_, options(stream));
  }

  void launch(const DeviceArrays& arrays, Stream stream) override {
    for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i].data = arrays[places_[i]];
    plan_.execute(buffers_, options(stream));
  }

  std::string variant() const override { return plan_.variant().name; }
  std::int64_t fft_size() const override { return plan_.variant().size; }
  std::vector<int> factors() const override { return plan_.variant().factors; }
  double bound(std::string_view output) const override { return judge_->bound(output, promise_.roundings); }
  Promise promise() const override { return promise_; }
  std::int64_t prepared_bytes() const override { return plan_.prepared_bytes(); }
  std::int64_t kept_bytes() const override {
    return plan_.prepared_bytes() + plan_.workspace_bytes(0) + plan_.constant_bytes();
  }

 private:
  // With one workspace for all calls, which the graphs of many captures share: they are launched one after the other.
  CallOptions options(Stream stream) {
    CallOptions given{.stream = stream};
    if (const std::int64_t bytes = plan_.workspace_bytes(0); bytes > 0) {
      if (!workspace_) workspace_ = plan_.machine().allocate(bytes);
      given.workspace = workspace_.get(), given.workspace_bytes = static_cast<std::size_t>(bytes);
    }
    return given;
  }

  std::unique_ptr<const Judge> judge_;
  Plan plan_;
  Promise promise_;
  std::vector<Array> arrays_;  // whose names the buffers have
  std::vector<Buffer> filters_, buffers_;
  std::vector<std::size_t> filter_places_, places_;  // of both among the arrays
  std::shared_ptr<void> workspace_;
};

}  // namespace

std::unique_ptr<Runner> make_plan_runner(const Case& asked, std::shared_ptr<const Machine> machine) {
  return std::make_unique<PlanRunner>(asked, std::move(machine));
}

}  // namespace danaus
