#include "reference/judge.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/overflow.hpp"
#include "reference/row_terms.hpp"

namespace danaus {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A row of fewer independent numbers has its energy in a few frequencies, whose coefficients' errors do not average
// out.
constexpr double kFewNumbers = 8;

// An error of 0 takes nothing of its bound, not even of 0.
double share(double error, double bound) { return error == 0 ? 0 : error / bound; }

// A result with less error, by the tolerance.
double beyond(double tolerance, double right, double made) {
  const double error = made - right;
  if (!std::isfinite(error)) return made;
  return std::abs(error) <= tolerance ? right : made - std::copysign(tolerance, error);
}

// One output, row by row.
class OutputJudge {
 public:
  OutputJudge(const OutputTerms& terms, std::span<const double> right, std::span<const double> made,
              const std::vector<bool>* known, std::span<const double> tolerances, const JudgeOptions& options,
              double truth_bound)
      : terms_(terms), right_(right), made_(made), known_(known), tolerances_(tolerances), options_(options) {
    const auto given = options.bounds.find(terms.name);
    for (double bound : terms.bounds)
      bounds_.push_back((given == options.bounds.end() ? bound : given->second) + truth_bound);
  }

  OutputVerdict verdict() {
    verdict_.output = terms_.name;
    for (std::int64_t row = 0; row < terms_.order.rows(); ++row) add(row);
    judge_all();
    std::string reason;
    if (too_large_ > 0)
      reason = text(infinite_, " of ", right_.size(), " samples are not finite; of ", too_large_,
                    " the truth is too large for ", name(terms_.dtype));
    if (!verdict_.row.reason.empty()) {
      verdict_.passed = false;
      verdict_.reason = text(reason, reason.empty() ? "" : "; ", verdict_.output, " at ", verdict_.row.place, ": ",
                             verdict_.row.reason);
    } else if (verdict_.reason.empty()) {
      verdict_.reason = reason;
    }
    return verdict_;
  }

  std::int64_t compared() const { return std::ssize(all_right_); }

 private:
  bool is_known(std::int64_t i) const { return !known_ || (*known_)[i]; }

  void add(std::int64_t row) {
    const std::int64_t length = terms_.order.length;
    const std::int64_t first = terms_.order.first(row), step = terms_.order.inner;
    std::vector<double> whole(length), right, made;
    right.reserve(length), made.reserve(length);
    double square = 0;  // of what was summed to those that are judged
    for (std::int64_t n = 0; n < length; ++n) whole[n] = right_[first + n * step];
    const std::vector<bool> judged = terms_.is_spoiled[row] ? beyond_reach(row, whole) : std::vector<bool>();
    for (std::int64_t n = 0; n < length; ++n) {
      const std::int64_t at = first + n * step;
      if ((!judged.empty() && !judged[n]) || !is_known(at)) continue;
      right.push_back(whole[n]), made.push_back(made_[at]), places_.push_back(at);
      if (!terms_.squares.empty()) square += terms_.squares[at];
      accept_overflow(row, right.back(), made.back());
      if (!tolerances_.empty()) made.back() = beyond(tolerances_[at], right.back(), made.back());
    }
    if (right.empty()) return;
    const double share = static_cast<double>(right.size()) / static_cast<double>(length);
    const bool has_share = share == 1 || terms_.squares.empty();
    const double summed = has_share ? terms_.summed[row] * std::sqrt(share) : std::sqrt(square);
    summed_.push_back(summed);
    judge_row(row, right, made, summed, independent_numbers(row, whole, right, summed));
    all_right_.insert(all_right_.end(), right.begin(), right.end());
    all_made_.insert(all_made_.end(), made.begin(), made.end());
  }

  // How many numbers of a row err independently. Of a row that is small because most of what was summed cancelled, or
  // was trimmed, the numbers themselves say nothing.
  double independent_numbers(std::int64_t row, std::span<const double> whole, std::span<const double> right,
                             double summed) const {
    const double samples = terms_.samples[row], frequencies = terms_.frequencies[row];
    const bool both_known = std::isfinite(samples) && (std::isfinite(frequencies) || !terms_.has_frequencies);
    const double most = std::min({samples, frequencies, static_cast<double>(right.size())});
    if (both_known && summed > kWellConditioned * norm(right)) return most;
    const double few = std::min(most, independent_samples(right));
    return terms_.has_frequencies ? std::min(few, independent_frequencies(whole)) : few;
  }

