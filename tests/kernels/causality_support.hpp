// What a change of some inputs may change of a case's outputs: causality, and independence of rows and channels.
#pragma once

#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "kernels/plan/decode.hpp"
#include "kernels/plan/promise.hpp"
#include "reference/convolution/rounding.hpp"
#include "reference/short_backward/short_backward.hpp"
#include "reference/state/state.hpp"
#include "reference/step/step.hpp"
#include "tests/kernels/fields.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {

// Null for other operations.
inline const ShortConvolution* short_of(const Case& asked) {
  if (const auto* p = asked.as<ShortConvolution>()) return p;
  const auto* backward = asked.as<ShortBackward>();
  return backward ? &backward->forward : nullptr;
}

// What an output keeps that a change does not reach: its bits, or its value but for the errors of both results.
enum class Kept { bits, value };

// docs/causality.md has the same table. In every family other channels keep their bits, and so do other rows but those
// that share a transform.
struct Property {
  Kept unreached;
  Spread spread;
  std::int64_t more = 0;  // samples beyond its reach, away from its cause, in which NaN may show
  int shared_rows = 1;    // as a Promise has them
};

inline Property property_of(const Variant& v, const Case& asked) {
  const Spread spread = spread_of(v);
  const Promise promise = promise_of(asked, v, Device());
  const bool keeps_bits = spread == Spread::reach || v.family == "layer";
  return {keeps_bits ? Kept::bits : Kept::value, spread, spread == Spread::reach ? promise.nonfinite_reach : 0,
          promise.shared_rows};
}

// Outputs n - earlier to n + later have a tap on sample n.
struct Reach {
  std::int64_t earlier, later;
};

inline constexpr std::int64_t kAnySample = std::int64_t{1} << 40;

// Gradients of a convolution's inputs are sums over what comes after them.
inline bool is_before_its_cause(std::string_view output) { return output == "du" || output == "dpregate"; }

inline Reach reach_of(const Case& asked, std::string_view output) {
  Reach forward = {kAnySample, kAnySample};
  if (const Convolution* p = convolution_of(asked)) {
    if (p->mode == Mode::causal) forward = {0, p->filter_length - 1};
  } else if (asked.as<StateSpace>()) {
    forward = {0, kAnySample};
  } else if (const ShortConvolution* p = short_of(asked)) {
    forward = {ahead(*p), p->taps - 1 - ahead(*p)};
  }
  return is_before_its_cause(output) ? Reach{forward.later, forward.earlier} : forward;
}

// Of an element of an array; -1 what the array does not have. The channels of layers are mixed, and none here.
struct Place {
  std::int64_t row = -1, channel = -1, n = -1;
};
inline Place place_of(const Array& array, std::int64_t index) {
  Place place;
  std::string_view names = array.shape;
  for (auto extent = array.extents.rbegin(); extent != array.extents.rend(); ++extent) {
    const std::size_t begin = names.rfind('*') + 1;  // 0 where there is no more
    const std::string_view name = names.substr(begin);
    if (name == "B") place.row = index % *extent;
    if (name == "H") place.channel = index % *extent;
    if (name == "L" || name == "X") place.n = index % *extent;
    index /= *extent;
    names = names.substr(0, std::max<std::size_t>(begin, 1) - 1);
  }
  return place;
}

// Rows of a batch; those of pieces share one with the rows beside them alone.
inline bool share_a_transform(std::int64_t a, std::int64_t b, int shared_rows) {
  return shared_rows == 0 ? std::abs(a - b) <= 1 : a / shared_rows == b / shared_rows;
}

// Inputs that become others: samples `first` to `last` of one row and channel, or of all.
struct Change {
  std::int64_t first = 0, last = kAnySample;
  std::int64_t row = -1, channel = -1;
  std::optional<double> value = {};  // else random and 64 times as large
  bool is_finite() const { return !value || std::isfinite(*value); }

  bool is_of(const Place& at) const {
    return (row < 0 || at.row < 0 || row == at.row) && (channel < 0 || at.channel < 0 || channel == at.channel);
  }
  bool is_at(const Place& at) const {
    return is_of(at) && (at.n < 0 ? first == 0 && last == kAnySample : first <= at.n && at.n <= last);
  }
  bool reaches(const Place& at, const Reach& reach) const {
    return is_of(at) && (at.n < 0 || (first - reach.earlier <= at.n && at.n <= last + reach.later));
  }
  // Beside it, in rows that the change may cross to.
  bool is_beside(Place at, int shared_rows) const {
    if (row < 0 || at.row < 0 || row == at.row || !share_a_transform(row, at.row, shared_rows)) return false;
    at.row = row;
    return is_of(at);
  }
  friend std::ostream& operator<<(std::ostream& out, const Change& c) {
    out << "samples " << c.first << " to " << c.last;
    if (c.row >= 0) out << " of row " << c.row;
    if (c.channel >= 0) out << " of channel " << c.channel;
    return c.value ? out << " are " << *c.value : out << " are others";
  }
};

