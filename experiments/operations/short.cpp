// Short depthwise convolutions and their gradients.
#include <algorithm>
#include <cmath>

#include "experiments/operations/some_rows.hpp"
#include "experiments/operations/study.hpp"
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
  Shape shape() const override { return {p_.batch, p_.channels, p_.length}; }

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

std::unique_ptr<const Subject> short_subject(const Case& asked) {
  const auto* backward = asked.as<ShortBackward>();
  const auto* p = backward ? &backward->forward : asked.as<ShortConvolution>();
  return p ? std::make_unique<ShortSubject>(asked, *p) : nullptr;
}

// Few taps and many, rows shorter than the filter and much longer, channels fewer and more than a tile has.
ShortConvolution random_short(Draw& draw) {
  const std::int64_t most_channels = draw.domain.wide ? 4000 : 40, most_rows = draw.domain.wide ? 4000 : 5;
  ShortConvolution p;
  p.dtype = draw.one_of({Dtype::f16, Dtype::bf16});
  p.filter = draw.one_of({Dtype::f32, Dtype::f32, p.dtype});
  p.padding = draw.one_of({Padding::causal, Padding::same});
  p.taps = 1 + draw.of_any_scale(kMostTaps - 1);
  const std::int64_t samples = std::min(draw.domain.samples, draw.domain.products / p.taps);
  p.length = draw.of_any_scale(samples);
  p.channels = draw.of_any_scale(std::clamp<std::int64_t>(samples / p.length, 1, most_channels));
  const std::int64_t rows = std::clamp<std::int64_t>(samples / p.length / p.channels, 1, most_rows);
  p.batch = draw.domain.wide ? draw.of_any_scale(rows) : draw.from(1, rows);
  p.bias = draw.from(0, 1) == 0, p.pregate = draw.from(0, 2) == 0, p.postgate = draw.from(0, 2) == 0;
  p.channels_last = draw.from(0, 1) == 0;
  return p;
}

}  // namespace

Study short_study() {
  const std::string shapes =  // few taps and many, whole tiles and parts of one, in both layouts
      "_{f16,bf16}_{causal_k4_l1000_b2_h9,causal_k4_l513_b2_h10_bias_pregate_channelslast,same_k7_l300_b2_h3,"
      "causal_k64_l700_b2_h3_bias_pregate_postgate,same_k256_l1030_b1_h2,causal_k2_l1_b1_h1,"
      "same_k31_l290_b2_h33_postgate_channelslast}";
  return {short_subject,
          {{"shortconv", [](Draw& draw) -> Case { return random_short(draw); },
            [] {
              return std::set<std::string>{"direct", "short_filter", "toeplitz"};
            }},
           {"shortconvgrad", [](Draw& draw) -> Case { return ShortBackward{random_short(draw)}; },
            [] {
              return std::set<std::string>{"short_gradient", "direct", "short_filter", "toeplitz"};
            }}},
          {{"short convolution", "shortconv" + shapes}, {"its gradients", "shortconvgrad" + shapes}},
          // Where taps in registers, Toeplitz blocks, pieces and whole rows by FFT take over from each other.
          {{"short", "how many taps are few, and which way do they go?",
            cases_of({"shortconv_{bf16,f16}_causal_k{2,3,4,8,16,32,64,128,256}_l{1024_b64_h768,8192_b64_h768,"
                      "65536_b64_h192}{,_channelslast}"})},
           {"short-gradients", "what do the gradients of short convolutions take?",
            cases_of({"shortconvgrad_bf16_causal_k{4,16,64,128,256}_l{1024,8192}_b64_h768{,_channelslast}"})}}};
}

}  // namespace danaus