  // Of a row that reads NaN or infinity, what may not show them. What must show them is looked at here.
  std::vector<bool> beyond_reach(std::int64_t row, const std::vector<double>& whole) {
    const std::int64_t length = std::ssize(whole);
    std::vector<std::int64_t> apart(length, kWholeRow);  // from the nearest one
    for (std::int64_t n = 0, last = -kWholeRow; n < length; ++n)
      apart[n] = n - (last = std::isfinite(whole[n]) ? last : n);
    for (std::int64_t n = length, next = 2 * kWholeRow; n-- > 0;)
      apart[n] = std::min(apart[n], (next = std::isfinite(whole[n]) ? next : n) - n);
    const bool is_lost = std::ranges::none_of(whole, [](double value) { return std::isfinite(value); });
    std::int64_t hidden = 0, shown = 0;
    for (std::int64_t n = 0; n < length; ++n)
      if (const std::int64_t at = terms_.order.first(row) + n * terms_.order.inner; apart[n] == 0 && is_known(at))
        ++(std::isfinite(made_[at]) ? hidden : shown);
    // Where all is lost, a kernel of pieces shows it in some of the row, which may be what nobody computed.
    const bool is_hidden = is_lost ? hidden == length && shown == 0 : hidden > 0;
    if (!terms_.shares_nonfinite && is_hidden)
      keep_worse(
          {row, terms_.order.place(row), kInfinity, 0, kInfinity, "does not show the NaN or infinity that it reads"});
    std::vector<bool> judged(length);
    for (std::int64_t n = 0; n < length; ++n) judged[n] = apart[n] < kWholeRow && apart[n] > terms_.nonfinite_reach;
    return judged;
  }

  // Sets both to 0 where a sample came out infinite and may, because the truth, or it and its error, is too large for
  // the type.
  void accept_overflow(std::int64_t row, double& right, double& made) {
    if (std::isfinite(made)) return;
    ++infinite_, too_large_ += overflows(terms_.dtype, right);
    const double rms = terms_.summed[row] / std::sqrt(static_cast<double>(terms_.order.length));
    const double error = bound_max(bounds_[row], terms_.order.length) * std::max(std::abs(right), rms);
    if (made == round_to(terms_.dtype, right + std::copysign(error, right))) right = made = 0;
  }

  void judge_row(std::int64_t row, std::span<const double> right, std::span<const double> made, double summed,
                 double few) {
    const auto count = static_cast<double>(right.size());
    const double size = norm(right), scale = std::max(size, summed);
    energies_ += scale * scale, energies_over_ += scale * scale * (scale * scale / few);
    ++rows_, few_ += few;
    double largest = 0, largest_right = 0, product = 0;
    std::vector<double> errors;
    errors.reserve(right.size());
    for (std::size_t i = 0; i < right.size(); ++i) {
      errors.push_back(made[i] - right[i]);
      largest = std::max(largest, std::abs(errors.back())), largest_right = std::max(largest_right, std::abs(right[i]));
      if (!std::isfinite(errors.back())) {
        const std::string instead = std::isfinite(right[i]) ? "" : text(", must be ", right[i]);
        keep_worse(
            {row, terms_.order.place(row), kInfinity, bounds_[row], kInfinity, text("a number is ", made[i], instead)});
        return;
      }
    }
    const double error = norm(errors);
    if (size > 0) {
      for (std::size_t i = 0; i < right.size(); ++i) product += right[i] * errors[i];
      product /= size;
    }
    const double bound = bounds_[row] * excess_of_few(few) * terms_.excess, floor = terms_.floor;
    const double allowed = bound * scale + floor * std::sqrt(count);
    const auto samples = static_cast<std::int64_t>(count);
    const double rms = scale / std::sqrt(std::min(count, terms_.samples[row]));
    const double allowed_max = bound_max(bound, samples) * std::max(largest_right, rms) + floor * bound_max(1, samples);
    // Numbers below half of the least step all become zero, so that errors of the floor do not average out.
    const double allowed_gain =
        few < kFewNumbers || size == 0
            ? allowed
            : bound_gain(bound * scale / size, static_cast<std::int64_t>(few)) * size + floor * std::sqrt(count);
    const double clearance =
        std::max({share(error, allowed), share(largest, allowed_max), share(std::abs(product), allowed_gain)});
    const double relative = error == 0 ? 0 : scale > 0 ? error / scale : kInfinity;
    keep_worse({row, terms_.order.place(row), relative, scale > 0 ? allowed / scale : bound, clearance, ""});
  }

