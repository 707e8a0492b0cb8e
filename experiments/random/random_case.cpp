#include "experiments/random/random_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <span>

#include "experiments/verify/execution.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/plan.hpp"
#include "kernels/plan/promise.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/half.hpp"
#include "reference/row_terms.hpp"
#include "reference/short_backward/short_backward.hpp"
#include "reference/spectral_gradient/spectral_gradient.hpp"
#include "reference/state/state.hpp"
#include "reference/step/step.hpp"
#include "reference/token.hpp"

namespace danaus {
namespace {

// How far cases go.
struct Domain {
  bool wide;
  std::int64_t longest = wide ? std::int64_t{1} << 19 : 32768;  // rows of convolutions
  std::int64_t samples = std::int64_t{1} << (wide ? 20 : 17);
  std::int64_t products = std::int64_t{1} << (wide ? 24 : 21);  // of taps, or steps of states
};

class Draw {
 public:
  Draw(std::uint64_t seed, const Domain& of) : domain(of), random_(seed) {}
  const Domain domain;
  std::int64_t from(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  // As many small ones as large ones.
  std::int64_t of_any_scale(std::int64_t most) {
    const double bits = std::log2(static_cast<double>(most)) * static_cast<double>(random_() >> 11) * 0x1p-53;
    return std::clamp<std::int64_t>(std::llround(std::exp2(bits)), 1, most);
  }
  // One end of 1 to `most`, or both, and as often what is between: evenly, or of any scale.
  std::int64_t with_ends(std::int64_t most) {
    switch (from(0, 5)) {
      case 0: return 1;
      case 1: return most;
      case 2: return std::max<std::int64_t>(most - from(0, 9), 1);
      case 3: return from(1, most);
      default: return of_any_scale(most);
    }
  }
  template <class T>
  T one_of(std::initializer_list<T> options) {
    return options.begin()[from(0, std::ssize(options) - 1)];
  }

 private:
  std::mt19937_64 random_;
};

// Of the kernels, each once.
const std::vector<int>& fft_sizes() {
  static const std::vector<int> kSizes = [] {
    std::set<int> sizes;
    for (const auto& v : variants())
      if (v->size > 0) sizes.insert(v->size);
    return std::vector<int>(sizes.begin(), sizes.end());
  }();
  return kSizes;
}

std::int64_t length_from(Draw& draw) {
  switch (draw.from(0, 3)) {
    case 0:
      return std::clamp<std::int64_t>(fft_sizes()[draw.from(0, std::ssize(fft_sizes()) - 1)] + draw.from(-9, 9), 1,
                                      draw.domain.longest);
    case 1: return std::min(draw.domain.longest, 8 * draw.of_any_scale(draw.domain.longest / 8));
    default: return draw.of_any_scale(draw.domain.longest);
  }
}

// k of each channel, [min(K, L)] of it as it acts, of unit norm or nearly.
void fill_filter(const Convolution& p, RandomFilter filter, std::vector<double>& k) {
  const std::int64_t counting = std::min(p.filter_length, p.length);
  for (std::int64_t h = 0; h < p.channels; ++h) {
    const std::span<double> row = std::span(k).subspan(h * p.filter_length, p.filter_length);
    const double scale = 1 / std::sqrt(static_cast<double>(p.filter_length));
    for (std::int64_t n = 0; n < p.filter_length; ++n) switch (filter) {
        case RandomFilter::gaussian: break;
        case RandomFilter::last_tap: row[n] = n == counting - 1 ? 1 : 0; break;
        case RandomFilter::alternating: row[n] = n % 2 == 0 ? scale : -scale; break;
        case RandomFilter::decaying:
          row[n] = 4 * scale * std::exp(-8. * static_cast<double>(n) / static_cast<double>(p.filter_length));
          break;
      }
  }
  for (double& tap : k) tap = round_to(filter_dtype(p), tap);
}

Convolution random_convolution(Draw& draw) {
  Convolution p;
  p.dtype = draw.one_of({Dtype::f16, Dtype::bf16});
  p.filter = draw.one_of({Dtype::f32, Dtype::f32, Dtype::f16, Dtype::bf16});
  p.mode = draw.one_of({Mode::circular, Mode::causal});
  p.length = length_from(draw);
  switch (draw.from(0, 4)) {
    case 0: p.filter_length = draw.of_any_scale(p.length); break;
    case 1: p.filter_length = draw.from(1, 2 * p.length); break;
    case 2: p.filter_length = draw.from(1, std::min<std::int64_t>(p.length, 8)); break;
    default: p.filter_length = p.length;
  }
  const std::int64_t rows = std::max<std::int64_t>(draw.domain.samples / p.length, 1);
  if (draw.domain.wide) {  // past several waves of blocks
    constexpr std::int64_t kMostRows = 6000;
    p.channels = draw.of_any_scale(std::min(rows, kMostRows));
    p.batch = draw.of_any_scale(std::max<std::int64_t>(std::min(rows, kMostRows) / p.channels, 1));
  } else {
    p.channels = draw.from(1, std::min<std::int64_t>(rows, 5));
    p.batch = draw.from(1, std::clamp<std::int64_t>(rows / p.channels, 1, 9));
  }
  p.pregate = draw.from(0, 2) == 0, p.postgate = draw.from(0, 2) == 0;
  return p;
}

// One in twenty, of circular rows without gates at an FFT size, keeps a band of its frequencies alone, where a kernel
// for an H200 can.
Convolution random_convolution_or_masked(Draw& draw) {
  Convolution p = random_convolution(draw);
  if (draw.from(0, 19) > 0) return p;
  p.mode = Mode::circular, p.pregate = p.postgate = false;
  p.length = fft_sizes()[draw.from(0, std::ssize(fft_sizes()) - 1)];
  p.filter_length = draw.from(1, p.length);
  p.channels = std::clamp<std::int64_t>(draw.domain.samples / p.length, 1, p.channels);
  p.batch = std::clamp<std::int64_t>(draw.domain.samples / p.length / p.channels, 1, p.batch);
  const auto first = static_cast<int>(draw.from(0, p.length / 4)),
             last = static_cast<int>(draw.from(first, p.length / 2));
  if (first == 0 && last == p.length / 2) return p;
  Convolution masked = p;
  masked.mask.kept = {{first, last}};
  return has_kernel(masked, Device()) ? masked : p;
}

// What fits into the shared memory of an H200's block: others are drawn again.
Spectral random_layer(Draw& draw) {
  constexpr int kShortest = 16, kLongestRow = 1024, kMostChannels = 256;
  const bool wide = draw.domain.wide;
  const std::int64_t most_items = wide ? 3000 : 300;
  const double most_products = wide ? 1 << 28 : 1 << 26, most_weights = wide ? 1 << 22 : 1e300;
  for (;;) {
    Spectral p;
    p.dtype = draw.one_of({Dtype::f32, Dtype::f32, Dtype::f16, Dtype::bf16});
    p.tf32 = p.dtype == Dtype::f32 && draw.from(0, 1) == 0;
    p.complex = draw.from(0, 1) == 0, p.shared = draw.from(0, 1) == 0;
    const bool has_two_axes = draw.from(0, 2) == 0;
    p.two_sided = (p.complex || has_two_axes) && draw.from(0, 1) == 0;
    p.channel_major = draw.from(0, 2) == 0, p.adjoint = draw.from(0, 2) == 0;
    const auto channels = [&] { return wide ? draw.with_ends(kMostChannels) : draw.of_any_scale(kMostChannels); };
    p.inputs = channels(), p.outputs = channels();
    const int axes = has_two_axes ? 2 : 1;
    p.lengths.clear(), p.modes.clear();
    for (int axis = 0; axis < axes; ++axis)
      p.lengths.push_back(
          static_cast<int>(kShortest - 1 + draw.of_any_scale(kLongestRow / (wide ? 1 : axes) - kShortest + 1)));
    for (int axis = 0; axis < axes; ++axis) {
      const bool is_half = !p.complex && axis == axes - 1;
      const int length = p.lengths[axis], most = is_half ? length / 2 + 1 : p.two_sided ? length / 2 : length;
      p.modes.push_back(static_cast<int>(wide ? draw.with_ends(most) : draw.of_any_scale(most)));
    }
    const std::int64_t points = points_of_row(p), row = points * std::max(p.inputs, p.outputs);
    p.batch = draw.of_any_scale(std::clamp<std::int64_t>(draw.domain.samples / row, 1, most_items));
    const double along_axes = static_cast<double>(points) * p.modes.back() * (p.two_sided ? 2 : 1) +
                              static_cast<double>(axes == 2 ? p.lengths[0] * kept_count(p) : 0);
    const double products = static_cast<double>(p.batch * p.inputs * p.outputs * kept_count(p)) +
                            static_cast<double>(p.batch * (p.inputs + p.outputs)) * along_axes;
    const double weights = static_cast<double>(p.inputs * p.outputs * (p.shared ? 1 : kept_count(p)));
    if (row > draw.domain.samples || products > most_products || weights > most_weights) continue;
    try {
      make_program(p, wide ? h200() : Device());
      return p;
    } catch (const std::invalid_argument&) {
    }
  }
}

SpectralGradient random_layer_gradient(Draw& draw) {
  for (;;) {
    SpectralGradient asked{random_layer(draw)};
    asked.forward.adjoint = false;
    try {
      make_program(asked, draw.domain.wide ? h200() : Device());
      return asked;
    } catch (const std::invalid_argument&) {
    }
  }
}

// Few taps and many, rows shorter than the filter and much longer, channels fewer and more than a tile has.
ShortConvolution random_short(Draw& draw) {
  const std::int64_t most_channels = draw.domain.wide ? 4000 : 40, most_rows = draw.domain.wide ? 4000 : 5;
  ShortConvolution p;
  p.dtype = draw.one_of({Dtype::f16, Dtype::bf16});
  p.filter = draw.one_of({Dtype::f32, Dtype::f32, p.dtype});
  p.padding = draw.one_of({Padding::causal, Padding::same});
  p.taps = 1 + draw.of_any_scale(kMostTaps - 1);
  const std::int64_t samples = std::min(draw.domain.samples, draw.domain.products / p.taps);
  p.length = draw.of_any_scale(samples);
  p.channels = draw.of_any_scale(std::clamp<std::int64_t>(samples / p.length, 1, most_channels));
  const std::int64_t rows = std::clamp<std::int64_t>(samples / p.length / p.channels, 1, most_rows);
  p.batch = draw.domain.wide ? draw.of_any_scale(rows) : draw.from(1, rows);
  p.bias = draw.from(0, 1) == 0, p.pregate = draw.from(0, 2) == 0, p.postgate = draw.from(0, 2) == 0;
  p.channels_last = draw.from(0, 1) == 0;
  return p;
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

// What there are random cases of.
struct RandomOperation {
  std::string_view word;
  Case (*draw)(Draw& draw);
};
constexpr RandomOperation kOperations[] = {
    {"fftconv", [](Draw& draw) -> Case { return random_convolution_or_masked(draw); }},
    {"fftconvgrad", [](Draw& draw) -> Case { return Backward{random_convolution(draw)}; }},
    {"fftconvstep", [](Draw& draw) -> Case { return TrainingStep{random_convolution(draw)}; }},
    {"spectral", [](Draw& draw) -> Case { return random_layer(draw); }},
    {"spectralgrad", [](Draw& draw) -> Case { return random_layer_gradient(draw); }},
    {"shortconv", [](Draw& draw) -> Case { return random_short(draw); }},
    {"shortconvgrad", [](Draw& draw) -> Case { return ShortBackward{random_short(draw)}; }},
    {"ssmconv", [](Draw& draw) -> Case { return random_state(draw); }},
};

}  // namespace

std::vector<std::string> random_operations() {
  std::vector<std::string> words;
  for (const RandomOperation& operation : kOperations) words.emplace_back(operation.word);
  return words;
}

RandomCase random_case(std::uint64_t seed, std::int64_t number, std::string_view operation) {
  std::seed_seq mixed{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32)};
  std::array<std::uint32_t, 2> words;
  mixed.generate(words.begin(), words.end());
  Draw draw(std::uint64_t{words[0]} << 32 | words[1], {number % 2 == 1});

