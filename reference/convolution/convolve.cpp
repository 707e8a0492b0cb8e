#include "reference/convolution/convolve.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <memory>

#include "reference/convolution/fold.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/convolution/monarch.hpp"
#include "reference/convolution/rows.hpp"
#include "reference/dft.hpp"

namespace danaus {
namespace {

constexpr int kLargestDenseStage = 64;
constexpr int kHighestOrder = 5;

std::vector<double> padded(std::span<const double> x, std::int64_t n) {
  std::vector<double> longer(x.begin(), x.end());
  longer.resize(n);
  return longer;
}

// X[k] = sum x[n] w^(n k) as it is written; `turn` is 1, or -1 for the conjugate.
std::vector<Complex> summed_dft(std::span<const Complex> x, int turn) {
  const std::int64_t n = std::ssize(x);
  std::vector<Complex> root(n), spectrum(n);
  for (std::int64_t k = 0; k < n; ++k) root[k] = root_of_unity(turn * k, n);
  for (std::int64_t k = 0; k < n; ++k)
    for (std::int64_t j = 0; j < n; ++j) spectrum[k] += x[j] * root[j * k % n];
  return spectrum;
}

// Pairwise, so that the error grows with the logarithm of the length.
double dot(const Eigen::Ref<const Eigen::VectorXd>& a, const Eigen::Ref<const Eigen::VectorXd>& b) {
  const std::int64_t size = a.size(), half = size / 2;
  if (size <= 256) return a.dot(b);
  return dot(a.head(half), b.head(half)) + dot(a.tail(size - half), b.tail(size - half));
}

// y[n] = sum_m filter[m] x[n - m], where x is zero or repeats before its first sample.
class Direct final : public RowMethod {
 public:
  explicit Direct(const Convolution& p) : mode_(p.mode), period_(p.length) {
    if (p.mask.empty()) return;
    kept_ = kept_frequencies(p);
    period_ = std::ssize(kept_);
  }

  void set_filter(std::span<const double> filter) override {
    std::vector<double> used(filter.begin(), filter.end());
    if (!kept_.empty()) {
      std::vector<Complex> spectrum = summed_dft(fold_pair(filter, {}, period_), 1);
      for (std::int64_t k = 0; k < period_; ++k) spectrum[k] *= kept_[k];
      const std::vector<Complex> masked = summed_dft(spectrum, -1);
      used.resize(period_);
      for (std::int64_t j = 0; j < period_; ++j) used[j] = masked[j].real() / static_cast<double>(period_);
    }
    reversed_ = Eigen::Map<const Eigen::VectorXd>(used.data(), std::ssize(used)).reverse();
  }

  void apply(std::span<const double> x, std::span<const double>, std::span<double> y,
             std::span<double>) const override {
    const std::int64_t before = reversed_.size() - 1;
    Eigen::VectorXd history = Eigen::VectorXd::Zero(before + period_);
    for (std::int64_t j = 0; j < std::ssize(x); ++j) history[before + j] = x[j];
    if (mode_ == Mode::circular || !kept_.empty()) history.head(before) = history.tail(before);
    std::vector<double> results(period_);
    for (std::int64_t n = 0; n < period_; ++n) results[n] = dot(reversed_, history.segment(n, reversed_.size()));
    to_length(mode_, results, y);
  }

 private:
  Mode mode_;
  std::int64_t period_;
  std::vector<std::uint8_t> kept_;  // empty without a mask
  Eigen::VectorXd reversed_;
};

class Fftw final : public RowMethod {
 public:
  explicit Fftw(const Convolution& p) : mode_(p.mode), n_(real_fft_size(p)), weights_(real_mask_weights(p)) {}

  void set_filter(std::span<const double> filter) override {
    spectrum_ = real_dft(padded(filter, n_));
    for (std::size_t k = 0; k < weights_.size(); ++k) spectrum_[k] *= weights_[k];
  }

  void apply(std::span<const double> x, std::span<const double>, std::span<double> y,
             std::span<double>) const override {
    std::vector<Complex> product = real_dft(padded(x, n_));
    for (std::size_t k = 0; k < product.size(); ++k) product[k] *= spectrum_[k];
    to_length(mode_, inverse_real_dft(product, n_), y);
  }

  // Of the filter as the mask leaves it, [N].
  std::vector<double> taps() const { return inverse_real_dft(spectrum_, n_); }

 private:
  Mode mode_;
  std::int64_t n_;
  std::vector<double> weights_;
  std::vector<Complex> spectrum_;
};

class ByMonarch final : public RowMethod {
 public:
  explicit ByMonarch(const Convolution& planned) : p_(planned), monarch_(p_.factors) {
    if (!p_.mask.empty()) kept_ = kept_frequencies(p_);
  }

