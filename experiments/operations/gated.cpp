// Gated convolutions.
#include "reference/gated/gated.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "experiments/operations/convolution.hpp"
#include "experiments/operations/some_rows.hpp"
#include "kernels/families/filtered_rows/family.hpp"
#include "kernels/families/skip/family.hpp"
#include "kernels/plan/registry.hpp"

namespace danaus {
namespace {

class GatedSubject final : public Subject {
 public:
  explicit GatedSubject(const GatedConvolution& p) : p_(p) {}

  // As those of convolutions, with the filters of their channels.
  SomeRows some_rows() const override {
    const Convolution& conv = p_.conv;
    const auto batch = some_of(conv.batch, most_of(2 * conv.length), true);
    const auto channels = some_of(conv.channels, most_of(conv.length * std::ssize(batch)), false);
    GatedConvolution fewer = p_;
    fewer.conv.batch = std::ssize(batch), fewer.conv.channels = std::ssize(channels);
    SomeRows rows{fewer, {}, fewer.conv.batch * fewer.conv.channels, conv.batch * conv.channels};
    for (const Array& array : Case(p_).arrays()) {
      const bool of_parts = array.shape.starts_with("P*");
      const std::vector<std::int64_t> first = array.batched ? batch : all_of(of_parts ? parts(p_) : 1);
      rows.places.push_back(rows_of(first, channels, conv.channels,
                                    array.size() / (array.batched ? conv.batch : std::ssize(first)) / conv.channels));
    }
    return rows;
  }
  double filter_deviation() const override { return 1 / std::sqrt(static_cast<double>(p_.conv.filter_length)); }

  Case however_computed(bool by_baseline) const override {
    GatedConvolution other = p_;
    if (by_baseline) other.conv.filter = Dtype::f32;
    return other;
  }
  Case as_convolution() const override { fail("has no short filters before it, and no skip"); }
  Shape shape() const override { return {p_.conv.batch, p_.conv.channels, p_.conv.length}; }

 private:
  GatedConvolution p_;
};

std::unique_ptr<const Subject> gated_subject(const Case& asked) {
  const auto* p = asked.as<GatedConvolution>();
  return p ? std::make_unique<GatedSubject>(*p) : nullptr;
}

Case random_gated(Draw& draw) {
  GatedConvolution p{.conv = random_convolution(draw)};
  p.conv.pregate = draw.from(0, 1) == 0, p.conv.postgate = draw.from(0, 1) == 0;
  p.taps = draw.one_of({0, 2, 3, 3, 4, 5, 8});
  p.bias = p.taps > 0 && draw.from(0, 1) == 0, p.skip = p.taps == 0 || draw.from(0, 1) == 0;
  return p;
}

std::set<std::string> gated_families() {
  std::set<std::string> names = convolution_families();
  for (const auto& v : filtered_variants()) names.emplace(v->family);
  names.emplace(filtered_rows::Family::name), names.emplace(skip::Family::name);
  return names;
}

}  // namespace

Study gated_study() {
  return {
      gated_subject,
      {{"gatedconv", random_gated, gated_families}},
      {{"gated convolutions",
        "gatedconv_{f16,bf16}_{causal_l1000_b3_h2_pregate_postgate_taps3_bias_skip,circular_l2048_b2_h2_taps8,"
        "causal_l300_k40_b2_h3_postgate_taps4_skip,circular_l1024_b2_h2_pregate_postgate_skip}"}},
      {{"operator", "what does a Hyena layer's operator take between its matrix products?",
        cases_of({"gatedconv_{bf16,f16}_causal_l{256,512,1024,2048,4096,8192,16384}_b64_h768_pregate_postgate_taps3_"
                  "bias_skip",
                  "gatedconv_bf16_causal_l{1024_b1,8192_b1,8192_b8,1000_b64,32768_b8,65536_b8}_h768_pregate_postgate_"
                  "taps3_bias_skip",
                  "gatedconv_bf16_circular_l{1024,8192}_b64_h768_pregate_postgate_taps3_bias_skip"})}}};
}

}  // namespace danaus