inline Values changed(const Case& asked, Values values, const Change& change) {
  const Values others = make_values(asked, 1);
  for (const Array& array : asked.arrays()) {
    if (array.role != Role::input) continue;
    std::vector<double>& of = values.find(array.name)->second;
    for (std::int64_t i = 0; i < array.size(); ++i)
      if (change.is_at(place_of(array, i))) of[i] = change.value.value_or(64 * others.find(array.name)->second[i]);
  }
  return values;
}

// |u| |k| of a row of y or du, times the largest number of the gate behind it: errors are relative to that.
inline double summed_of(const Values& values, std::string_view output, const Place& at, const Convolution& p) {
  const bool of_y = output == "y";
  const auto gate = [&](std::string_view name) -> const std::vector<double>* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : &found->second;
  };
  const auto *before = gate(of_y ? "pregate" : "postgate"), *behind = gate(of_y ? "postgate" : "pregate");
  const std::vector<double>&samples = values.find(of_y ? "u" : "dy")->second, &k = values.find("k")->second;
  double of_samples = 0, of_taps = 0, most = behind ? 0 : 1;
  for (std::int64_t i = (at.row * p.channels + at.channel) * p.length, end = i + p.length; i < end; ++i) {
    of_samples += std::pow(samples[i] * (before ? (*before)[i] : 1), 2);
    if (behind) most = std::max(most, std::abs((*behind)[i]));
  }
  for (std::int64_t m = 0; m < p.filter_length; ++m) of_taps += std::pow(k[at.channel * p.filter_length + m], 2);
  return std::sqrt(of_samples * of_taps) * most;
}

using Execute = std::function<Values(const Values&)>;  // of a plan: outputs for these inputs and filters

// Executes a case again and again with others of its inputs, and compares.
class Properties {
 public:
  // `name` and `roundings` are of the kernel, `scale` of the inputs.
  Properties(const Case& asked, const Property& promise, std::string name, int roundings, Execute execute,
             double scale = 1)
      : asked_(asked),
        promise_(promise),
        name_(std::move(name)),
        roundings_(roundings),
        execute_(std::move(execute)),
        values_(make_values(asked)) {
    for (const Array& array : asked_.arrays()) {
      for (std::int64_t i = 0; i < array.size(); ++i) channels_ = std::max(channels_, place_of(array, i).channel + 1);
      if (array.role == Role::input)
        for (double& x : values_.find(array.name)->second) x *= scale;
    }
    outputs_ = execute_(values_);
  }

  // Changes samples before and after `at`, and one row and channel. `few`: two changes alone, of cases that take long.
  void expect_all(std::int64_t at, bool few = false) const {
    const std::int64_t row = 1, channel = channels_ > 1 ? 1 : 0;
    expect({.first = at, .last = at, .row = row, .channel = channel, .value = NAN});
    if (reach_of(asked_, "y").earlier < kAnySample) expect({.first = at});
    if (few) return;
    if (reach_of(asked_, "y").later < kAnySample) expect({.last = at});
    expect({.row = row, .channel = channel});
    expect({.first = at + 5, .last = at + 5, .row = row, .channel = channel, .value = INFINITY});
  }

  void expect(const Change& change) const {
    SCOPED_TRACE(testing::Message() << asked_.token() << ", " << name_ << ": " << change);
    const Values values = changed(asked_, values_, change), outputs = execute_(values);
    for (const Array& array : asked_.arrays())
      if (array.role == Role::output) compare(array, change, values, outputs.find(array.name)->second);
  }

 private:
  static bool same(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
  }

  void compare(const Array& array, const Change& change, const Values& values, const std::vector<double>& now) const {
    const std::vector<double>& before = outputs_.find(array.name)->second;
    const Reach reach = reach_of(asked_, array.name);
    std::map<std::pair<std::int64_t, std::int64_t>, double> errors;  // squared, of rows and channels that keep a value
    std::int64_t different = 0, reached = 0, spoiled = 0;
    Place first;
    for (std::int64_t i = 0; i < array.size(); ++i) {
      const Place at = place_of(array, i);
      const bool is_beside = change.is_beside(at, promise_.shared_rows);
      if (change.reaches(at, reach))
        ++reached, spoiled += change.is_finite() ? !same(now[i], before[i]) : !std::isfinite(now[i]);
      if (change.reaches(at, change.is_finite() ? reach : spread(array.name))) continue;
      if (is_beside || (promise_.unreached == Kept::value && change.is_of(at))) {
        errors[{at.row, at.channel}] += std::pow(now[i] - before[i], 2);
      } else if (!same(now[i], before[i]) && ++different == 1) {
        first = at;
      }
    }
    EXPECT_EQ(different, 0) << "elements of " << array.name << " are others, the first in row " << first.row
                            << ", channel " << first.channel << ", sample " << first.n;
    EXPECT_GT(spoiled, 0) << "nothing of " << array.name << " shows the change";
    if (!change.is_finite() && promise_.spread == Spread::reach && array.name == "y") {
      EXPECT_EQ(spoiled, reached) << "elements of " << array.name << " show it, of those that a tap reaches";
    }
    for (const auto& [of, square] : errors) expect_small(array.name, Place{of.first, of.second}, values, square);
  }