  bool takes_pairs() const override { return shares_transforms(p_); }

  void set_filter(std::span<const double> filter) override {
    spectrum_ = monarch_.forward(fold(filter, {}));
    for (std::size_t k = 0; k < kept_.size(); ++k) spectrum_[k] *= kept_[k];
  }

  void apply(std::span<const double> first, std::span<const double> second, std::span<double> y_first,
             std::span<double> y_second) const override {
    std::vector<Complex> product = monarch_.forward(fold(first, second));
    if (p_.fold == Fold::half) {
      product = half_product(product, spectrum_);
    } else {
      for (std::size_t k = 0; k < product.size(); ++k) product[k] *= spectrum_[k];
    }
    const std::vector<Complex> z = monarch_.inverse(product);
    std::vector<double> results(p_.fold == Fold::right_angle ? 2 * p_.fft_size : p_.fft_size), second_results;
    switch (*p_.fold) {
      case Fold::plain:
      case Fold::pair:
        if (!second.empty()) second_results.resize(p_.fft_size);
        unfold_pair(z, results, second_results);
        break;
      case Fold::half: unfold_half(z, results); break;
      case Fold::right_angle:
        unfold_right_angle(z, std::span(results).first(p_.fft_size), std::span(results).last(p_.fft_size));
        break;
    }
    to_length(p_.mode, results, y_first);
    to_length(p_.mode, second_results, y_second);
  }

 private:
  std::vector<Complex> fold(std::span<const double> first, std::span<const double> second) const {
    switch (*p_.fold) {
      case Fold::half: return fold_half(first, p_.fft_size);
      case Fold::right_angle: return fold_right_angle(first, p_.fft_size);
      default: return fold_pair(first, second, p_.fft_size);
    }
  }

  Convolution p_;
  Monarch monarch_;
  std::vector<std::uint8_t> kept_;  // empty without a mask
  std::vector<Complex> spectrum_;
};

std::unique_ptr<RowMethod> make_method(const Convolution& problem, Algorithm method) {
  switch (method) {
    case Algorithm::direct: return std::make_unique<Direct>(problem);
    case Algorithm::fftw: return std::make_unique<Fftw>(problem);
    case Algorithm::monarch: return std::make_unique<ByMonarch>(planned(problem));
  }
  fail("convolve: method ", int(method), " is none of direct, fftw, monarch");
}

}  // namespace

std::string_view name(Algorithm method) { return name_in(kAlgorithms, method); }

std::vector<double> convolve(const Convolution& problem, const Inputs& inputs, Algorithm method) {
  validate(problem);
  check_inputs(problem, inputs);
  return convolve_rows(problem, inputs, *make_method(problem, method));
}

std::int64_t real_fft_size(const Convolution& problem) {
  if (!problem.mask.empty()) return resolved(problem).fft_size;
  return problem.mode == Mode::circular ? problem.length : next_smooth(smallest_linear_fft_size(problem));
}

std::vector<double> masked_filters(const Convolution& problem, std::span<const double> k) {
  Fftw method(problem);
  std::vector<double> all;
  for (std::int64_t h = 0; h < problem.channels; ++h) {
    method.set_filter(effective_filter(problem, k.subspan(h * problem.filter_length, problem.filter_length)));
    const std::vector<double> left = method.taps();
    all.insert(all.end(), left.begin(), left.end());
  }
  return all;
}

Convolution planned(const Convolution& problem) {
  validate(problem);
  Convolution open = problem;
  if (open.fft_size != 0 && open.fft_size < open.length)  // chunks are a kernel's
    open.fft_size = 0, open.fold.reset(), open.factors.clear();
  Convolution p = resolved(open);
  const auto largest_stage = [&] { return balanced_factors(complex_points(p), kHighestOrder).front(); };
  if (open.fft_size == 0 && p.factors.empty() && largest_stage() > kLargestDenseStage) {
    const std::int64_t least = p.fold == Fold::right_angle ? p.length : smallest_linear_fft_size(p);
    p.fft_size = p.fold == Fold::half ? 2 * next_smooth((least + 1) / 2) : next_smooth(least);
  }
  const int allowed = std::max(kLargestDenseStage, largest_stage());
  for (int order = 1; p.factors.empty(); ++order) {
    std::vector<int> factors = balanced_factors(complex_points(p), order);
    if (factors.front() <= allowed) p.factors = std::move(factors);
  }
  return p;
}

}  // namespace danaus
