// The kernels of a plan as a contender.
#include "experiments/bench/checked_rows.hpp"
#include "experiments/bench/contenders.hpp"
#include "kernels/plan/correlation.hpp"
#include "kernels/plan/plan.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/convolution/rounding.hpp"
#include "reference/spectral/layer.hpp"

namespace danaus {
namespace {

class PlanRunner final : public Runner {
 public:
  PlanRunner(const Case& asked, std::shared_ptr<const Machine> machine)
      : asked_(asked), plan_(asked, std::move(machine), marks_of(asked)), arrays_(asked.arrays()) {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const Array& array = arrays_[i];
      const Buffer buffer(array.name, nullptr, static_cast<std::size_t>(bytes(array.dtype) * array.size()));
      if (array.role == Role::filter)
        filters_.push_back(buffer);
      else
        buffers_.push_back(buffer), places_.push_back(i), batch_ = array.batched ? array.extents.front() : batch_;
    }
  }

  void set_filter(const void* filter, Stream stream) override {
    filters_.front().data = filter;
    plan_.prepare(filters_, {.stream = stream});
  }

  void launch(const DeviceArrays& arrays, Stream stream) override {
    for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i].data = arrays[places_[i]];
    plan_.execute(buffers_, {.stream = stream});
  }

  std::string variant() const override { return plan_.variant().name; }
  std::int64_t fft_size() const override { return plan_.variant().size; }
  std::vector<int> factors() const override { return plan_.variant().factors; }
  double bound(std::string_view output) const override {
    if (const auto* layer = asked_.as<Spectral>()) return bound_l2(*layer);
    const Convolution& p = *convolution_of(asked_);
    if (output != "dk") return bound_l2_of_kernel(p, plan_.variant().roundings());
    const auto correlation = make_correlation(asked_, p, {0, -1, 1, -1, 2}, plan_.machine().device());
    return bound_l2_of_correlation(p, correlation.roundings);
  }
  std::int64_t prepared_bytes() const override { return plan_.prepared_bytes(); }
  std::int64_t kept_bytes() const override {
    return plan_.prepared_bytes() + plan_.workspace_bytes(batch_) + plan_.constant_bytes();
  }

 private:
  Case asked_;
  Plan plan_;
  std::vector<Array> arrays_;  // whose names the buffers have
  std::vector<Buffer> filters_, buffers_;
  std::vector<std::size_t> places_;  // of the buffers among the arrays
  std::int64_t batch_ = 1;
};

}  // namespace

std::unique_ptr<Runner> make_plan_runner(const Case& asked, std::shared_ptr<const Machine> machine) {
  return std::make_unique<PlanRunner>(asked, std::move(machine));
}

}  // namespace danaus