  RandomCase c;
  c.seed = static_cast<std::uint64_t>(draw.from(0, (std::int64_t{1} << 62) - 1));
  c.asked = std::ranges::find(kOperations, operation, &RandomOperation::word)->draw(draw);
  const std::vector<Array> arrays = c.asked.arrays();
  c.offsets.resize(arrays.size());
  c.rows_differ = number / 2 % 2 == 1;
  if (c.asked.as<Spectral>() || c.asked.as<SpectralGradient>()) {
    c.scale = draw.one_of({1., 1., 0.1, 4.});
    const int together = static_cast<int>(draw.from(0, 3));
    if (draw.from(0, 1) == 1)
      for (std::size_t i = 0; i < arrays.size(); ++i) c.offsets[i] = together * arrays[i].parts();
    return c;
  }
  if (convolution_of(c.asked))
    c.filter = draw.one_of({RandomFilter::gaussian, RandomFilter::gaussian, RandomFilter::last_tap,
                            RandomFilter::alternating, RandomFilter::decaying});
  // A mask removes an alternating filter's one frequency, beside which f16 rounds what is left (tile/scaled.hpp).
  const Convolution* p = c.asked.as<Convolution>();
  if (p && !p->mask.empty() && c.filter == RandomFilter::alternating) c.filter = RandomFilter::gaussian;
  c.scale = draw.one_of({1., 1., 0.02, 1e-3, 8.});
  const int together = static_cast<int>(draw.from(0, 7)), kind = static_cast<int>(draw.from(0, 3));
  for (int& offset : c.offsets) offset = kind < 2 ? 0 : kind == 2 ? together : static_cast<int>(draw.from(0, 7));
  for (std::size_t i = 0; i < arrays.size(); ++i) c.offsets[i] -= c.offsets[i] % arrays[i].parts();
  return c;
}

std::string describe(const RandomCase& c) {
  return text("filter ", name_in(kRandomFilters, c.filter), c.rows_differ ? ", rows differ" : text(", scale ", c.scale),
              ", offsets ", join(c.offsets));
}

RowLimits row_limits(const Case& asked, const Device& device) {
  const Program program = make_program(asked, device, marks_of(asked));
  const Promise promise = promise_of(asked, *program.variant, device);
  return {promise.shared_rows, promise.keeps_rows_apart, takes_any_loudness(*program.variant, asked)};
}

namespace {

// Makes rows of one array of samples differ, and scales filters of channels.
class DifferingRows {
 public:
  DifferingRows(const RandomCase& c, const RowLimits& limits) : c_(c), limits_(limits) {}

