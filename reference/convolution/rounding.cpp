#include "reference/convolution/rounding.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <memory>

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/fold.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/convolution/monarch.hpp"
#include "reference/convolution/rows.hpp"
#include "reference/dft.hpp"
#include "reference/half.hpp"

namespace danaus {
namespace {

// Products accumulate in Real: float, or double in an f64 case.
template <class Real>
class Rounded final : public RowMethod {
 public:
  Rounded(const Convolution& planned, Scaling scaling) : p_(planned), order_(monarch_order(p_.factors)) {
    if (!p_.mask.empty()) kept_ = kept_frequencies(p_);
    for (const MonarchStage& exact : monarch_stages(p_.factors)) add_stage(exact, scaling);
  }

  bool takes_pairs() const override { return shares_transforms(p_); }

  void set_filter(std::span<const double> filter) override {
    const std::int64_t n = p_.fft_size;
    switch (*p_.fold) {
      case Fold::half: spectrum_ = half_to_spectrum(dft(fold_half(filter, n))); break;
      case Fold::right_angle: spectrum_ = dft(fold_right_angle(filter, n)); break;
      default: spectrum_ = dft(fold_pair(filter, {}, n));
    }
    for (std::size_t k = 0; k < kept_.size(); ++k) spectrum_[k] *= kept_[k];
    round(spectrum_);
  }

  void apply(std::span<const double> first, std::span<const double> second, std::span<double> y_first,
             std::span<double> y_second) const override {
    const std::int64_t n = p_.fft_size;
    std::vector<Complex> spectrum = forward(p_.fold == Fold::half ? fold_half(first, n) : fold_pair(first, second, n));
    if (p_.fold == Fold::half) {
      spectrum = half_to_spectrum(spectrum);
      round(spectrum);
    }
    for (std::size_t k = 0; k < spectrum.size(); ++k) spectrum[k] *= spectrum_[k];
    round(spectrum);
    if (p_.fold == Fold::half) {
      spectrum = spectrum_to_half(spectrum);
      round(spectrum);
    }
    const std::vector<Complex> z = inverse(spectrum);

    std::vector<double> results(p_.fold == Fold::right_angle ? 2 * n : n), second_results(second.empty() ? 0 : n);
    switch (*p_.fold) {
      case Fold::half: unfold_half(z, results); break;
      case Fold::right_angle: unfold_pair(z, std::span(results).first(n), std::span(results).last(n)); break;
      default: unfold_pair(z, results, second_results);
    }
    to_length(p_.mode, results, y_first);
    to_length(p_.mode, second_results, y_second);
  }

 private:
  using Matrix = Eigen::Matrix<std::complex<Real>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  struct Stage {
    std::int64_t factor, before, after;
    Matrix dft, inverse_dft;          // [Ns, Ns]
    Matrix twiddle, inverse_twiddle;  // [after, Ns]
  };

  void add_stage(const MonarchStage& exact, Scaling scaling) {
    const std::int64_t points = complex_points(p_);
    const double scale = scaling == Scaling::unitary ? 1 / std::sqrt(exact.factor) : 1;
    RowMatrix matrix = scale * exact.dft, twiddle = exact.twiddle;
    RowMatrix inverse_matrix = matrix.conjugate(), inverse_twiddle = twiddle.conjugate();
    if (stages_.empty() && p_.fold == Fold::right_angle) {
      // exp(i pi n / 2N) with n = n1 * after + rest: the digit's part goes to the matrix, the rest's to the twiddle.
      for (std::int64_t digit = 0; digit < exact.factor; ++digit) {
        const Complex weight = root_of_unity(-digit, 4 * exact.factor);
        matrix.row(digit) *= weight;
        inverse_matrix.row(digit) *= std::conj(weight);
      }
      for (std::int64_t rest = 0; rest < exact.after; ++rest) {
        const Complex weight = root_of_unity(-rest, 4 * points);
        twiddle.row(rest) *= weight;
        inverse_twiddle.row(rest) *= std::conj(weight);
      }
    }
    if (stages_.empty() && scaling == Scaling::one_side)
      (exact.after > 1 ? twiddle : matrix) /= static_cast<double>(points);
    stages_.push_back({exact.factor, exact.before, exact.after, rounded(matrix), rounded(inverse_matrix),
                       rounded(twiddle), rounded(inverse_twiddle)});
  }

