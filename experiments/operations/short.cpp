// Short depthwise convolutions and their gradients.
#include <algorithm>
#include <cmath>

#include "experiments/operations/some_rows.hpp"
#include "reference/backward/backward.hpp"
#include "reference/short_backward/short_backward.hpp"

namespace danaus {
namespace {

class ShortSubject final : public Subject {
 public:
  ShortSubject(const Case& asked, const ShortConvolution& p)
      : asked_(asked), p_(p), forward_(asked.as<ShortConvolution>() != nullptr) {}

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
