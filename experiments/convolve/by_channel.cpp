#include "experiments/convolve/by_channel.hpp"

#include <algorithm>
#include <span>

#include "experiments/cli/interrupt.hpp"
#include "experiments/cli/progress.hpp"

namespace danaus {
namespace {

void stop_if_interrupted() {
  if (interrupt_requested()) throw Interrupted("convolve: interrupted, nothing was written");
}

// The direct sum of a row x [L] without gates: each piece of the filter on its own, moved to where it begins.
std::vector<double> direct_sum(Mode mode, std::span<const double> x, std::span<const double> k) {
  constexpr std::int64_t kMultiplications = 100'000'000;  // in a piece: a fraction of a second
  const std::int64_t length = std::ssize(x), taps = std::ssize(k);
  const std::int64_t step = std::max<std::int64_t>(1, kMultiplications / length);
  std::vector<double> y(x.size());
  for (std::int64_t begin = 0; begin < taps; begin += step) {
    if (mode == Mode::causal && begin >= length) break;  // this far back there is no sample
    stop_if_interrupted();
    Convolution piece;
    piece.dtype = Dtype::f64;
    piece.mode = mode;
    piece.length = mode == Mode::causal ? length - begin : length;
    piece.filter_length = std::min(step, taps - begin);
    const auto samples = x.first(static_cast<std::size_t>(piece.length));
    const auto filter = k.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(piece.filter_length));
    const std::vector<double> sums =
        convolve(piece, {{samples.begin(), samples.end()}, {filter.begin(), filter.end()}, {}, {}}, Algorithm::direct);
    for (std::int64_t n = 0; n < piece.length; ++n) y[(n + begin) % length] += sums[n];
  }
  return y;
}

// y [B, L] of one channel, with gates.
std::vector<double> direct_channel(const Convolution& one, const Inputs& inputs) {
  std::vector<double> x = inputs.u, y;
  if (one.pregate) std::transform(x.begin(), x.end(), inputs.pregate.begin(), x.begin(), std::multiplies<>());
  for (std::int64_t b = 0; b < one.batch; ++b) {
    const auto row = std::span(x).subspan(b * one.length, one.length);
    const std::vector<double> sums = direct_sum(one.mode, row, inputs.k);
    y.insert(y.end(), sums.begin(), sums.end());
  }
  if (one.postgate) std::transform(y.begin(), y.end(), inputs.postgate.begin(), y.begin(), std::multiplies<>());
  return y;
}

}  // namespace

std::vector<double> convolve_by_channel(const Convolution& problem, const Inputs& inputs, Algorithm method,
                                        Console& console) {
  std::vector<double> y(inputs.u.size());
  Convolution one = problem;
  one.channels = 1;
  Progress progress(console, static_cast<std::size_t>(problem.channels));
  for (std::int64_t channel = 0; channel < problem.channels; ++channel) {
    progress.show(static_cast<std::size_t>(channel), "channels");
    const auto row = [&](std::int64_t batch) { return (batch * problem.channels + channel) * problem.length; };
    const auto pick = [&](const std::vector<double>& all) {
      std::vector<double> rows;
      for (std::int64_t b = 0; b < problem.batch && !all.empty(); ++b)
        rows.insert(rows.end(), all.begin() + row(b), all.begin() + row(b) + problem.length);
      return rows;
    };
    const auto filter = inputs.k.begin() + channel * problem.filter_length;
    const Inputs of_channel{
        pick(inputs.u), {filter, filter + problem.filter_length}, pick(inputs.pregate), pick(inputs.postgate)};
    const std::vector<double> rows = method == Algorithm::direct && problem.mask.empty()
                                         ? direct_channel(one, of_channel)
                                         : convolve(one, of_channel, method);
    for (std::int64_t b = 0; b < problem.batch; ++b)
      std::copy_n(rows.begin() + b * problem.length, problem.length, y.begin() + row(b));
    stop_if_interrupted();
  }
  return y;
}

}  // namespace danaus
