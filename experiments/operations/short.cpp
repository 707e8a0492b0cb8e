// Short depthwise convolutions and their gradients.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "experiments/operations/some_rows.hpp"
#include "reference/backward/backward.hpp"
#include "reference/bounds.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/short/bounds.hpp"
#include "reference/short_backward/short_backward.hpp"

namespace danaus {
namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.);
}

class ShortSubject final : public Subject {
 public:
  ShortSubject(const Case& asked, const ShortConvolution& p)
      : asked_(asked), p_(p), forward_(asked.as<ShortConvolution>() != nullptr) {}

  // Errors of dk are those of its own K sums; of all L lags as many are summed as bound_l2_of_correlation() has it.
  double bound(std::string_view output, const Variant& kernel, const Device&) const override {
    const double of_lags = std::min(1., static_cast<double>(p_.taps) / static_cast<double>(p_.length));
    return bound_l2_of_short(p_, output, kernel.roundings()) * (output == "dk" ? std::sqrt(of_lags) : 1);
  }
  std::vector<OutputBound> bounds(const Values& values, const Variant& kernel, const Device&) const override {
    return forward_ ? bounds_of_short(p_, values, kernel.roundings())
                    : bounds_of_short_gradients(p_, values, kernel.roundings());
  }
  std::optional<AdjointProduct> product(const Values& values) const override {
    if (forward_) return std::nullopt;
    const std::vector<double>& dy = values.find("dy")->second;
    AdjointProduct product{dot(short_convolution(p_, values), dy)};
    if (p_.bias) {
      Values of_bias = values;
      std::ranges::fill(of_bias.find("u")->second, 0);
      product.of_bias = dot(short_convolution(p_, of_bias), dy);
    }
    return product;
  }
  std::string_view truth() const override { return name(Method::direct); }
  double bound_of_truth() const override { return bound_l2_of_roundings(Dtype::f64, static_cast<int>(p_.taps) + 4); }

  // Where dk is an output, the whole batch, of which it is the sum. Samples of a channel lie apart where channels are
  // last.
  SomeRows some_rows() const override {
    const std::int64_t sums = p_.length * std::max<std::int64_t>(1, p_.taps / 8);
    const auto batch = forward_ ? some_of(p_.batch, most_of(sums), false) : all_of(p_.batch);
    const auto channels = some_of(p_.channels, most_of(sums * std::ssize(batch)), false);
    ShortConvolution fewer = p_;
    fewer.batch = std::ssize(batch), fewer.channels = std::ssize(channels);
    SomeRows rows{
        forward_ ? Case(fewer) : Case(ShortBackward{fewer}), {}, fewer.batch * fewer.channels, p_.batch * p_.channels};
    for (const Array& array : asked_.arrays())
      rows.places.push_back(array.batched ? samples_of(batch, channels)
                                          : rows_of({0}, channels, p_.channels, array.size() / p_.channels));
    return rows;
  }
  double filter_deviation() const override { return 1 / std::sqrt(static_cast<double>(p_.taps)); }
  double size_of_sums(std::string_view output, const Values& inputs, const Values& outputs) const override {
    if (output != "dk") return 1;
    const auto at = [&](std::string_view array, std::int64_t i) {
      const auto found = inputs.find(array);
      return found == inputs.end() ? 1. : found->second[i];
    };
    const ShortConvolution& p = asked_.as<ShortBackward>()->forward;
    double sum = 0;
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t h = 0; h < p.channels; ++h) {
        double of_u = 0, of_dy = 0;
        for (std::int64_t n = 0; n < p.length; ++n) {
          const std::int64_t i = index_of(p, b, h, n);
          of_u += std::pow(at("pregate", i) * at("u", i), 2), of_dy += std::pow(at("postgate", i) * at("dy", i), 2);
        }
        sum += of_u * of_dy;
      }
    const std::vector<double>& dk = outputs.find("dk")->second;
    return std::sqrt(sum / dot(dk, dk));
  }

  Case however_computed(bool by_baseline) const override {
    ShortConvolution other = p_;
    if (by_baseline) other.filter = Dtype::f32, other.channels_last = false;
    return of(other);
  }
  std::optional<std::string> obstacle(const Device& device) const override { return plan_obstacle(asked_, device); }
  Case as_convolution() const override {
    if (p_.padding != Padding::causal) fail("computes causal convolutions, none padded as '", name(p_.padding), "'");
    if (p_.channels_last) fail("has rows [B, H, L], the case has [B, L, H]");
    if (p_.bias) fail("has no bias");
    Convolution by;
    by.dtype = p_.dtype, by.filter = p_.filter;
    by.mode = Mode::causal;
    by.batch = p_.batch, by.channels = p_.channels, by.length = p_.length, by.filter_length = p_.taps;
    by.pregate = p_.pregate, by.postgate = p_.postgate;
    return forward_ ? Case(by) : Case(Backward{by});
  }

 private:
  Case of(const ShortConvolution& other) const { return forward_ ? Case(other) : Case(ShortBackward{other}); }
  std::vector<Block> samples_of(const std::vector<std::int64_t>& batch,
                                const std::vector<std::int64_t>& channels) const {
    if (!p_.channels_last) return rows_of(batch, channels, p_.channels, p_.length);
    std::vector<Block> blocks;
    for (std::int64_t b : batch)
      for (std::int64_t n = 0; n < p_.length; ++n)
        for (std::int64_t h : channels) blocks.push_back({index_of(p_, b, h, n), 1});
    return blocks;
  }

  Case asked_;
  ShortConvolution p_;
  bool forward_;
};

}  // namespace

std::unique_ptr<const Subject> short_subject(const Case& asked) {
  const auto* backward = asked.as<ShortBackward>();
  const auto* p = backward ? &backward->forward : asked.as<ShortConvolution>();
  return p ? std::make_unique<ShortSubject>(asked, *p) : nullptr;
}

}  // namespace danaus
