// Convolutions by state-space models.
#include "experiments/operations/some_rows.hpp"
#include "kernels/families/state/family.hpp"
#include "reference/bounds.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/state/recurrence.hpp"

namespace danaus {
namespace {

// Samples that the kernel computes at a time; by the recurrence one.
int chunk_of(const StateSpace& p, const Variant& kernel, const Device& device) {
  return kernel.shared_bytes > 0 ? state::choose(p, device, state::Work::convolve).layout().tuning.chunk : 1;
}

class StateSubject final : public Subject {
 public:
  explicit StateSubject(const StateSpace& p) : p_(p) {}

  double bound(std::string_view output, const Variant& kernel, const Device& device) const override {
    return bound_l2_of_state(p_, output, chunk_of(p_, kernel, device), kernel.roundings());
  }
  std::vector<OutputBound> bounds(const Values& values, const Variant& kernel, const Device& device) const override {
    return bounds_of_state(p_, values, chunk_of(p_, kernel, device), kernel.roundings());
  }
  Values compared(const Values& inputs, Values outputs) const override {
    if (const auto x = outputs.find("x_final"); x != outputs.end())
      x->second = over_sizes(p_, state_inputs_of(inputs), std::move(x->second));
    return outputs;
  }
  std::string_view truth() const override { return name(Method::direct); }
  // As of a kernel whose state is in double and takes every step.
  double bound_of_truth() const override { return bound_l2(p_, 1, 0) * (unit_roundoff(Dtype::f64) / 0x1p-24); }

  SomeRows some_rows() const override {
    const std::int64_t sums = p_.length * std::max(1, p_.states / 8);
    const auto batch = some_of(p_.batch, most_of(sums), false);
    const auto channels = some_of(p_.channels, most_of(sums * std::ssize(batch)), false);
    StateSpace fewer = p_;
    fewer.batch = std::ssize(batch), fewer.channels = std::ssize(channels);
    SomeRows rows{fewer, {}, fewer.batch * fewer.channels, p_.batch * p_.channels};
    for (const Array& array : arrays(p_)) {
      const std::int64_t of_row = array.size() / p_.channels / (array.batched ? p_.batch : 1);
      rows.places.push_back(
          rows_of(array.batched ? batch : std::vector<std::int64_t>{0}, channels, p_.channels, of_row));
    }
    return rows;
  }
  // Poles inside of the unit circle, near it and far from it.
  Values filters() const override {
    StateInputs made = make_filters(p_);
    return {{"a", std::move(made.a)}, {"b", std::move(made.b)}, {"c", std::move(made.c)}};
  }

  Case however_computed(bool) const override {
    StateSpace other = p_;
    other.chunk = 0;
    return other;
  }
  std::optional<std::string> obstacle(const Device& device) const override { return plan_obstacle(p_, device); }
  Case as_convolution() const override {
    if (p_.initial || p_.final) fail("has no state before the first sample or after the last");
    Convolution by;
    by.dtype = p_.dtype, by.mode = Mode::causal;
    by.batch = p_.batch, by.channels = p_.channels, by.length = by.filter_length = p_.length;
    return by;
  }

 private:
  StateSpace p_;
};

}  // namespace

std::unique_ptr<const Subject> state_subject(const Case& asked) {
  const auto* p = asked.as<StateSpace>();
  return p ? std::make_unique<StateSubject>(*p) : nullptr;
}

}  // namespace danaus