  void change(const Array& array, Values& values) {
    const RowOrder order = row_order(array);
    std::vector<double>& samples = values.find(array.name)->second;
    for (std::int64_t row = 0; row < order.rows(); ++row) {
      const double scale = scale_of(array, order, row);
      std::mt19937_64 random = random_of(array.name, row);
      const Kind kind = kinds()[random() % kinds().size()];
      const auto at_spike = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(order.length));
      for (std::int64_t n = 0; n < order.length; ++n) {
        double& value = samples[order.index(row, n)];
        if (kind == Kind::offset) value = 1 + value / 64;
        if (kind == Kind::spike) value = n != at_spike ? 0 : limits_.takes_any_loudness ? 1 : 1 / scale;
        if (kind == Kind::silent) value = 0;
        value = round_to(array.dtype, scale * value);
      }
    }
    spoil(array, order, samples);
  }

 private:
  enum class Kind { noise, offset, spike, silent };

  // No offset meets a filter of one frequency. Where that is 0, a kernel may have no room for both. Where it is another
  // one, errors of a constant row, which are at few frequencies, may meet it (docs/domain.md).
  std::span<const Kind> kinds() const {
    static constexpr Kind kAll[] = {Kind::noise, Kind::noise, Kind::noise, Kind::silent, Kind::spike, Kind::offset};
    const bool is_narrow =
        c_.filter == RandomFilter::alternating || (c_.filter == RandomFilter::decaying && !limits_.takes_any_loudness);
    return std::span(kAll).first(is_narrow ? 5 : 6);
  }

