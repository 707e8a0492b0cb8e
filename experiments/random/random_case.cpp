#include "experiments/random/random_case.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <span>

#include "kernels/device/halves.hpp"
#include "kernels/plan/plan.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/convolution/conditioning.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/convolution/data.hpp"
#include "reference/convolution/rounding.hpp"
#include "reference/half.hpp"

namespace danaus {
namespace {

constexpr std::int64_t kLongest = 32768, kMostSamples = std::int64_t{1} << 17;
constexpr int kGuard = 64;                 // samples on each side of y that must stay as they are
constexpr std::uint16_t kPoison = 0x7fff;  // NaN in both types

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::int64_t from(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  // As many small ones as large ones.
  std::int64_t of_any_scale(std::int64_t most) {
    const double bits = std::log2(static_cast<double>(most)) * static_cast<double>(random_() >> 11) * 0x1p-53;
    return std::clamp<std::int64_t>(std::llround(std::exp2(bits)), 1, most);
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
                                      kLongest);
    case 1: return std::min(kLongest, 8 * draw.of_any_scale(kLongest / 8));
    default: return draw.of_any_scale(kLongest);
  }
}

// k of each channel, [min(K, L)] of it as it acts, of unit norm or nearly.
void fill_filter(const RandomCase& c, std::vector<double>& k) {
  const Convolution& p = c.problem;
  const std::int64_t counting = std::min(p.filter_length, p.length);
  for (std::int64_t h = 0; h < p.channels; ++h) {
    const std::span<double> row = std::span(k).subspan(h * p.filter_length, p.filter_length);
    const double scale = 1 / std::sqrt(static_cast<double>(p.filter_length));
    for (std::int64_t n = 0; n < p.filter_length; ++n) switch (c.filter) {
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

// Memory of the machine for samples `offset` after an aligned address, with guards around them.
class GuardedArray {
 public:
  GuardedArray(const Machine& machine, std::span<const std::uint16_t> samples, int offset)
      : machine_(machine),
        offset_(kGuard + offset),
        count_(std::ssize(samples)),
        words_(count_ + 2 * kGuard + 8, kPoison) {
    std::ranges::copy(samples, words_.begin() + offset_);
    memory_ = machine.upload(words_.data(), 2 * std::ssize(words_));
  }
  std::span<std::uint16_t> samples() const {
    return {static_cast<std::uint16_t*>(memory_.get()) + offset_, static_cast<std::size_t>(count_)};
  }
  // Of the host; `whole`: nothing beside them was written.
  std::vector<std::uint16_t> fetch(bool& whole) {
    machine_.copy_to_host(words_.data(), memory_.get(), 2 * std::ssize(words_));
    const auto begin = words_.begin() + offset_, end = begin + count_;
    const auto untouched = [](std::uint16_t word) { return word == kPoison; };
    whole = std::all_of(words_.begin(), begin, untouched) && std::all_of(end, words_.end(), untouched);
    return {begin, end};
  }

 private:
  const Machine& machine_;
  std::int64_t offset_, count_;
  std::vector<std::uint16_t> words_;
  std::shared_ptr<void> memory_;
};

}  // namespace

RandomCase random_case(std::uint64_t seed, std::int64_t number) {
  std::seed_seq mixed{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32)};
  std::array<std::uint32_t, 2> words;
  mixed.generate(words.begin(), words.end());
  Draw draw(std::uint64_t{words[0]} << 32 | words[1]);

  RandomCase c;
  c.seed = static_cast<std::uint64_t>(draw.from(0, (std::int64_t{1} << 62) - 1));
  Convolution& p = c.problem;
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
  p.channels = draw.from(1, std::clamp<std::int64_t>(kMostSamples / p.length, 1, 5));
  p.batch = draw.from(1, std::clamp<std::int64_t>(kMostSamples / p.length / p.channels, 1, 9));
  p.pregate = draw.from(0, 2) == 0, p.postgate = draw.from(0, 2) == 0;
  c.filter = draw.one_of({RandomFilter::gaussian, RandomFilter::gaussian, RandomFilter::last_tap,
                          RandomFilter::alternating, RandomFilter::decaying});
  c.scale = draw.one_of({1., 1., 0.02, 1e-3, 8.});
  const int together = static_cast<int>(draw.from(0, 7)), kind = static_cast<int>(draw.from(0, 3));
  for (int& offset : c.offsets) offset = kind < 2 ? 0 : kind == 2 ? together : static_cast<int>(draw.from(0, 7));
  return c;
}

std::string describe(const RandomCase& c) {
  return text("filter ", name_in(kRandomFilters, c.filter), ", scale ", c.scale, ", offsets ",
              join(std::vector<int>(c.offsets.begin(), c.offsets.end())));
}

Inputs random_inputs(const RandomCase& c) {
  DataSpec spec;
  spec.scale = c.scale, spec.seed = c.seed;
  Inputs inputs = make_inputs(c.problem, spec);
  if (c.filter != RandomFilter::gaussian) fill_filter(c, inputs.k);
  return inputs;
}

// What rounds below the smallest normal number errs by up to half of the least one, whatever it is relative to.
RandomVerdict verdict_of(const RandomCase& c, const Inputs& inputs, const std::vector<double>& truth,
                         const std::vector<double>& y, int roundings) {
  const Dtype dtype = c.problem.dtype;
  const double least = dtype == Dtype::f16 ? 0x1p-25 : 0;
  const double floor = least * std::sqrt(roundings * static_cast<double>(truth.size()));
  double error = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) error += std::pow(y[i] - truth[i], 2);
  const double relative_to = summed(c.problem, inputs);
  RandomVerdict verdict;
  verdict.error = std::sqrt(error) / relative_to;
  verdict.bound = bound_l2_of_kernel(c.problem, roundings) + floor / relative_to;
  verdict.clearance = verdict.error / verdict.bound;
  if (!std::isfinite(error)) verdict.violation = "y is not finite";
  return verdict;
}

RandomVerdict judge(const RandomCase& c, const std::shared_ptr<const Machine>& machine) try {
  const Convolution& p = c.problem;
  const Inputs inputs = random_inputs(c);
  const std::vector<double> truth = convolve(p, inputs, Method::fftw);
  const auto array = [&](const std::vector<double>& values, int offset) {
    return GuardedArray(*machine, host::encode(p.dtype, values), offset);
  };
  Plan plan(p, machine);
  plan.set_filter(host::encode_bytes(filter_dtype(p), inputs.k));
  const GuardedArray u = array(inputs.u, c.offsets[0]), pregate = array(inputs.pregate, c.offsets[1]),
                     postgate = array(inputs.postgate, c.offsets[2]);
  GuardedArray y(*machine, std::vector<std::uint16_t>(truth.size(), kPoison), c.offsets[3]);
  std::vector<Buffer> buffers = {{"u", u.samples()}, {"y", y.samples()}};
  if (p.pregate) buffers.emplace_back("pregate", pregate.samples());
  if (p.postgate) buffers.emplace_back("postgate", postgate.samples());
  plan.execute(buffers);
  bool whole = true;
  const std::vector<double> actual = host::decode(p.dtype, y.fetch(whole));
  RandomVerdict verdict = verdict_of(c, inputs, truth, actual, plan.variant().roundings());
  if (!whole) verdict.violation = "samples beside y were written";
  return verdict;
} catch (const std::exception& error) {
  RandomVerdict verdict;
  verdict.violation = error.what();
  return verdict;
}

}  // namespace danaus
