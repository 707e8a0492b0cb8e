#include "reference/convolution/gradient.hpp"

#include <algorithm>
#include <memory>

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/convolution/rows.hpp"
#include "reference/dft.hpp"

namespace danaus {
namespace {

std::vector<Complex> spectrum_of(std::span<const double> x, std::int64_t n) {
  std::vector<double> padded(x.begin(), x.end());
  padded.resize(n);
  return real_dft(padded);
}

// The transpose of to_length(): from L back to n results.
std::vector<double> from_length(Mode mode, std::span<const double> y, std::int64_t n) {
  std::vector<double> results(n);
  const std::int64_t length = std::ssize(y), count = mode == Mode::causal ? std::min(length, n) : n;
  for (std::int64_t i = 0; i < count; ++i) results[i] = y[i % length];
  return results;
}

// One way of making the gradients of a channel's rows.
class GradientMethod {
 public:
  virtual ~GradientMethod() = default;
  virtual void set_filter(std::span<const double> k) = 0;  // [K]; the sums of its gradient begin anew
  // Of a row's gated input x [L] and the gradient dz [L] of its convolution: the gradient of x [L]. Adds to dk.
  virtual std::vector<double> input(std::span<const double> x, std::span<const double> dz) = 0;
  virtual std::vector<double> filter() const = 0;  // dk [K]
};

// y[n] = sum_m k[m] x[n - m], where x is zero or repeats before its first sample, term by term.
class ByDefinition final : public GradientMethod {
 public:
  explicit ByDefinition(const Convolution& p) : p_(p) {
    if (!p.mask.empty()) fail("gradients: ", token(p), " removes frequencies, of which the definition knows nothing");
  }
  void set_filter(std::span<const double> k) override {
    k_.assign(k.begin(), k.end());
    dk_.assign(k.size(), 0);
  }
  std::vector<double> input(std::span<const double> x, std::span<const double> dz) override {
    std::vector<double> dx(x.size());
    for (std::int64_t n = 0; n < p_.length; ++n)
      for (std::int64_t m = 0; m < p_.filter_length; ++m) {
        if (p_.mode == Mode::causal && m > n) break;
        const std::int64_t from = ((n - m) % p_.length + p_.length) % p_.length;
        dx[from] += k_[m] * dz[n];
        dk_[m] += x[from] * dz[n];
      }
    return dx;
  }
  std::vector<double> filter() const override { return dk_; }

 private:
  const Convolution& p_;
  std::vector<double> k_, dk_;
};

class ByFft final : public GradientMethod {
 public:
  explicit ByFft(const Convolution& p) : p_(p), n_(real_fft_size(p)), weights_(real_mask_weights(p)) {}

  void set_filter(std::span<const double> k) override {
    filter_ = masked(spectrum_of(effective_filter(p_, k), n_));
    dfilter_.assign(filter_.size(), {});
  }
  std::vector<double> input(std::span<const double> x, std::span<const double> dz) override {
    const std::vector<Complex> input = spectrum_of(x, n_), doutput = real_dft(from_length(p_.mode, dz, n_));
    std::vector<Complex> dinput(filter_.size());
    for (std::size_t f = 0; f < filter_.size(); ++f) {
      dinput[f] = std::conj(filter_[f]) * doutput[f];
      dfilter_[f] += std::conj(input[f]) * doutput[f];
    }
    return inverse_real_dft(dinput, n_);
  }
  std::vector<double> filter() const override {
    const std::vector<double> sums = inverse_real_dft(masked(dfilter_), n_);
    std::vector<double> dk(p_.filter_length);
    // A causal filter's samples from L on touch nothing; a circular one's act where they wrap to.
    const std::int64_t touching = p_.mode == Mode::causal ? std::min(p_.filter_length, p_.length) : p_.filter_length;
    for (std::int64_t m = 0; m < touching; ++m) dk[m] = sums[m % p_.length];
    return dk;
  }

 private:
  std::vector<Complex> masked(std::vector<Complex> spectrum) const {
    for (std::size_t f = 0; f < weights_.size(); ++f) spectrum[f] *= weights_[f];
    return spectrum;
  }
  const Convolution& p_;
  std::int64_t n_;
  std::vector<double> weights_;
  std::vector<Complex> filter_, dfilter_;
};

std::unique_ptr<GradientMethod> make_gradient_method(const Convolution& p, Algorithm method) {
  if (method == Algorithm::direct) return std::make_unique<ByDefinition>(p);
  if (method == Algorithm::fftw) return std::make_unique<ByFft>(p);
  fail("gradients: method ", name(method), ", must be ", name(Algorithm::fftw), " or ", name(Algorithm::direct));
}

// dy [B, H, L] times the convolution before the second gate.
std::vector<double> gradient_of_postgate(Convolution p, Inputs inputs, std::span<const double> dy, Algorithm method) {
  p.postgate = false, inputs.postgate.clear();
  std::vector<double> gradient = convolve(p, inputs, method);
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] *= dy[i];
  return gradient;
}

}  // namespace

Algorithm truth_of_gradients(const Convolution& p) {
  constexpr double kMultiplications = 1 << 24;
  const double sums = p.postgate ? 3 : 2;
  const double rows = static_cast<double>(p.batch) * static_cast<double>(p.channels);
  const double each = static_cast<double>(p.length) * static_cast<double>(p.filter_length);
  return p.mask.empty() && sums * rows * each <= kMultiplications ? Algorithm::direct : Algorithm::fftw;
}

Gradients gradients(const Convolution& p, const Inputs& inputs, std::span<const double> dy, Algorithm method) {
  validate(p);
  check_inputs(p, inputs);
  if (dy.size() != inputs.u.size()) fail("gradients: dy has ", dy.size(), " samples, must have ", inputs.u.size());

  const std::unique_ptr<GradientMethod> of = make_gradient_method(p, method);
  Gradients result;
  result.du.resize(inputs.u.size());
  result.dpregate.resize(inputs.pregate.size());
  if (p.postgate) result.dpostgate = gradient_of_postgate(p, inputs, dy, method);
  result.dk.reserve(inputs.k.size());
  std::vector<double> x(p.length), dz(p.length);  // gated input; gradient of the convolution's output
  for (std::int64_t channel = 0; channel < p.channels; ++channel) {
    of->set_filter(std::span(inputs.k).subspan(channel * p.filter_length, p.filter_length));
    for (std::int64_t batch = 0; batch < p.batch; ++batch) {
      const std::int64_t first = (batch * p.channels + channel) * p.length;
      for (std::int64_t i = 0; i < p.length; ++i) {
        x[i] = inputs.u[first + i] * (p.pregate ? inputs.pregate[first + i] : 1);
        dz[i] = dy[first + i] * (p.postgate ? inputs.postgate[first + i] : 1);
      }
      const std::vector<double> dx = of->input(x, dz);
      for (std::int64_t i = 0; i < p.length; ++i) {
        result.du[first + i] = dx[i] * (p.pregate ? inputs.pregate[first + i] : 1);
        if (p.pregate) result.dpregate[first + i] = dx[i] * inputs.u[first + i];
      }
    }
    const std::vector<double> dk = of->filter();
    result.dk.insert(result.dk.end(), dk.begin(), dk.end());
  }
  return result;
}

}  // namespace danaus