  std::mt19937_64 random_of(std::string_view what, std::int64_t number) const {
    std::seed_seq mixed{static_cast<std::uint32_t>(c_.seed),      static_cast<std::uint32_t>(c_.seed >> 32),
                        static_cast<std::uint32_t>(number),       static_cast<std::uint32_t>(number >> 32),
                        static_cast<std::uint32_t>(what.front()), static_cast<std::uint32_t>(what.back())};
    return std::mt19937_64(mixed);
  }

  double scale_of(const Array& array, const RowOrder& order, std::int64_t row) const {
    if (!limits_.keeps_rows_apart) {  // rows [B, H]
      const std::int64_t channels = order.axes[1].extent, item = row / channels;
      row = (limits_.shared_rows > 0 ? item / limits_.shared_rows : 0) * channels + row % channels;
    }
    const double least = limits_.takes_any_loudness ? 1e-6 : kQuietest;
    const double most = !limits_.takes_any_loudness ? kLoudest : array.dtype == Dtype::f16 ? 2e3 : 1e4;
    std::mt19937_64 random = random_of(text(array.name, "scale"), row);
    const double share = static_cast<double>(random() >> 11) * 0x1p-53;
    return least * std::pow(most / least, share);
  }

  // Of one case in three, one sample.
  void spoil(const Array& array, const RowOrder& order, std::vector<double>& samples) const {
    std::mt19937_64 random = random_of(text(array.name, "nan"), 0);
    if (random() % 3 > 0 || order.rows() == 1) return;
    const double values[] = {std::nan(""), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()};
    samples[random() % samples.size()] = values[random() % 3];
  }

