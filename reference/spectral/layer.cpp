#include "reference/spectral/layer.hpp"

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "reference/bounds.hpp"
#include "reference/dft.hpp"
#include "reference/half.hpp"

namespace danaus {
namespace {

// The nearest number of TF32's 11 bits, ties away from zero, as cvt.rna has it.
float round_to_tf32(float value) {
  if (!std::isfinite(value)) return value;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000u) & ~0x1fffu);
}

std::size_t row_of(const Spectral& p, std::int64_t channels, std::int64_t b, std::int64_t c) {
  return static_cast<std::size_t>((p.channel_major ? c * p.batch + b : b * channels + c) * points_of_row(p));
}

// Field of a row as X x Y, of one axis as X x 1.
struct Extents {
  explicit Extents(const Spectral& p) : x(p.lengths[0]), y(p.lengths.size() == 2 ? p.lengths[1] : 1) {}
  std::int64_t x, y;
};

Eigen::MatrixXcd read_row(const Spectral& p, std::int64_t channels, std::span<const double> samples, std::int64_t b,
                          std::int64_t c) {
  const Extents e(p);
  const std::size_t row = row_of(p, channels, b, c);
  Eigen::MatrixXcd field(e.x, e.y);
  for (std::int64_t i = 0; i < e.x * e.y; ++i)
    field(i / e.y, i % e.y) =
        p.complex ? Complex(samples[2 * (row + i)], samples[2 * (row + i) + 1]) : Complex(samples[row + i]);
  return field;
}

void write_row(const Spectral& p, const Eigen::MatrixXcd& field, std::int64_t b, std::int64_t c,
               std::span<double> samples) {
  const Extents e(p);
  const std::size_t row = row_of(p, p.outputs, b, c);
  for (std::int64_t i = 0; i < e.x * e.y; ++i) {
    const Complex value = field(i / e.y, i % e.y);
    if (p.complex) {
      samples[2 * (row + i)] = value.real(), samples[2 * (row + i) + 1] = value.imag();
    } else {
      samples[row + i] = value.real();
    }
  }
}

Complex weight_at(const Spectral& p, std::span<const double> w, std::int64_t in, std::int64_t out, std::int64_t mode) {
  const std::int64_t of_pair = p.shared ? 1 : kept_count(p);
  const std::int64_t pair = p.adjoint ? out * p.inputs + in : in * p.outputs + out;
  const auto at = static_cast<std::size_t>(2 * (pair * of_pair + (p.shared ? 0 : mode)));
  return {w[at], p.adjoint ? -w[at + 1] : w[at + 1]};
}

void check(const Spectral& p, const SpectralInputs& inputs) {
  validate(p);
  const std::vector<Array> list = arrays(p);
  const auto check_one = [](const Array& array, const std::vector<double>& values) {
    if (std::ssize(values) != array.size())
      fail("spectral: ", array.name, " has ", values.size(), " numbers, the case needs ", array.size());
  };
  check_one(list[0], inputs.u), check_one(list[1], inputs.w);
}

// Spectra are Mx x My, of one axis Mx x 1. What differs is how a row goes there and back.
std::vector<double> compute(
    const Spectral& p, const SpectralInputs& inputs,
    const std::function<Eigen::MatrixXcd(const Eigen::MatrixXcd&)>& forward,
    const std::function<Eigen::MatrixXcd(const std::vector<Eigen::MatrixXcd>&, std::int64_t)>& mix,
    const std::function<Eigen::MatrixXcd(const Eigen::MatrixXcd&)>& inverse) {
  check(p, inputs);
  std::vector<double> y(arrays(p)[2].size());
  for (std::int64_t b = 0; b < p.batch; ++b) {
    std::vector<Eigen::MatrixXcd> spectra;
    for (std::int64_t c = 0; c < p.inputs; ++c) spectra.push_back(forward(read_row(p, p.inputs, inputs.u, b, c)));
    for (std::int64_t c = 0; c < p.outputs; ++c) write_row(p, inverse(mix(spectra, c)), b, c, y);
  }
  return y;
}

