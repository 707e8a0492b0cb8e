// Convolutions by state-space models.
#include "reference/state/state.hpp"

#include "experiments/operations/some_rows.hpp"
#include "experiments/operations/study.hpp"
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
  Case as_convolution() const override {
    if (p_.initial || p_.final) fail("has no state before the first sample or after the last");
    Convolution by;
    by.dtype = p_.dtype, by.mode = Mode::causal;
    by.batch = p_.batch, by.channels = p_.channels, by.length = by.filter_length = p_.length;
    return by;
  }
  Shape shape() const override { return {p_.batch, p_.channels, p_.length}; }

 private:
  StateSpace p_;
};

std::unique_ptr<const Subject> state_subject(const Case& asked) {
  const auto* p = asked.as<StateSpace>();
  return p ? std::make_unique<StateSubject>(*p) : nullptr;
}

// Whole chunks and parts of one, rows that are cut and few samples; every number of states that a kernel pads.
StateSpace random_state(Draw& draw) {
  const std::int64_t steps = draw.domain.products, longest = draw.domain.wide ? 65536 : 8192;
  const std::int64_t most_rows = draw.domain.wide ? 3000 : 130;
  StateSpace p;
  p.dtype = draw.one_of({Dtype::f16, Dtype::bf16});
  p.states = static_cast<int>(draw.of_any_scale(kMostStates));
  p.length = draw.of_any_scale(std::min(longest, steps / p.states));
  const std::int64_t rows = std::clamp<std::int64_t>(steps / p.states / p.length, 1, most_rows);
  p.batch = draw.of_any_scale(rows);
  const std::int64_t others = std::max<std::int64_t>(rows / p.batch, 1);
  p.channels = draw.domain.wide ? draw.of_any_scale(others) : draw.from(1, std::min<std::int64_t>(others, 3));
  p.initial = draw.from(0, 1) == 0, p.final = draw.from(0, 1) == 0;
  return p;
}

// As FlashConv was shown, against length; what other methods take does not depend on the states.
std::vector<Case> states() {
  std::vector<Case> cases;
  const auto add = [&](int of_channel, std::int64_t batch, std::int64_t channels, int times) {
    for (std::int64_t length = 1 << 8; length <= 1 << 20; length *= times) {
      StateSpace p;
      p.states = of_channel, p.length = length, p.batch = batch;
      p.channels = std::min(channels, kLongSamples * kBatch / batch / length);
      cases.push_back(p);
    }
  };
  add(64, kBatch, kChannels, 2);
  for (int of_channel : {1, 16, 256}) add(of_channel, kBatch, kChannels, 4);
  add(64, 1, 4096, 4);
  return cases;
}

}  // namespace

Study state_study() {
  Study study{state_subject,
              {{"ssmconv", [](Draw& draw) -> Case { return random_state(draw); }, [] { return std::string("state"); }}},
              {},
              {{"state", "what does a state-space model take, and from which length on is a state cheaper than an FFT?",
                states}}};
  // Of each kernel, rows in parts, the recurrence.
  for (std::string_view type : {"f16", "bf16"})
    study.trials.push_back(
        {"state-space model",
         tokens_of(text("ssmconv_", type), {"_s64_l200_b3_h2_initial_final", "_s1_l130_b2_h1", "_s256_l96_b2_h1_final",
                                            "_s12_l1100_b1_h2_initial_final", "_s16_l20_b3_h2_initial_final"})});
  return study;
}

}  // namespace danaus