  // Where what is not finite may show, of its row and channel.
  Reach spread(std::string_view output) const {
    Reach reach = reach_of(asked_, output);
    if (promise_.spread > Spread::reach) return {kAnySample, kAnySample};
    (is_before_its_cause(output) ? reach.earlier : reach.later) += promise_.more;
    return reach;
  }

  // By the bounds of both results.
  void expect_small(std::string_view output, const Place& of, const Values& values, double square) const {
    const Convolution* p = convolution_of(asked_);
    ASSERT_TRUE(p) << output << " keeps no bits, and has no bound";
    double summed = 0;
    for (const Values* inputs : {&values_, &values}) summed += summed_of(*inputs, output, of, *p);
    EXPECT_LE(std::sqrt(square), bound_l2_of_kernel(*p, roundings_) * summed)
        << output << " of row " << of.row << ", channel " << of.channel;
  }

  const Case asked_;
  const Property promise_;
  const std::string name_;
  const int roundings_;
  const Execute execute_;
  std::int64_t channels_ = 1;
  Values values_, outputs_;
};

// Cases of families, beside those that cases_of() finds.
struct CausalityCase {
  std::string_view family;
  const char* token;
  bool few = false;
};
inline constexpr CausalityCase kCausalityCases[] = {
    {"toeplitz", "shortconv_bf16_causal_k5_l300_b3_h2"},
    {"toeplitz", "shortconv_f16_causal_k16_l700_b3_h2_bias"},
    {"toeplitz", "shortconv_f16_same_k33_l700_b3_h2_bias"},
    {"toeplitz", "shortconv_bf16_causal_k64_l600_b3_h3"},
    {"toeplitz", "shortconv_f16_causal_k129_l900_b3_h2_postgate"},
    {"toeplitz", "shortconv_bf16_causal_k256_l1500_b3_h2_pregate"},
    {"toeplitz", "shortconv_f16_causal_k256_l4096_b2_h2"},
    {"toeplitz", "shortconv_f16_same_k20_l300_b3_h9_channelslast"},
    {"toeplitz", "shortconv_bf16_causal_k64_l300_b3_h8_channelslast"},
    {"toeplitz", "shortconv_f16_causal_k100_l300_b3_h8_pregate_channelslast"},
    {"toeplitz", "shortconv_bf16_causal_k200_l600_b2_h8_channelslast"},
    {"direct", "shortconv_bf16_causal_k4_l300_b3_h2_bias"},
    {"direct", "shortconv_f16_causal_k3_l300_b3_h2_pregate_postgate"},
    {"direct", "shortconv_f16_causal_k3_l300_b3_h9_channelslast"},
    {"direct", "shortconv_bf16_causal_k8_l300_b3_h8_postgate_channelslast"},
    {"direct", "shortconv_bf16_same_k11_l300_b3_h8_channelslast"},
    {"direct", "shortconvgrad_bf16_causal_k3_l300_b3_h2_bias"},
    {"direct", "shortconvgrad_f16_causal_k6_l300_b3_h2"},
    {"direct", "shortconvgrad_f16_causal_k3_l300_b3_h9_bias_channelslast"},
    {"direct", "shortconvgrad_bf16_same_k5_l300_b3_h8_channelslast"},
    {"short_filter", "shortconv_bf16_causal_k20_l300_b3_h2"},
    {"short_gradient", "shortconvgrad_bf16_causal_k64_l600_b3_h2_bias"},
    {"short_gradient", "shortconvgrad_f16_same_k16_l300_b3_h2"},
    {"short_gradient", "shortconvgrad_f16_causal_k20_l300_b3_h9_bias_pregate_postgate_channelslast"},
    {"short_gradient", "shortconvgrad_bf16_causal_k256_l700_b2_h8_channelslast"},
    {"state", "ssmconv_f16_s10_l300_b3_h2_initial_final"},
    {"state", "ssmconv_bf16_s1_l2100_b3_h2"},
    {"state", "ssmconv_f16_s64_l300_b50_h2_final"},
    {"state", "ssmconv_bf16_s64_l248_b64_h2"},
    {"state", "ssmconv_f16_s200_l152_b3_h2"},
    {"state", "ssmconv_f16_s4_l20_b3_h2"},
    {"layer", "spectral_f32_tf32_complex_b20_c16x20_l32_m8_shared"},
    {"layer", "spectral_f16_complex_b3_c16x5_l64_m64_shared"},
    {"layer", "spectral_f32_tf32_complex_b3_c4x4_l16x16_m4x4_shared"},
    {"layer_gradient", "spectralgrad_f32_tf32_complex_b3_c4x4_l32_m8"},
    {"chain", "fftconv_bf16_causal_l300_b3_h2_pregate_postgate"},
    {"exchange", "fftconv_f16_causal_l4000_k100_b3_h2"},
    {"pieces", "fftconv_f16_causal_l3000_k100_b3_h2_n512"},
    {"pieces", "fftconv_bf16_causal_l2700_k100_b3_h2_n512"},
    {"outer", "fftconv_f16_causal_l49000_b2_h1", true},
    {"spectrum", "fftconv_f16_causal_l300_k20_b3_h2"},
    {"mask", "fftconv_f16_circular_l49152_b2_h1_keep0to63", true},
    {"cluster", "fftconv_f16_circular_l65536_b2_h1", true},
    {"cluster", "fftconv_bf16_causal_l65536_b2_h1", true},
    {"chain_gradient", "fftconvgrad_bf16_causal_l300_b3_h2"},
    {"chain_gradient", "fftconvgrad_f16_circular_l256_b3_h2"},
    {"exchange_gradient", "fftconvgrad_f16_causal_l1000_b3_h2"},
    {"taps", "fftconvstep_bf16_circular_l512_b3_h2"},
    {"rescaled", "fftconv_f16_causal_l49000_b2_h1", true},
    {"rescaled", "fftconvgrad_f16_circular_l256_b3_h2_pregate_postgate"},
};