// Matrices of one axis: rows of the DFT that are kept, and columns of its inverse; of a half axis those of the mirror
// images are added, so that the real part of the product is the result.
struct Axis {
  Eigen::MatrixXcd forward, inverse;
  Axis(const Spectral& p, std::size_t axis) {
    const int length = p.lengths[axis];
    const std::vector<int> kept = kept_on_axis(p, axis);
    forward.resize(std::ssize(kept), length), inverse.resize(length, std::ssize(kept));
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const bool mirrored = is_half_axis(p, axis) && kept[i] > 0 && 2 * kept[i] < length;
      for (int n = 0; n < length; ++n) {
        forward(i, n) = root_of_unity(std::int64_t{kept[i]} * n, length);
        inverse(n, i) = std::conj(forward(i, n)) * (mirrored ? 2. : 1.) / static_cast<double>(length);
      }
    }
  }
};

class Matrices {
 public:
  explicit Matrices(const Spectral& p) : p_(p) {
    for (std::size_t axis = 0; axis < p.lengths.size(); ++axis) axes_.emplace_back(p, axis);
  }
  std::vector<double> apply(const SpectralInputs& inputs) const {
    return compute(
        p_, inputs,
        [&](const Eigen::MatrixXcd& field) -> Eigen::MatrixXcd {
          if (axes_.size() == 1) return axes_[0].forward * field;
          return axes_[0].forward * (field * axes_[1].forward.transpose());
        },
        [&](const std::vector<Eigen::MatrixXcd>& spectra, std::int64_t c) { return mixed(inputs.w, spectra, c); },
        [&](const Eigen::MatrixXcd& spectrum) -> Eigen::MatrixXcd {
          if (axes_.size() == 1) return axes_[0].inverse * spectrum;
          return (axes_[0].inverse * spectrum) * axes_[1].inverse.transpose();
        });
  }

 private:
  Eigen::MatrixXcd mixed(std::span<const double> w, const std::vector<Eigen::MatrixXcd>& spectra,
                         std::int64_t c) const {
    Eigen::MatrixXcd sum = Eigen::MatrixXcd::Zero(spectra[0].rows(), spectra[0].cols());
    for (std::int64_t in = 0; in < p_.inputs; ++in)
      for (Eigen::Index i = 0; i < sum.size(); ++i) {
        const Eigen::Index row = i / sum.cols(), column = i % sum.cols();
        sum(row, column) += weight_at(p_, w, in, c, i) * spectra[in](row, column);
      }
    return sum;
  }
  Spectral p_;
  std::vector<Axis> axes_;
};

// The same, rounded. Products accumulate in Real.
template <class Real>
class RoundedLayer {
 public:
  using Matrix = Eigen::Matrix<std::complex<Real>, Eigen::Dynamic, Eigen::Dynamic>;

  explicit RoundedLayer(const Spectral& p) : p_(p) {
    for (std::size_t axis = 0; axis < p.lengths.size(); ++axis) {
      const Axis exact(p, axis);
      // Of unit size, as kernels have them: 1 / X goes to the result.
      forward_.push_back(rounded(exact.forward.cast<std::complex<Real>>()));
      inverse_.push_back(rounded((exact.inverse * double(p.lengths[axis])).template cast<std::complex<Real>>()));
    }
  }
  std::vector<double> apply(const SpectralInputs& inputs) const {
    std::vector<double> y = compute(
        p_, inputs,
        [&](const Eigen::MatrixXcd& field) {
          Matrix z = rounded(field.cast<std::complex<Real>>());
          if (axes() == 2) z = rounded((z * forward_[1].transpose()).eval());
          return rounded((forward_[0] * z).eval()).template cast<Complex>().eval();
        },
        [&](const std::vector<Eigen::MatrixXcd>& spectra, std::int64_t c) { return mixed(inputs.w, spectra, c); },
        [&](const Eigen::MatrixXcd& spectrum) {
          Matrix z = (inverse_[0] * spectrum.cast<std::complex<Real>>()).eval();
          if (axes() == 2) z = (rounded(z) * inverse_[1].transpose()).eval();
          return (z.template cast<Complex>() / static_cast<double>(points_of_row(p_))).eval();
        });
    for (double& value : y) value = round_to(p_.dtype, value);
    return y;
  }

