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
  p.unstable = draw.from(0, 9) == 0;
  if (draw.from(0, 9) > 0) return p;
  StateSpace said = p;
  said.chunk = 8 << draw.from(0, 5);
  return has_kernel_for(said, Device()) ? said : p;
}

}  // namespace

Study state_study() {
  return {state_subject,
          {{"ssmconv", [](Draw& draw) -> Case { return random_state(draw); },
            [] { return std::set<std::string>{"state"}; }}},
          // Of each kernel, rows in parts, the recurrence.
          {{"state-space model",
            "ssmconv_{f16,bf16}_{s64_l200_b3_h2_initial_final,s1_l130_b2_h1,s256_l96_b2_h1_final,"
            "s12_l1100_b1_h2_initial_final,s16_l20_b3_h2_initial_final}"}},
          // As FlashConv was shown, against length; what other methods take does not depend on the states.
          {{"state", "what does a state-space model take, and from which length on is a state cheaper than an FFT?",
            cases_of({"ssmconv_f16_s64_l{256_b64_h768,512_b64_h768,1024_b64_h768,2048_b64_h768,4096_b64_h768,"
                      "8192_b64_h768,16384_b64_h768,32768_b64_h384,65536_b64_h192,131072_b64_h96,262144_b64_h48,"
                      "524288_b64_h24,1048576_b64_h12}",
                      "ssmconv_f16_s{1,16,256}_l{256_b64_h768,1024_b64_h768,4096_b64_h768,16384_b64_h768,"
                      "65536_b64_h192,262144_b64_h48,1048576_b64_h12}",
                      "ssmconv_f16_s64_l{256_b1_h4096,1024_b1_h4096,4096_b1_h4096,16384_b1_h4096,65536_b1_h4096,"
                      "262144_b1_h3072,1048576_b1_h768}"})}}};
}

}  // namespace danaus
