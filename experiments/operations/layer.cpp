// Spectral layers and their gradients.
#include <cmath>

#include "experiments/operations/some_rows.hpp"
#include "reference/spectral_gradient/spectral_gradient.hpp"

namespace danaus {
namespace {

// What both have in common.
class LayerSubject : public Subject {
 public:
  LayerSubject(const Case& asked, const Spectral& p) : asked_(asked), p_(p) {}

  double filter_deviation() const override { return 1 / std::sqrt(static_cast<double>(p_.inputs)); }
  std::optional<std::string> obstacle(const Device& device) const override { return plan_obstacle(asked_, device); }
  Case as_convolution() const override { fail("computes convolutions, no spectral layers"); }

 protected:
  // Of an array [B, C, ...], or channel-major [C, B, ...].
  std::vector<Block> rows(const std::vector<std::int64_t>& items, const std::vector<std::int64_t>& channels,
                          std::int64_t of_channels) const {
    const std::int64_t numbers = points_of_row(p_) * (p_.complex ? 2 : 1);
    return p_.channel_major ? rows_of(channels, items, p_.batch, numbers)
                            : rows_of(items, channels, of_channels, numbers);
  }

  Case asked_;
  Spectral p_;
};

class ForwardSubject final : public LayerSubject {
 public:
  using LayerSubject::LayerSubject;

  Case however_computed(bool by_baseline) const override {
    Spectral other = p_;
    if (by_baseline) other.dtype = Dtype::f32, other.tf32 = false;
    return other;
  }
  // Items of the batch with all of their channels.
  SomeRows some_rows() const override {
    const auto items = some_of(p_.batch, most_of(points_of_row(p_) * (p_.inputs + p_.outputs)), false);
    Spectral fewer = p_;
    fewer.batch = std::ssize(items);
    return {fewer,
            {rows(items, all_of(p_.inputs), p_.inputs),
             {{0, arrays(p_)[1].size()}},
             rows(items, all_of(p_.outputs), p_.outputs)},
            fewer.batch,
            p_.batch};
  }
};

class GradientSubject final : public LayerSubject {
 public:
  using LayerSubject::LayerSubject;

  Case however_computed(bool) const override { return asked_; }
  // Channels of u with the whole batch, of which dw is the sum.
  SomeRows some_rows() const override {
    const auto channels = some_of(p_.inputs, most_of(points_of_row(p_) * p_.batch * p_.outputs), false);
    Spectral fewer = p_;
    fewer.inputs = std::ssize(channels);
    const std::vector<std::int64_t> items = all_of(p_.batch);
    const std::vector<Block> of_u = rows(items, channels, p_.inputs);
    const std::vector<Block> of_w = rows_of({0}, channels, p_.inputs, arrays(p_)[1].size() / p_.inputs);
    return {SpectralGradient{fewer},
            {of_u, of_w, rows(items, all_of(p_.outputs), p_.outputs), of_u, of_w},
            p_.batch * fewer.inputs,
            p_.batch * p_.inputs};
  }
};

}  // namespace

std::unique_ptr<const Subject> layer_subject(const Case& asked) {
  if (const auto* p = asked.as<Spectral>()) return std::make_unique<ForwardSubject>(asked, *p);
  if (const auto* gradient = asked.as<SpectralGradient>())
    return std::make_unique<GradientSubject>(asked, gradient->forward);
  return nullptr;
}

}  // namespace danaus