 private:
  std::size_t axes() const { return forward_.size(); }
  Real rounded(Real value) const {
    if (p_.tf32) return round_to_tf32(static_cast<float>(value));
    return static_cast<Real>(round_to(p_.dtype, value));
  }
  std::complex<Real> rounded(std::complex<Real> z) const { return {rounded(z.real()), rounded(z.imag())}; }
  Matrix rounded(const Matrix& exact) const {
    return exact.unaryExpr([this](std::complex<Real> z) { return rounded(z); });
  }
  Eigen::MatrixXcd mixed(std::span<const double> w, const std::vector<Eigen::MatrixXcd>& spectra,
                         std::int64_t c) const {
    Matrix sum = Matrix::Zero(spectra[0].rows(), spectra[0].cols());
    for (std::int64_t in = 0; in < p_.inputs; ++in)
      for (Eigen::Index i = 0; i < sum.size(); ++i) {
        const Eigen::Index row = i / sum.cols(), column = i % sum.cols();
        const auto weight = static_cast<std::complex<Real>>(weight_at(p_, w, in, c, i));
        sum(row, column) += rounded(weight) * static_cast<std::complex<Real>>(spectra[in](row, column));
      }
    return rounded(sum).template cast<Complex>();
  }

  Spectral p_;
  std::vector<Matrix> forward_, inverse_;
};

// FFTW along one axis of a field: `transform` of each column, or row.
template <class Transform>
Eigen::MatrixXcd along(const Eigen::MatrixXcd& field, bool columns, Transform transform) {
  const Eigen::MatrixXcd lines = columns ? field : field.transpose();
  Eigen::MatrixXcd result;
  for (Eigen::Index i = 0; i < lines.cols(); ++i) {
    const Eigen::VectorXcd line = lines.col(i);
    const auto image = transform(std::span<const Complex>(line.data(), line.size()));
    result.conservativeResize(std::ssize(image), lines.cols());
    for (std::size_t k = 0; k < image.size(); ++k) result(k, i) = image[k];
  }
  if (!columns) result.transposeInPlace();
  return result;
}

std::vector<Complex> kept_part(const std::vector<Complex>& spectrum, const std::vector<int>& kept) {
  std::vector<Complex> part;
  for (int k : kept) part.push_back(spectrum[k]);
  return part;
}
std::vector<Complex> padded(std::span<const Complex> part, const std::vector<int>& kept, int length) {
  std::vector<Complex> spectrum(length);
  for (std::size_t i = 0; i < kept.size(); ++i) spectrum[kept[i]] = part[i];
  return spectrum;
}

// Mx x My by FFTW, of one axis Mx x 1.
Eigen::MatrixXcd kept_spectrum(const Spectral& p, const Eigen::MatrixXcd& field) {
  const auto of = [&](std::size_t axis) {
    return [&, axis](std::span<const Complex> line) { return kept_part(dft(line), kept_on_axis(p, axis)); };
  };
  const Eigen::MatrixXcd z = along(field, true, of(0));
  return p.lengths.size() == 1 ? z : along(z, false, of(1));
}

}  // namespace

SpectralInputs make_inputs(const Spectral& p, std::uint64_t seed) {
  const std::string word = token(p);
  std::seed_seq mixed(word.begin(), word.end());
  std::mt19937_64 random(std::mt19937_64(mixed)() + seed);
  std::normal_distribution<double> normal;
  const std::vector<Array> list = arrays(p);
  const auto draw = [&](const Array& array, double scale) {
    std::vector<double> values(array.size());
    for (double& value : values) value = round_to(array.dtype, scale * normal(random));
    return values;
  };
  SpectralInputs inputs;
  inputs.u = draw(list[0], 1);
  inputs.w = draw(list[1], std::sqrt(0.5 / static_cast<double>(p.inputs)));
  return inputs;
}

Values values_of(SpectralInputs inputs) { return {{"u", std::move(inputs.u)}, {"w", std::move(inputs.w)}}; }

std::vector<double> layer_by_matrices(const Spectral& p, const SpectralInputs& inputs) {
  return Matrices(p).apply(inputs);
}

