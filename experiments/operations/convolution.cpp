// Convolutions, their gradients and training steps.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "experiments/operations/some_rows.hpp"
#include "experiments/verify/candidates.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/correlation.hpp"
#include "kernels/plan/plan.hpp"
#include "reference/convolution/conditioning.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/convolution/gradient.hpp"
#include "reference/convolution/rounding.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

class ConvolutionSubject final : public Subject {
 public:
  ConvolutionSubject(const Case& asked, const Convolution& p)
      : asked_(asked), p_(p), forward_(asked.as<Convolution>() != nullptr) {}

  double bound(std::string_view output, const Variant& kernel, const Device& device) const override {
    if (output == "y") return bound_l2_of_kernel(p_, kernel.roundings());
    const RoundingsOfGradients roundings = roundings_of_gradients(p_, kernel, device);
    return output == "dk" ? bound_l2_of_correlation(p_, roundings.of_sums) : bound_l2_of_kernel(p_, roundings.of_rows);
  }
  std::vector<OutputBound> bounds(const Values& values, const Variant& kernel, const Device& device) const override {
    if (forward_) {
      const Convolution by = planned(p_, kernel);
      return {{"y", bound_l2_of_kernel(by, kernel.roundings()), summed(by, inputs_of(values))}};
    }
    const auto [of_rows, of_sums] = roundings_of_gradients(p_, kernel, device);
    std::vector<OutputBound> all = bounds_of_passes(p_, values, {kernel.roundings(), of_rows, of_sums});
    if (asked_.as<Backward>()) std::erase_if(all, [](const OutputBound& bound) { return bound.name == "y"; });
    return all;
  }
  std::optional<AdjointProduct> product(const Values& values) const override {
    if (forward_) return std::nullopt;
    const std::vector<double> y = convolve(p_, inputs_of(values), Method::fftw);
    return AdjointProduct{std::inner_product(y.begin(), y.end(), values.find("dy")->second.begin(), 0.)};
  }
  std::string_view truth() const override { return name(forward_ ? Method::fftw : truth_of_gradients(p_)); }
  double bound_of_truth() const override { return fftw_bound(planned(p_)); }

  // Batch rows come with the partner that a pair gives them. Where dk is an output, the whole batch, of which it is the
  // sum.
  SomeRows some_rows() const override {
    const auto batch = forward_ ? some_of(p_.batch, most_of(2 * p_.length), true) : all_of(p_.batch);
    const auto channels = some_of(p_.channels, most_of(p_.length * std::ssize(batch)), false);
    Convolution fewer = p_;
    fewer.batch = std::ssize(batch), fewer.channels = std::ssize(channels);
    SomeRows rows{of(fewer), {}, fewer.batch * fewer.channels, p_.batch * p_.channels};
    for (const Array& array : asked_.arrays())
      rows.places.push_back(array.batched ? rows_of(batch, channels, p_.channels, p_.length)
                                          : rows_of({0}, channels, p_.channels, p_.filter_length));
    return rows;
  }
  double filter_deviation() const override {
    const std::int64_t taps = p_.mode == Mode::causal ? std::min(p_.filter_length, p_.length) : p_.filter_length;
    return 1 / std::sqrt(static_cast<double>(taps));
  }
  double size_of_sums(std::string_view output, const Values& inputs, const Values& outputs) const override {
    if (output != "dk") return 1;
    const std::vector<double>& dk = outputs.find("dk")->second;
    return summed_to_taps(p_, inputs_of(inputs), inputs.find("dy")->second, 1) /
           std::sqrt(std::inner_product(dk.begin(), dk.end(), dk.begin(), 0.));
  }

  Case however_computed(bool by_baseline) const override {
    Convolution other = p_;
    other.fold.reset(), other.fft_size = 0, other.factors.clear();
    if (by_baseline) other.filter = Dtype::f32;
    return of(other);
  }
  std::optional<std::string> obstacle(const Device& device) const override try {
    choose(p_, device);
    return std::nullopt;
  } catch (const std::invalid_argument& refusal) {
    return refusal.what();
  }
  Case as_convolution() const override { return asked_; }

 private:
  Case of(const Convolution& other) const {
    if (asked_.as<Backward>()) return Backward{other};
    if (asked_.as<TrainingStep>()) return TrainingStep{other};
    return other;
  }

  Case asked_;
  Convolution p_;
  bool forward_;
};

}  // namespace

std::unique_ptr<const Subject> convolution_subject(const Case& asked) {
  const Convolution* p = convolution_of(asked);
  return p ? std::make_unique<ConvolutionSubject>(asked, *p) : nullptr;
}

}  // namespace danaus