  std::vector<Complex> forward(const std::vector<Complex>& points) const {
    const std::int64_t n = std::ssize(points);
    Matrix data = Eigen::Map<const RowMatrix>(points.data(), 1, n).template cast<std::complex<Real>>();
    for (const Stage& stage : stages_) {
      const std::int64_t runs = n / stage.factor;
      data = (Eigen::Map<const Matrix>(data.data(), stage.factor, runs).transpose() * stage.dft).eval();
      round(data);
      twiddle(data, stage, stage.twiddle);
    }
    std::vector<Complex> spectrum(n);
    for (std::int64_t place = 0; place < n; ++place) spectrum[order_[place]] = data.data()[place];
    return spectrum;
  }

  std::vector<Complex> inverse(const std::vector<Complex>& spectrum) const {
    const std::int64_t n = std::ssize(spectrum);
    Matrix data(1, n);
    for (std::int64_t place = 0; place < n; ++place)
      data.data()[place] = static_cast<std::complex<Real>>(spectrum[order_[place]]);
    for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
      data.resize(n / stage->factor, stage->factor);
      twiddle(data, *stage, stage->inverse_twiddle);
      data = (stage->inverse_dft * data.transpose()).eval();
      round(data);
    }
    std::vector<Complex> points(n);
    for (std::int64_t place = 0; place < n; ++place) points[place] = data.data()[place];
    return points;
  }

  void twiddle(Matrix& data, const Stage& stage, const Matrix& by) const {
    if (stage.after == 1) return;
    for (std::int64_t run = 0; run < data.rows(); ++run)
      data.row(run) = data.row(run).cwiseProduct(by.row(run / stage.before));
    round(data);
  }

  Matrix rounded(const RowMatrix& exact) const {
    return exact.unaryExpr([this](Complex value) {
      return std::complex<Real>(static_cast<Real>(round_to(p_.dtype, value.real())),
                                static_cast<Real>(round_to(p_.dtype, value.imag())));
    });
  }

  void round(Matrix& data) const {
    for (std::int64_t i = 0; i < data.size(); ++i) round(data.data()[i]);
  }
  void round(std::vector<Complex>& data) const {
    for (Complex& value : data) round(value);
  }
  template <class T>
  void round(std::complex<T>& value) const {
    value = {static_cast<T>(round_to(p_.dtype, value.real())), static_cast<T>(round_to(p_.dtype, value.imag()))};
  }

  Convolution p_;
  std::vector<std::int64_t> order_;
  std::vector<Stage> stages_;
  std::vector<std::uint8_t> kept_;  // empty without a mask
  std::vector<Complex> spectrum_;   // natural order; N/2 + 1 frequencies in the half fold
};

}  // namespace

std::string_view name(Scaling scaling) { return name_in(kScalings, scaling); }

std::vector<double> convolve_rounded(const Convolution& problem, const Inputs& inputs, Scaling scaling) {
  const Convolution p = planned(problem);
  check_inputs(p, inputs);
  if (p.dtype == Dtype::f64) {
    Rounded<double> method(p, scaling);
    return convolve_rows(p, inputs, method, p.dtype);
  }
  Rounded<float> method(p, scaling);
  return convolve_rows(p, inputs, method, p.dtype);
}

double bound_l2_of_kernel(const Convolution& p, int roundings) {
  if (p.dtype == Dtype::f16) return bound_l2_of_roundings(p.dtype, roundings + p.pregate + p.postgate);
  return std::hypot(bound_l2_of_roundings(Dtype::f16, roundings), bound_l2_of_roundings(p.dtype, 1 + p.pregate));
}

double bound_l2_of_correlation(const Convolution& p, int roundings) {
  const int gates = p.pregate + p.postgate;
  return std::hypot(bound_l2_of_roundings(Dtype::f16, roundings),
                    gates > 0 ? bound_l2_of_roundings(p.dtype, gates) : 0);
}

double bound_l2(Dtype dtype, int order) { return bound_l2_of_roundings(dtype, 8 * order - 1); }

}  // namespace danaus
