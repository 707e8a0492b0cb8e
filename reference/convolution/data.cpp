#include "reference/convolution/data.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <span>
#include <string>
#include <utility>

#include "reference/half.hpp"

namespace danaus {
namespace {

// The last step of SplitMix64 (Steele et al. 2014): a bijection that leaves no visible trace of its argument.
std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Random numbers by place: value(i) needs no value before it.
class Stream {
 public:
  Stream(std::uint64_t seed, std::uint64_t number) : key_(scramble(seed + kGolden * (number + 1))) {}

  double uniform(std::int64_t index) const {  // in (0, 1)
    return (static_cast<double>(bits(index) >> 11) + 0.5) * 0x1p-53;
  }
  double gaussian(std::int64_t index) const {  // Box and Muller 1958
    return std::sqrt(-2 * std::log(uniform(2 * index))) * std::cos(2 * std::numbers::pi * uniform(2 * index + 1));
  }

 private:
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;
  std::uint64_t bits(std::int64_t index) const {
    return scramble(key_ + kGolden * (static_cast<std::uint64_t>(index) + 1));
  }
  std::uint64_t key_;
};

enum StreamNumber : std::uint64_t { kInput, kFilter, kPregate, kPostgate };

void scale_to_unit_norm(std::span<double> row) {
  double square = 0;
  for (double value : row) square += value * value;
  if (square == 0) return;
  for (double& value : row) value /= std::sqrt(square);
}

std::vector<double> make_u(const Convolution& p, const DataSpec& spec, const Stream& stream) {
  const std::int64_t rows = p.batch * p.channels;
  std::vector<double> u(rows * p.length);
  for (std::int64_t i = 0; i < std::ssize(u); ++i) {
    switch (spec.data) {
      case DataKind::gaussian: u[i] = stream.gaussian(i); break;
      case DataKind::uniform: u[i] = 2 * stream.uniform(i) - 1; break;
      case DataKind::impulse: break;
      case DataKind::constant: u[i] = 1; break;
      case DataKind::heavy_tailed: u[i] = std::pow(stream.gaussian(i), 3) / std::sqrt(15.0); break;
      case DataKind::recording: u[i] = spec.recording[i % std::ssize(spec.recording)]; break;
    }
  }
  if (spec.data == DataKind::impulse)
    for (std::int64_t row = 0; row < rows; ++row)
      u[row * p.length + static_cast<std::int64_t>(stream.uniform(row) * static_cast<double>(p.length))] = 1;
  for (double& value : u) value = round_to(p.dtype, spec.scale * value);
  return u;
}

std::vector<double> make_gate(const Convolution& p, const Stream& stream) {
  std::vector<double> gate(p.batch * p.channels * p.length);
  for (std::int64_t i = 0; i < std::ssize(gate); ++i) gate[i] = round_to(p.dtype, stream.gaussian(i));
  return gate;
}

// Kernel of a diagonal state space model as S4D-Lin sets it up: k[t] = Re sum_m C_m exp((-1/2 + i pi m) t dt), C
// Gaussian, dt log-uniform from 0.001 to 0.1.
void fill_s4d(std::span<double> row, std::int64_t channel, const Stream& stream) {
  constexpr int kModes = 16;
  const std::int64_t first = channel * (2 * kModes + 1);
  const double step = 0.001 * std::pow(100.0, stream.uniform(2 * first));
  for (int mode = 0; mode < kModes; ++mode) {
    const std::complex<double> turn = std::exp(step * std::complex<double>(-0.5, std::numbers::pi * mode));
    std::complex<double> state(stream.gaussian(first + 1 + 2 * mode), stream.gaussian(first + 2 + 2 * mode));
    for (double& value : row) {
      value += state.real();
      state *= turn;
    }
  }
}

// Hyena's implicit filter: features of the position (itself and two sinusoids), one hidden layer of sines, a linear
// layer to the channel; times a window that falls to 1 % within 0.3 (first channel) to 1.5 (last channel) filter
// lengths.
void fill_hyena(std::span<double> row, std::int64_t channel, std::int64_t channels, const Stream& stream) {
  constexpr int kFeatures = 5, kWidth = 16;
  constexpr double kSineFrequency = 10;
  std::array<std::array<double, kFeatures>, kWidth> weight;  // shared by the channels
  std::array<double, kWidth> bias, output;
  for (int i = 0; i < kWidth; ++i) {
    for (int j = 0; j < kFeatures; ++j) weight[i][j] = stream.gaussian(i * kFeatures + j) / std::sqrt(kFeatures);
    bias[i] = 2 * std::numbers::pi * stream.uniform(2 * (kWidth * kFeatures + i));
    output[i] = stream.gaussian(kWidth * (kFeatures + 1 + channel) + i);
  }
  const double across = channels == 1 ? 0 : static_cast<double>(channel) / static_cast<double>(channels - 1);
  const double decay = std::log(100.0) / std::lerp(0.3, 1.5, across);
  for (std::int64_t t = 0; t < std::ssize(row); ++t) {
    const double position = static_cast<double>(t) / static_cast<double>(row.size());
    const double angle = 2 * std::numbers::pi * position;
    const std::array<double, kFeatures> feature = {position, std::cos(angle), std::sin(angle), std::cos(2 * angle),
                                                   std::sin(2 * angle)};
    double sum = 0;
    for (int i = 0; i < kWidth; ++i) {
      double input = 0;
      for (int j = 0; j < kFeatures; ++j) input += weight[i][j] * feature[j];
      sum += output[i] * std::sin(kSineFrequency * input + bias[i]);
    }
    row[t] = sum * std::exp(-decay * position);
  }
}

std::vector<double> make_filter(const Convolution& p, const DataSpec& spec, const Stream& stream) {
  std::vector<double> k(p.channels * p.filter_length);
  const std::int64_t counting = p.mode == Mode::causal ? std::min(p.filter_length, p.length) : p.filter_length;
  for (std::int64_t channel = 0; channel < p.channels; ++channel) {
    const std::int64_t first = channel * p.filter_length;
    const std::span<double> row(&k[first], p.filter_length);
    switch (spec.filter) {
      case FilterKind::random:
        for (std::int64_t t = 0; t < p.filter_length; ++t)
          row[t] = stream.gaussian(first + t) / std::sqrt(static_cast<double>(counting));
        break;
      case FilterKind::s4d:
        fill_s4d(row, channel, stream);
        scale_to_unit_norm(row);
        break;
      case FilterKind::hyena:
        fill_hyena(row, channel, p.channels, stream);
        scale_to_unit_norm(row);
        break;
      case FilterKind::last_tap: row[std::min(p.filter_length, p.length) - 1] = 1; break;
    }
  }
  for (double& value : k) value = round_to(filter_dtype(p), value);
  return k;
}

}  // namespace

std::string_view name(DataKind kind) { return name_in(kDataKinds, kind); }
std::string_view name(FilterKind kind) { return name_in(kFilterKinds, kind); }

std::uint64_t data_seed(const Convolution& problem, const DataSpec& spec) {
  std::string text = token(problem);
  text.append(" ").append(name(spec.data)).append(" ").append(name(spec.filter)).append(" ");
  text += std::to_string(spec.seed);
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (unsigned char letter : text) hash = (hash ^ letter) * 0x100000001b3u;
  return hash;
}

Inputs make_inputs(const Convolution& problem, const DataSpec& spec) {
  validate(problem);
  if (spec.data == DataKind::recording && spec.recording.empty())
    fail("make_inputs: data kind recording with 0 samples, needs at least 1");
  const std::uint64_t seed = data_seed(problem, spec);
  Inputs inputs;
  inputs.u = make_u(problem, spec, Stream(seed, kInput));
  inputs.k = make_filter(problem, spec, Stream(seed, kFilter));
  if (problem.pregate) inputs.pregate = make_gate(problem, Stream(seed, kPregate));
  if (problem.postgate) inputs.postgate = make_gate(problem, Stream(seed, kPostgate));
  return inputs;
}

void check_inputs(const Convolution& p, const Inputs& inputs) {
  const auto check = [](std::string_view what, const std::vector<double>& array, std::int64_t expected) {
    if (std::ssize(array) != expected) fail("fftconv: ", what, " has ", array.size(), " samples, must have ", expected);
  };
  const std::int64_t samples = p.batch * p.channels * p.length;
  check("u", inputs.u, samples);
  check("k", inputs.k, p.channels * p.filter_length);
  check("pregate", inputs.pregate, p.pregate ? samples : 0);
  check("postgate", inputs.postgate, p.postgate ? samples : 0);
}

}  // namespace danaus
