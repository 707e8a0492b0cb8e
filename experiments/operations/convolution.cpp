// Convolutions, their gradients and training steps.
#include <algorithm>
#include <cmath>

#include "experiments/operations/some_rows.hpp"
#include "kernels/plan/choice.hpp"
#include "reference/backward/backward.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

class ConvolutionSubject final : public Subject {
 public:
  ConvolutionSubject(const Case& asked, const Convolution& p)
      : asked_(asked), p_(p), forward_(asked.as<Convolution>() != nullptr) {}

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