  const RandomCase& c_;
  const RowLimits& limits_;
};

}  // namespace

Values random_values(const RandomCase& c, const RowLimits& limits) {
  DataSpec spec;
  spec.seed = c.seed;
  const Convolution* p = convolution_of(c.asked);
  const double scale = c.rows_differ ? 1 : c.scale;
  if (p) spec.scale = scale;
  Values values = make_values(c.asked, spec);
  if (p && c.filter != RandomFilter::gaussian) fill_filter(*p, c.filter, values.at("k"));
  if (!p) {
    const Dtype dtype = c.asked.arrays().front().dtype;
    for (double& value : values.at("u")) value = round_to(dtype, scale * value);
  }
  if (c.rows_differ)
    for (const Array& array : c.asked.arrays())
      if (array.name == "u" || array.name == "dy") DifferingRows(c, limits).change(array, values);
  return values;
}

RandomVerdict verdict_of(const RandomCase& c, const Values& inputs, const Values& outputs, const Promise& promise,
                         const KnownNumbers& known) {
  const Verdict of = verdict_on(c.asked, inputs, outputs, promise, {.known = known});
  RandomVerdict verdict;
  verdict.known = of.known;
  if (const OutputVerdict* worst = of.worst()) {
    verdict.output = worst->output, verdict.place = worst->row.place;
    verdict.error = worst->row.error, verdict.bound = worst->row.bound, verdict.clearance = worst->clearance;
    if (!worst->row.reason.empty()) verdict.violation = worst->reason;
  }
  return verdict;
}

RandomVerdict judge(const RandomCase& c, const std::shared_ptr<const Machine>& machine) try {
  const Values values = random_values(c, row_limits(c.asked, machine->device()));
  const Execution done = execute(c.asked, values, machine, c.offsets);
  RandomVerdict verdict = verdict_of(c, values, done.outputs, promise_of(c.asked, machine->device()), done.known);
  if (!done.violation.empty()) verdict.violation = done.violation;
  return verdict;
} catch (const KernelNotBuilt&) {
  throw;  // nothing was checked
} catch (const std::exception& error) {
  RandomVerdict verdict;
  verdict.violation = error.what();
  return verdict;
}

}  // namespace danaus
