// Convolutions by state-space models.
#include "experiments/operations/some_rows.hpp"
#include "reference/state/recurrence.hpp"

namespace danaus {
namespace {

class StateSubject final : public Subject {
 public:
  explicit StateSubject(const StateSpace& p) : p_(p) {}

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