std::vector<double> layer_by_fftw(const Spectral& p, const SpectralInputs& inputs) {
  const auto inverse_of = [&](std::size_t axis) {
    return [&, axis](std::span<const Complex> line) {
      const int length = p.lengths[axis];
      if (!is_half_axis(p, axis)) return inverse_dft(padded(line, kept_on_axis(p, axis), length));
      const auto real = inverse_real_dft(padded(line, kept_on_axis(p, axis), length / 2 + 1), length);
      return std::vector<Complex>(real.begin(), real.end());
    };
  };
  return compute(
      p, inputs, [&](const Eigen::MatrixXcd& field) { return kept_spectrum(p, field); },
      [&](const std::vector<Eigen::MatrixXcd>& spectra, std::int64_t c) {
        Eigen::MatrixXcd sum = Eigen::MatrixXcd::Zero(spectra[0].rows(), spectra[0].cols());
        for (std::int64_t in = 0; in < p.inputs; ++in)
          for (Eigen::Index row = 0; row < sum.rows(); ++row)
            for (Eigen::Index column = 0; column < sum.cols(); ++column)
              sum(row, column) += weight_at(p, inputs.w, in, c, row * sum.cols() + column) * spectra[in](row, column);
        return sum;
      },
      [&](const Eigen::MatrixXcd& spectrum) {
        const Eigen::MatrixXcd z = along(spectrum, true, inverse_of(0));
        return p.lengths.size() == 1 ? z : along(z, false, inverse_of(1));
      });
}

std::vector<double> kept_squares(const Spectral& p, std::int64_t channels, std::span<const double> samples) {
  std::vector<double> squares;
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t c = 0; c < channels; ++c) {
      const Eigen::MatrixXcd spectrum = kept_spectrum(p, read_row(p, channels, samples, b, c));
      for (Eigen::Index row = 0; row < spectrum.rows(); ++row)
        for (Eigen::Index column = 0; column < spectrum.cols(); ++column)
          squares.push_back(std::norm(spectrum(row, column)));
    }
  return squares;
}

std::vector<double> gradient_of_weights(const Spectral& p, std::span<const double> u, std::span<const double> dy) {
  if (p.adjoint) fail("spectral: an adjoint has no gradient of its weights; ask for that of the layer");
  const std::vector<Array> list = arrays(p);
  if (std::ssize(u) != list[0].size() || std::ssize(dy) != list[2].size())
    fail("spectral: u and dy have ", u.size(), " and ", dy.size(), " numbers, the case needs ", list[0].size(), " and ",
         list[2].size());
  const std::int64_t matrices = p.shared ? 1 : kept_count(p), last = std::ssize(kept_on_axis(p, p.lengths.size() - 1));
  const auto copies = [&](std::int64_t mode) {
    const std::int64_t k = mode % last;
    return !p.complex && k > 0 && 2 * k < p.lengths.back() ? 2. : 1.;
  };
  std::vector<double> dw(list[1].size());
  for (std::int64_t b = 0; b < p.batch; ++b) {
    std::vector<Eigen::MatrixXcd> spectra;
    for (std::int64_t c = 0; c < p.inputs; ++c) spectra.push_back(kept_spectrum(p, read_row(p, p.inputs, u, b, c)));
    for (std::int64_t out = 0; out < p.outputs; ++out) {
      const Eigen::MatrixXcd g = kept_spectrum(p, read_row(p, p.outputs, dy, b, out));
      for (std::int64_t in = 0; in < p.inputs; ++in)
        for (std::int64_t mode = 0; mode < kept_count(p); ++mode) {
          const Eigen::Index row = mode / g.cols(), column = mode % g.cols();
          const Complex product = std::conj(spectra[in](row, column)) * g(row, column) * copies(mode) /
                                  static_cast<double>(points_of_row(p));
          const auto at = static_cast<std::size_t>(2 * ((in * p.outputs + out) * matrices + (p.shared ? 0 : mode)));
          dw[at] += product.real(), dw[at + 1] += product.imag();
        }
    }
  }
  return dw;
}

std::vector<double> layer_rounded(const Spectral& p, const SpectralInputs& inputs) {
  if (p.dtype == Dtype::f64) return RoundedLayer<double>(p).apply(inputs);
  return RoundedLayer<float>(p).apply(inputs);
}

int roundings_of_layer(const Spectral& p) { return 3 + 4 * static_cast<int>(p.lengths.size()); }

double bound_l2(const Spectral& p) {
  return bound_l2_of_roundings(p.tf32 ? Dtype::f16 : p.dtype, roundings_of_layer(p));
}

double bound_l2_of_gradient(const Spectral& p) {
  return bound_l2_of_roundings(p.tf32 ? Dtype::f16 : p.dtype, 2 + 4 * static_cast<int>(p.lengths.size()));
}

double bound_of_layer_truth(const Spectral& p) { return bound_l2_of_roundings(Dtype::f64, roundings_of_layer(p)); }

}  // namespace danaus