  void keep_worse(RowVerdict row) {
    const bool fails = !row.reason.empty(), failed = !verdict_.row.reason.empty();
    if (!has_row_ || fails > failed || (fails == failed && row.clearance > verdict_.row.clearance))
      verdict_.row = std::move(row), has_row_ = true;
  }

  void judge_all() {
    verdict_.samples = compared();
    if (all_right_.empty()) {
      verdict_.passed = true;
      return;
    }
    const double summed = norm(summed_);
    Comparison& all = verdict_.all = compare(all_right_, all_made_, summed);
    all.worst = places_[all.worst];
    const double ratio = energies_ * energies_ / energies_over_;
    const double few = std::isfinite(ratio) ? ratio : static_cast<double>(rows_);  // of silence, or beyond any square
    const double against = all.cancelled > 1 ? summed : norm(all_right_);
    const double least = terms_.floor * std::sqrt(static_cast<double>(compared()));
    const double of_floor = against > 0 ? least / against : 0;
    const double l2 = std::ranges::max(bounds_) * excess_of_few(few);
    verdict_.bound = l2 + of_floor;
    const double gain = few_ < kFewNumbers * static_cast<double>(rows_)
                            ? verdict_.bound * all.cancelled
                            : bound_gain(l2 * all.cancelled, static_cast<std::int64_t>(few)) + of_floor * all.cancelled;
    const double of_l2 = share(all.rel_l2, verdict_.bound);
    const double of_all = std::max(of_l2, share(std::abs(all.gain_error), gain));  // largest errors are rows' own
    verdict_.clearance = std::max(of_all, verdict_.row.clearance);
    const double taken = share(all.rel_l2, std::ranges::max(bounds_));  // whatever few numbers may
    const bool is_usual = options_.usual_share == 1 || compared() < kManySamples || taken <= options_.usual_share;
    verdict_.passed = all.finite && of_all <= 1 && verdict_.row.clearance <= 1 && is_usual;
    if (verdict_.passed || !verdict_.row.reason.empty()) return;
    if (of_all <= 1 && verdict_.row.clearance > 1)
      verdict_.reason =
          text(verdict_.output, " at ", verdict_.row.place, ": the error of this row is ", verdict_.row.error,
               ", must be at most ", verdict_.row.bound, " (takes ", verdict_.row.clearance, " of its bounds)");
    else if (of_all <= 1)
      verdict_.reason = text("such data take at most ", options_.usual_share, " of the bound, not ", taken);
  }

  const OutputTerms& terms_;
  std::span<const double> right_, made_;
  const std::vector<bool>* known_;
  std::span<const double> tolerances_;
  const JudgeOptions& options_;
  std::vector<double> bounds_;
  std::vector<double> all_right_, all_made_;
  std::vector<std::int64_t> places_;  // of those, in the output
  std::vector<double> summed_;        // to what is judged of each row
  double energies_ = 0, energies_over_ = 0, few_ = 0;
  std::int64_t rows_ = 0, infinite_ = 0, too_large_ = 0;
  bool has_row_ = false;
  OutputVerdict verdict_;
};

// Whether a is to stand for a case in which b is too. No share of a NaN is the larger one.
bool is_worse(const OutputVerdict& a, const OutputVerdict& b) {
  if (a.passed != b.passed) return b.passed;
  return !(a.clearance <= b.clearance);
}

}  // namespace

std::int64_t RowOrder::rows() const {
  std::int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.extent;
  return product;
}

std::string RowOrder::place(std::int64_t row) const {
  std::string words;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    words.insert(0, text(axis->name, '=', row % axis->extent, words.empty() ? "" : ", "));
    row /= axis->extent;
  }
  return words;
}

double OutputTerms::summed_to_all() const {
  std::vector<double> counted;
  for (std::size_t row = 0; row < summed.size(); ++row)
    if (!is_spoiled[row]) counted.push_back(summed[row]);
  return norm(counted);
}

double OutputTerms::bound() const { return std::ranges::max(bounds); }

std::vector<OutputTerms> Judge::terms(const Values& inputs, const Promise& promise) const {
  std::vector<OutputTerms> all = row_terms(inputs, promise);
  for (OutputTerms& of : all) {
    // Below the smallest normal number of f16, an output is rounded to a multiple of 2^-24, whatever it is relative to.
    // fp32 loses what is below 2^-126, in states over their sizes 2^-120.
    of.floor = of.dtype == Dtype::f16 ? 0x1p-25 : of.dtype == Dtype::f64 ? 0 : 0x1p-120;
    const bool is_batched = std::ranges::find(of.order.axes, "b", &RowOrder::Axis::name) != of.order.axes.end();
    if (is_batched) of.nonfinite_reach = promise.nonfinite_reach;
    if (promise.shared_rows == 1) continue;
    of.shares_nonfinite = !promise.keeps_rows_apart;
    if (promise.keeps_rows_apart) of.excess = kPairExcess;
  }
  return all;
}

