#include "experiments/fields/fields.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <span>

#include "experiments/io/signal_file.hpp"
#include "experiments/methods/execution.hpp"
#include "experiments/timing/noise.hpp"
#include "kernels/cpu/machine.hpp"
#include "reference/compare.hpp"
#include "reference/overflow.hpp"
#include "reference/truth.hpp"

namespace danaus {
namespace {

using Wave = std::complex<double>;

constexpr double kTurn = 2 * std::numbers::pi;
constexpr std::uint64_t kSeed = 22;

double rounded(double value, double steps) { return std::round(value * steps) / steps; }

// A sum of waves of random amplitudes, (|k|^2 + tau^2)^(-alpha/2) of each wave, with the root of the mean square 1: the
// random fields of Li et al. (2021), of which theirs are forces and permeabilities.
Field random_field() {
  constexpr int kPoints = 64;
  constexpr double kTau = 3, kAlpha = 3.5;
  Field field{"random", "a smooth random field", "", {kPoints, kPoints}, std::vector<double>(kPoints * kPoints)};
  double cosine[kPoints];
  for (int i = 0; i < kPoints; ++i) cosine[i] = std::cos(kTurn * i / kPoints);
  const std::uint64_t key = noise_key(kSeed, 0);
  std::int64_t drawn = 0;
  for (int kx = 1 - kPoints / 2; kx < kPoints / 2; ++kx)
    for (int ky = 0; ky < kPoints / 2; ++ky) {
      const double size = std::pow(kx * kx + ky * ky + kTau * kTau, -kAlpha / 2);
      const double even = size * noise(key, drawn), odd = size * noise(key, drawn + 1);
      drawn += 2;
      if (ky == 0 && kx <= 0) continue;  // the mean, and what is the mirror image of another
      for (int x = 0; x < kPoints; ++x)
        for (int y = 0; y < kPoints; ++y) {
          const int at = ((kx * x + ky * y) % kPoints + kPoints) % kPoints;
          field.samples[x * kPoints + y] +=
              even * cosine[at] + odd * cosine[(at + 3 * kPoints / 4) % kPoints];  // the latter a sine
        }
    }
  double squares = 0;
  for (double value : field.samples) squares += value * value;
  for (double& value : field.samples) value /= std::sqrt(squares / (kPoints * kPoints));
  return field;
}

// A solution of Burgers' equation u_t + u u_x = nu u_xx by the formula of Hopf and Cole, a quotient of positive sums:
// from a few waves, at a time when their slopes have become fronts as steep as the viscosity lets them.
Field burgers_signal() {
  constexpr int kPoints = 1024, kFiner = 2, kWaves = 4;
  constexpr double kViscosity = 0.01, kTime = 1;
  constexpr int kSources = kPoints * kFiner;  // of a period
  const std::uint64_t key = noise_key(kSeed, 1);
  std::vector<double> potential(kSources);  // its derivative is u at time 0
  for (int wave = 1; wave <= kWaves; ++wave) {
    const double even = noise(key, 2 * wave) / wave, odd = noise(key, 2 * wave + 1) / wave;
    for (int i = 0; i < kSources; ++i) {
      const double angle = kTurn * wave * i / kSources;
      potential[i] += (even * std::sin(angle) - odd * std::cos(angle)) / wave;
    }
  }
  Field field{"burgers", "a solution of Burgers' equation", "", {kPoints}, {}};
  for (int n = 0; n < kPoints; ++n) {
    const auto exponent = [&](int i) {  // of the source i steps from here
      const double way = kTurn * i / kSources;
      const int at = ((kFiner * n + i) % kSources + kSources) % kSources;
      return (potential[at] + way * way / (2 * kTime)) / (2 * kViscosity);
    };
    double least = std::numeric_limits<double>::infinity(), sum = 0, moments = 0;
    for (int i = -kSources; i <= kSources; ++i) least = std::min(least, exponent(i));
    for (int i = -kSources; i <= kSources; ++i) {
      const double weight = std::exp(least - exponent(i));
      sum += weight, moments -= weight * kTurn * i / kSources / kTime;
    }
    field.samples.push_back(moments / sum);
  }
  return field;
}

// Along an axis of `lines` x `points` x `stride` numbers.
std::vector<Wave> transformed(const std::vector<Wave>& from, int lines, int points, int stride) {
  std::vector<Wave> roots(points), to(from.size());
  for (int i = 0; i < points; ++i) roots[i] = std::polar(1., -kTurn * i / points);
  for (int line = 0; line < lines; ++line)
    for (int k = 0; k < points; ++k)
      for (int n = 0; n < points; ++n)
        for (int s = 0; s < stride; ++s)
          to[(line * points + k) * stride + s] +=
              roots[std::int64_t{k} * n % points] * from[(line * points + n) * stride + s];
  return to;
}

// Modes to be tried: powers of two, and all.
std::vector<int> modes_of(const Field& field) {
  const int all = std::ranges::min(field.lengths) / 2 + (field.lengths.size() == 1 ? 1 : 0);  // of two axes two-sided
  std::vector<int> modes;
  for (int m = 2; 2 * m <= all; m *= 2) modes.push_back(m);
  modes.push_back(all);
  return modes;
}

std::int64_t all_frequencies(const Field& field) {
  std::int64_t all = field.lengths.back() / 2 + 1;
  for (std::size_t axis = 0; axis + 1 < field.lengths.size(); ++axis) all *= field.lengths[axis];
  return all;
}

// Relative to the field: of what is kept next to nothing may be left.
double kernel_error(const Field& field, std::span<const double> kept, std::span<const double> computed) {
  std::vector<double> off = field.samples;
  for (std::size_t i = 0; i < off.size(); ++i) off[i] += computed[i] - kept[i];
  return compare(field.samples, off).rel_l2;
}

Json truncation(const Field& field, int modes) {
  const Spectral layer = truncating_layer(field, modes);
  const Case asked(layer);
  const Values values = {{"u", field.samples}, {"w", {1, 0}}};
  const std::vector<double> kept = truth(asked, values).at("y");
  Json result = Json::array();
  for (double value : kept) result.push_back(rounded(value, 1e4));
  Json row = {{"case", asked.token()},
              {"modes", modes},
              {"kept", kept_count(layer)},
              {"share", static_cast<double>(kept_count(layer)) / static_cast<double>(all_frequencies(field))},
              {"lost", compare(field.samples, kept).rel_l2},
              {"kernel_error", nullptr},
              {"result", result}};
  if (const auto machine = executor_machine(); has_plan(asked, machine))
    row["kernel_error"] = kernel_error(field, kept, execute(asked, values, machine).outputs.at("y"));
  return row;
}

void round_as_layers_do(Field& field) {
  for (double& value : field.samples) value = round_to(Dtype::f32, value);
}

}  // namespace

std::vector<Field> example_fields() {
  std::vector<Field> fields = {random_field(), burgers_signal()};
  for (Field& field : fields) round_as_layers_do(field);
  return fields;
}

Field read_field(const std::string& path, std::ostream& notices) {
  constexpr int kFewest = 16, kMost = 1024;  // of an axis of a layer
  const Signal signal = read_finite_signal("fields: field", path, notices);
  if (signal.shape.size() > 2)
    fail("fields: field ", path, " has ", signal.shape.size(), " axes, must be [X] or [X, Y]");
  for (std::int64_t points : signal.shape)
    if (points < kFewest || points > kMost)
      fail("fields: field ", path, " has an axis of ", points, ", must be from ", kFewest, " to ", kMost);
  Field field{path, "a field of your own", digest_of(signal.values), {}, signal.values};
  field.lengths.assign(signal.shape.begin(), signal.shape.end());
  if (const std::int64_t count = overflow_count(Dtype::f32, field.samples); count > 0)
    fail("fields: field ", path, " has ", count, " values beyond fp32, which layers compute in; divide it");
  round_as_layers_do(field);
  if (std::ranges::all_of(field.samples, [](double value) { return value == 0; }))
    fail("fields: field ", path, " is zero everywhere in fp32, must have a value to be relative to");
  return field;
}

std::vector<double> spectrum_db(const Field& field) {
  std::vector<Wave> values(field.samples.begin(), field.samples.end());
  const int last = field.lengths.back(), first = static_cast<int>(std::ssize(values)) / last;
  values = transformed(values, first, last, 1);
  if (first > 1) values = transformed(values, 1, first, last);
  double most = 0;
  for (const Wave& value : values) most = std::max(most, std::norm(value));
  std::vector<double> decibels;
  for (int x = 0; x < first; ++x)
    for (int y = 0; y <= last / 2; ++y)
      decibels.push_back(rounded(10 * std::log10(std::max(std::norm(values[x * last + y]) / most, 1e-30)), 10));
  return decibels;
}

Spectral truncating_layer(const Field& field, int modes) {
  Spectral layer;
  layer.tf32 = true, layer.shared = true, layer.two_sided = field.lengths.size() > 1;
  layer.lengths = field.lengths, layer.modes.assign(field.lengths.size(), modes);
  validate(layer);
  return layer;
}

Json describe(const Field& field) {
  Json asked = {{"field", field.name}};
  if (!field.digest.empty()) asked["digest"] = field.digest;
  return asked;
}

Json truncated(const Field& field) {
  Json samples = Json::array(), truncations = Json::array();
  for (double value : field.samples) samples.push_back(rounded(value, 1e4));
  for (int modes : modes_of(field)) truncations.push_back(truncation(field, modes));
  return {{"what", field.what},
          {"lengths", field.lengths},
          {"samples", samples},
          {"spectrum_db", spectrum_db(field)},
          {"truncations", truncations}};
}

}  // namespace danaus
