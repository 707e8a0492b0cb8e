#include "experiments/random/random_case.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <span>

#include "experiments/cli/table.hpp"
#include "experiments/methods/execution.hpp"
#include "experiments/operations/study.hpp"
#include "kernels/plan/plan.hpp"
#include "kernels/plan/promise.hpp"
#include "kernels/plan/selftest.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/half.hpp"
#include "reference/row_terms.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

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

// Of rows [B, H, L]: with gaps of whole chunks or of any samples behind each, with other arrays between them, channel
// by channel or batch row by batch row; alike for all arrays or not.
std::vector<RowStrides> drawn_strides(Draw& draw, const std::vector<Array>& arrays) {
  std::vector<RowStrides> strides(arrays.size());
  const auto drawn = [&](const Array& array) -> RowStrides {
    const std::int64_t channels = array.extents[1], length = array.extents[2];
    const std::int64_t channel =
        length + draw.one_of({std::int64_t{0}, std::int64_t{0}, std::int64_t{8}, draw.from(1, 9), 2 * length});
    const std::int64_t gap = draw.one_of({std::int64_t{0}, std::int64_t{8}, draw.from(1, 9), 2 * channels * channel});
    return {channels * channel + gap, channel};
  };
  const bool alike = draw.from(0, 1) == 0;
  std::optional<RowStrides> first;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].shape != "B*H*L") continue;
    strides[i] = alike && first ? *first : drawn(arrays[i]);
    if (!first) first = strides[i];
  }
  return strides;
}

const StudiedOperation& studied(std::string_view word) { return *find_studied_operation(word); }

}  // namespace

std::vector<std::string> random_operations() {
  std::vector<std::string> words;
  for (const StudiedOperation& operation : studied_operations()) words.emplace_back(operation.word);
  return words;
}

int most_whole_blocks(std::string_view operation) { return studied(operation).of_layers ? 2048 : 32; }

bool is_large(std::int64_t number) { return number % 16 == 5 || number % 16 == 15; }

RandomCase random_case(std::uint64_t seed, std::int64_t number, std::string_view operation) {
  std::seed_seq mixed{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32)};
  std::array<std::uint32_t, 2> words;
  mixed.generate(words.begin(), words.end());
  Draw draw(std::uint64_t{words[0]} << 32 | words[1], {is_large(number)});

  RandomCase c;
  c.seed = static_cast<std::uint64_t>(draw.from(0, (std::int64_t{1} << 62) - 1));
  const StudiedOperation& drawn = studied(operation);
  c.asked = drawn.draw(draw);
  const std::vector<Array> arrays = c.asked.arrays();
  c.offsets.resize(arrays.size());
  c.rows_differ = number / 2 % 2 == 1;
  if (drawn.of_layers) {
    c.scale = draw.one_of({1., 1., 0.1, 4.});
    const int together = static_cast<int>(draw.from(0, 3));
    if (draw.from(0, 1) == 1)
      for (std::size_t i = 0; i < arrays.size(); ++i) c.offsets[i] = together * arrays[i].parts();
    return c;
  }
  if (convolution_of(c.asked))
    c.filter = draw.one_of({RandomFilter::gaussian, RandomFilter::gaussian, RandomFilter::last_tap,
                            RandomFilter::alternating, RandomFilter::decaying});
  // A mask removes most of a filter that has few frequencies, beside which f16 rounds what is left (docs/domain.md).
  const Convolution* p = c.asked.as<Convolution>();
  const bool is_narrow = c.filter == RandomFilter::alternating || c.filter == RandomFilter::decaying;
  if (p && !p->mask.empty() && is_narrow) c.filter = RandomFilter::gaussian;
  c.scale = draw.one_of({1., 1., 0.02, 1e-3, 8.});
  const int together = static_cast<int>(draw.from(0, 7)), kind = static_cast<int>(draw.from(0, 3));
  for (int& offset : c.offsets) offset = kind < 2 ? 0 : kind == 2 ? together : static_cast<int>(draw.from(0, 7));
  for (std::size_t i = 0; i < arrays.size(); ++i) c.offsets[i] -= c.offsets[i] % arrays[i].parts();
  if (convolution_of(c.asked) && draw.from(0, 3) == 0) c.strides = drawn_strides(draw, arrays);
  return c;
}

std::string describe(const RandomCase& c) {
  std::string strides;
  for (const RowStrides& of : c.strides) strides += text(strides.empty() ? ", strides " : "x", of.row, '+', of.channel);
  return text("filter ", name_in(kRandomFilters, c.filter), c.rows_differ ? ", rows differ" : text(", scale ", c.scale),
              ", offsets ", join(c.offsets), strides);
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
        double& value = samples[order.first(row) + n * order.inner];
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

  // No offset meets a filter of one frequency (docs/domain.md). At frequency 0 a kernel may have no room for both. At
  // another one the errors of a constant row may meet it. A narrow filter amplifies a constant row, and its errors then
  // reach the row that shares its transform.
  std::span<const Kind> kinds() const {
    static constexpr Kind kAll[] = {Kind::noise, Kind::noise, Kind::noise, Kind::silent, Kind::spike, Kind::offset};
    const bool shares = limits_.shared_rows != 1;
    const bool is_narrow = c_.filter == RandomFilter::alternating ||
                           (c_.filter == RandomFilter::decaying && (shares || !limits_.takes_any_loudness));
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

namespace {

// The first number that differs in any bit, the sign of a zero too; nothing where none does. A NaN is as any other.
std::string differing_bits(const Values& outputs, const Values& of_executor) {
  for (const auto& [name, numbers] : outputs) {
    const std::vector<double>& others = of_executor.at(name);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (std::bit_cast<std::uint64_t>(numbers[i]) != std::bit_cast<std::uint64_t>(others[i]) &&
          !(std::isnan(numbers[i]) && std::isnan(others[i])))
        return text(name, '[', i, "] is ", scientific(numbers[i]), ", the executor's ", scientific(others[i]));
  }
  return "";
}

std::uint32_t digest_of_bits(const Values& outputs) {
  std::uint64_t digest = kNoDigest;
  for (const auto& [name, numbers] : outputs)
    for (const double number : numbers) {
      const double canonical = std::isnan(number) ? std::numeric_limits<double>::quiet_NaN() : number;
      digest = digest_of(std::as_bytes(std::span(&canonical, 1)), digest);
    }
  return static_cast<std::uint32_t>(digest ^ digest >> 32);
}

}  // namespace

RandomVerdict judge(const RandomCase& c, const std::shared_ptr<const Machine>& machine,
                    const std::shared_ptr<const Machine>& executor) try {
  const Values values = random_values(c, row_limits(c.asked, machine->device()));
  const Execution done = execute(c.asked, values, machine, c.offsets, c.strides);
  RandomVerdict verdict = verdict_of(c, values, done.outputs, promise_of(c.asked, machine->device()), done.known);
  if (done.known.empty()) verdict.digest = digest_of_bits(done.outputs);
  if (!done.violation.empty()) verdict.violation = done.violation;
  if (executor && verdict.violation.empty())
    verdict.violation = differing_bits(done.outputs, execute(c.asked, values, executor, c.offsets, c.strides).outputs);
  return verdict;
} catch (const KernelNotBuilt&) {
  throw;  // nothing was checked
} catch (const std::exception& error) {
  RandomVerdict verdict;
  verdict.violation = error.what();
  return verdict;
}

}  // namespace danaus
