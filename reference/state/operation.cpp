#include <array>
#include <cmath>

#include "reference/state/state.hpp"
#include "reference/token.hpp"

namespace danaus {
namespace {

constexpr std::int64_t kMostSamples = std::int64_t{1} << 46;
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

StateSpace parse_state(std::string_view token) {
  if (operation_word(token) != "ssmconv")
    fail("token '", token, "': a convolution by a state-space model begins with 'ssmconv'");
  TokenFields fields(token);
  StateSpace p;
  const auto dtype = fields.take_one_of(kDtypes, "dtype");
  p.initial = fields.take_word("initial"), p.final = fields.take_word("final");
  p.unstable = fields.take_word("unstable");
  const auto states = fields.take_number("s"), length = fields.take_number("l"), batch = fields.take_number("b");
  const auto channels = fields.take_number("h"), chunk = fields.take_number("t");
  fields.finish("f16|bf16|f32|f64, s, l, b, h, t, initial, final, unstable");
  p.dtype = fields.required(dtype, "dtype"), p.length = fields.required(length, "l");
  p.batch = fields.required(batch, "b"), p.channels = fields.required(channels, "h");
  check_size("S", fields.required(states, "s"), kMostStates);
  p.states = static_cast<int>(*states);
  if (chunk) {
    check_size("chunk", *chunk, 1 << 20);
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
  return {"ssmconv", "causal convolution by a diagonal state-space model: initial state in, final state out",
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