struct TestedCase {
  Case asked;
  bool few;
};

// Of a family: the smallest convolution of each type and fold that it is preferred for, and those above.
inline std::vector<TestedCase> cases_of(std::string_view family) {
  std::vector<TestedCase> cases;
  std::set<std::pair<Dtype, Fold>> kinds;
  for (const auto& v : variants())
    if (v->family == family && v->preferred && v->compiled && v->suits(0) && !v->gated && v->size > 0 &&
        kinds.emplace(v->dtype, v->fold).second)
      cases.push_back({problem_for(*v, 3, 2, v->size), false});
  for (const CausalityCase& of : kCausalityCases)
    if (of.family == family) cases.push_back({parse_case(of.token), of.few});
  return cases;
}

// A sample somewhere in a row.
inline std::int64_t middle_of(const Case& asked) {
  const Array u = asked.arrays().front();
  return place_of(u, u.size() - 1).n / 3;
}

// Of causal cases without FFT: the largest number of the type behind the middle of rows of small ones. Nothing of it
// may be left of a product with zero, not even in how far tensor cores shift the others.
inline std::optional<Change> largest_behind(const Case& asked) {
  if (convolution_of(asked) || reach_of(asked, "y").earlier != 0) return std::nullopt;
  const double largest = asked.arrays().front().dtype == Dtype::f16 ? 65504 : 0x1.fep127;
  return Change{.first = middle_of(asked), .value = largest};
}
inline constexpr double kSmall = 0x1p-10;

// Decodes sample by sample on a machine. No y may depend on a later sample, or on another row or channel. The function
// `next` takes one sample of each row and returns one of y.
template <class Next>
void expect_causal_decoding(const std::shared_ptr<const Machine>& machine, Next next) {
  const Convolution p = parse_convolution("fftconv_f16_causal_l150_k40_b3_h2");
  const auto execute = [&](const Values& values) {
    Decoding decoding(p, machine);
    const std::vector<double>&u = values.at("u"), &k = values.at("k");
    decoding.set_filter(std::vector<float>(k.begin(), k.end()));
    decoding.prefill(nullptr, nullptr, 0);
    std::vector<double> y(u.size());
    const std::int64_t rows = p.batch * p.channels;
    for (std::int64_t n = 0; n < p.length; ++n) {
      std::vector<double> now;
      for (std::int64_t row = 0; row < rows; ++row) now.push_back(u[row * p.length + n]);
      const std::vector<double> of = next(decoding, p.dtype, now);
      for (std::int64_t row = 0; row < rows; ++row) y[row * p.length + n] = of[row];
    }
    return Values{{"y", y}};
  };
  // NaN stays in the tiles that a position adds to, which may be longer than the filter.
  const Properties properties(p, {Kept::bits, Spread::reach, 150}, "decoding", Decoding(p, machine).roundings(),
                              execute);
  properties.expect({.first = 50});
  properties.expect({.row = 1, .channel = 1});
  for (double value : {NAN, INFINITY})
    properties.expect({.first = 50, .last = 50, .row = 1, .channel = 1, .value = value});
}

}  // namespace danaus
