#include "experiments/random/random_case.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <span>

#include "experiments/operations/subject.hpp"
#include "experiments/verify/execution.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/plan.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/bounds.hpp"
#include "reference/half.hpp"
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

// How many outputs err independently, if errors are in proportion to them; but where all is in one frequency one number
// errs, that of the row. Of so many in all, some.
double independent_outputs(const RandomCase& c, const std::vector<double>& outputs, std::int64_t all) {
  const Convolution* p = convolution_of(c.asked);
  const bool of_rows = p && c.filter == RandomFilter::alternating && all == p->batch * p->channels * p->length;
  const std::size_t together = of_rows ? static_cast<std::size_t>(p->length) : 1;
  double squares = 0, fourth_powers = 0;
  for (std::size_t begin = 0; begin < outputs.size(); begin += together) {
    double square = 0;
    for (std::size_t i = begin; i < std::min(begin + together, outputs.size()); ++i) square += outputs[i] * outputs[i];
    squares += square, fourth_powers += square * square;
  }
  return fourth_powers > 0 ? squares * squares / fourth_powers : 1;
}

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
  return text("filter ", name_in(kRandomFilters, c.filter), ", scale ", c.scale, ", offsets ", join(c.offsets));
}

Values random_values(const RandomCase& c) {
  DataSpec spec;
  spec.seed = c.seed;
  const Convolution* p = convolution_of(c.asked);
  if (p) spec.scale = c.scale;
  Values values = make_values(c.asked, spec);
  if (p && c.filter != RandomFilter::gaussian) fill_filter(*p, c.filter, values.at("k"));
  if (!p) {
    const Dtype dtype = c.asked.arrays().front().dtype;
    for (double& value : values.at("u")) value = round_to(dtype, c.scale * value);
  }
  return values;
}

// What rounds below the smallest normal number errs by up to half of the least one, whatever it is relative to.
RandomVerdict verdict_of(const RandomCase& c, const Values& truth, const Values& outputs,
                         const std::vector<OutputBound>& bounds, const KnownNumbers& known) {
  constexpr double kMostRoundings = 64, kLeastOfF16 = 0x1p-25;
  const bool is_f16 = c.asked.arrays().front().dtype == Dtype::f16;
  double of_all = 0, known_numbers = 0;
  RandomVerdict worst;
  for (const OutputBound& bound : bounds) {
    const std::vector<double>& all = truth.find(bound.name)->second;
    const std::vector<double> right = known_of(known, bound.name, all),
                              made = known_of(known, bound.name, outputs.find(bound.name)->second);
    of_all += static_cast<double>(all.size()), known_numbers += static_cast<double>(right.size());
    if (right.empty()) continue;
    // Of some outputs, as much was summed as is their share.
    const double summed = bound.summed * std::sqrt(static_cast<double>(right.size()) / static_cast<double>(all.size()));
    const double floor = is_f16 ? kLeastOfF16 * std::sqrt(kMostRoundings * static_cast<double>(right.size())) : 0;
    double square = 0;
    for (std::size_t i = 0; i < right.size(); ++i) square += std::pow(made[i] - right[i], 2);
    RandomVerdict verdict;
    verdict.output = bound.name;
    verdict.error = square == 0 ? 0 : std::sqrt(square) / summed;
    verdict.bound = bound.l2 * excess_of_few(independent_outputs(c, right, std::ssize(all)));
    if (summed > 0) verdict.bound += floor / summed;  // not where the filter's taps wrap to zeros
    verdict.clearance = verdict.error / verdict.bound;
    if (!std::isfinite(square)) verdict.violation = text(bound.name, " is not finite");
    if (worst.output.empty() || !verdict.violation.empty() || verdict.clearance > worst.clearance) worst = verdict;
    if (!worst.violation.empty()) break;
  }
  worst.known = known_numbers / of_all;
  return worst;
}

RandomVerdict judge(const RandomCase& c, const std::shared_ptr<const Machine>& machine) try {
  const Values values = random_values(c);
  const Execution done = execute(c.asked, values, machine, c.offsets);
  const auto subject = subject_of(c.asked, "random");
  RandomVerdict verdict =
      verdict_of(c, subject->compared(values, truth(c.asked, values)), subject->compared(values, done.outputs),
                 output_bounds(c.asked, values, machine->device()), done.known);
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
