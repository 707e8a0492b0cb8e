#include <array>
#include <cmath>

#include "reference/state/state.hpp"
#include "reference/token.hpp"

namespace danaus {
namespace {

constexpr std::int64_t kMostSamples = std::int64_t{1} << 46;
constexpr std::int64_t kMostChunk = 1 << 20;
constexpr std::array kDtypes = {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64};

void check_size(std::string_view what, std::int64_t value, std::int64_t most = kMostSamples) {
  if (value < 1 || value > most) fail("ssmconv: ", what, "=", value, ", must be from 1 to ", most);
}

}  // namespace

std::string token(const StateSpace& p) {
  std::ostringstream out;
  out << "ssmconv_" << name(p.dtype) << "_s" << p.states << "_l" << p.length << "_b" << p.batch << "_h" << p.channels;
  if (p.chunk > 0) out << "_t" << p.chunk;
  if (p.initial) out << "_initial";
  if (p.final) out << "_final";
  if (p.unstable) out << "_unstable";
  return out.str();
}

Grammar state_grammar() {
  using enum TokenField::Kind;
  return {"ssmconv",
          {
              kTypeField,
              {.kind = number,
               .name = "s",
               .form = "s<S>",
               .meaning = "complex states of a channel, S",
               .example = "s16",
               .required = true,
               .most = kMostStates},
              kLengthField,
              kBatchField,
              kChannelsField,
              {.kind = number,
               .name = "t",
               .form = "t<chunk>",
               .meaning = "samples that a kernel computes at a time",
               .example = "t64",
               .most = kMostChunk},
              {.name = "initial",
               .form = "initial",
               .meaning = "the state before the first sample is an input",
               .example = "initial"},
              {.name = "final",
               .form = "final",
               .meaning = "the state after the last sample is an output",
               .example = "final"},
              {.name = "unstable",
               .form = "unstable",
               .meaning = "poles may lie outside of the unit circle",
               .example = "unstable"},
          },
          "ssmconv_f16_s4_l256_b2_h2"};
}

StateSpace parse_state(std::string_view token) {
  const TokenFields fields(token, *find_grammar("ssmconv"));
  StateSpace p;
  p.dtype = *fields.one_of(kDtypes, "dtype");
  p.initial = fields.has("initial"), p.final = fields.has("final"), p.unstable = fields.has("unstable");
  p.length = *fields.number("l"), p.batch = *fields.number("b"), p.channels = *fields.number("h");
  const std::int64_t states = *fields.number("s");
  check_size("S", states, kMostStates);
  p.states = static_cast<int>(states);
  if (const auto chunk = fields.number("t")) {
    check_size("chunk", *chunk, kMostChunk);
    p.chunk = static_cast<int>(*chunk);
  }
  validate(p);
  return p;
}

void validate(const StateSpace& p) {
  check_size("S", p.states, kMostStates);
  check_size("L", p.length), check_size("B", p.batch), check_size("H", p.channels);
  const auto samples = static_cast<long double>(p.batch) * p.channels * std::max<std::int64_t>(p.length, p.states);
  if (samples > static_cast<long double>(kMostSamples)) fail("ssmconv: B*H*L or B*H*S are more than 2^46 numbers");
  if (p.chunk < 0) fail("ssmconv: chunk=", p.chunk, ", must be at least 1");
}

void check_poles(const StateSpace& p, std::span<const float> a) {
  if (std::ssize(a) != 2 * p.channels * p.states)
    fail("ssmconv: a has ", a.size(), " numbers, the case needs H*S*2 = ", 2 * p.channels * p.states);
  for (std::int64_t i = 0; i < p.channels * p.states; ++i) {
    const double size = std::hypot(double{a[2 * i]}, double{a[2 * i + 1]});
    if (!p.unstable && !(size <= 1 + 0x1p-23))
      fail("ssmconv: |A|=", size, " of state ", i % p.states, " of channel ", i / p.states,
           ", must be at most 1; 'unstable' in the token allows more");
    if (!std::isfinite(size))
      fail("ssmconv: A of state ", i % p.states, " of channel ", i / p.states, " is not finite");
  }
}

Operation state_operation() {
  return {"ssmconv", "state-space models: a causal convolution by a diagonal recurrence",
          [](std::string_view token) { return Case(parse_state(token)); }};
}

std::vector<Array> arrays(const StateSpace& p) {
  const Dtype of_filter = p.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  const auto samples = [&](std::string_view name, Role role) {
    return Array{name, role, p.dtype, {p.batch, p.channels, p.length}, true, "B*H*L"};
  };
  const auto state = [&](std::string_view name, Role role) {
    return Array{name, role, of_filter, {p.batch, p.channels, p.states, 2}, true, "B*H*S*2"};
  };
  std::vector<Array> list = {samples("u", Role::input), samples("y", Role::output)};
  for (std::string_view name : {"a", "b", "c"})
    list.push_back({name, Role::filter, of_filter, {p.channels, p.states, 2}, false, "H*S*2"});
  if (p.initial) list.push_back(state("x_initial", Role::input));
  if (p.final) list.push_back(state("x_final", Role::output));
  return list;
}

// Of the recurrence: a complex product and sum with a real one, and half a complex product, for each state.
double useful_flops(const StateSpace& p) {
  return 14. * p.states * static_cast<double>(p.batch) * static_cast<double>(p.channels) *
         static_cast<double>(p.length);
}

}  // namespace danaus