Array Judge::array(std::string_view name) const {
  const std::vector<Array> arrays = asked_.arrays();
  const auto found = std::ranges::find(arrays, name, &Array::name);
  if (found == arrays.end()) fail("judge: ", asked_.token(), " has no array ", name);
  return *found;
}

Bounds double_bounds(const Case& asked) {
  const double own = 2 * judge_of(asked)->bound_of_truth();
  Bounds bounds;
  for (const Array& array : asked.arrays())
    if (array.role == Role::output)
      bounds.emplace(array.name, own + (array.dtype == Dtype::f64 ? 0 : bound_l2_of_roundings(array.dtype, 1)));
  return bounds;
}

const OutputVerdict* Verdict::worst() const {
  const OutputVerdict* most = nullptr;
  for (const OutputVerdict& output : outputs)
    if (!most || is_worse(output, *most)) most = &output;
  return most;
}

Verdict verdict_on(const Judge& judge, const Values& inputs, const Values& outputs, const Expected& expected,
                   const std::vector<OutputTerms>& terms, const JudgeOptions& options) {
  const Values right = judge.compared(inputs, expected.outputs), made = judge.compared(inputs, outputs),
               tolerances = judge.compared(inputs, options.tolerances);
  Verdict verdict;
  double known = 0, all = 0;
  for (const OutputTerms& of : terms) {
    const std::vector<double>&a = array_in(right, of.name), &b = array_in(made, of.name);
    const auto size = static_cast<std::size_t>(of.order.rows() * of.order.length);
    if (a.size() != size || b.size() != size)
      fail("judge: ", of.name, " has ", b.size(), " numbers and the truth ", a.size(), ", must be ", size);
    const auto some = options.known.find(of.name);
    const std::vector<bool>* mask = some == options.known.end() ? nullptr : &some->second;
    const auto count = mask ? std::ranges::count(*mask, true) : static_cast<std::ptrdiff_t>(size);
    known += static_cast<double>(count), all += static_cast<double>(size);
    if (count > 0)
      verdict.outputs.push_back(
          OutputJudge(of, a, b, mask, array_in(tolerances, of.name), options, expected.bound).verdict());
  }
  verdict.known = all > 0 ? known / all : 1;
  return verdict;
}

Verdict verdict_on(const Case& asked, const Values& inputs, const Values& outputs, const Promise& promise,
                   const JudgeOptions& options) {
  const auto judge = judge_of(asked);
  return verdict_on(*judge, inputs, outputs, judge->expected(inputs), judge->terms(inputs, promise), options);
}

std::vector<AdjointError> adjoint_errors(const Values& inputs, const Values& outputs, const AdjointProduct& product,
                                         const std::vector<OutputTerms>& terms) {
  constexpr double kDeviations = 4;
  const double behind_bias = product.whole - product.of_bias;
  const struct {
    std::string_view output, input;
    double product;
  } pairs[] = {{"y", "dy", product.whole},
               {"du", "u", behind_bias},
               {"dk", "k", behind_bias},
               {"dw", "w", product.whole},
               {"dbias", "bias", product.of_bias},
               {"dpregate", "pregate", behind_bias},
               {"dpostgate", "postgate", product.whole}};
  std::vector<AdjointError> errors;
  for (const auto& [output, input, right] : pairs) {
    const auto made = outputs.find(output);
    if (made == outputs.end()) continue;
    const std::vector<double>& other = array_in(inputs, input);
    const OutputTerms& of = *std::ranges::find(terms, output, &OutputTerms::name);
    const double size = norm(other), count = std::sqrt(static_cast<double>(other.size()));
    const double dot = std::inner_product(other.begin(), other.end(), made->second.begin(), 0.);
    errors.push_back(
        {output, dot - right, kDeviations * of.bound() * of.summed_to_all() * size / count + of.floor * size * count});
  }
  return errors;
}

const std::vector<double>& array_in(const Values& values, std::string_view name) {
  static const std::vector<double> kNone;
  const auto array = values.find(name);
  return array == values.end() ? kNone : array->second;
}

}  // namespace danaus
