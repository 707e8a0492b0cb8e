// Spectral layers and their gradients.
#include "reference/spectral/layer.hpp"

#include <cmath>

#include "experiments/operations/some_rows.hpp"
#include "experiments/operations/study.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/plan/program.hpp"
#include "reference/spectral_gradient/spectral_gradient.hpp"

namespace danaus {
namespace {

// What both have in common.
class LayerSubject : public Subject {
 public:
  LayerSubject(const Case& asked, const Spectral& p) : asked_(asked), p_(p) {}

  double filter_deviation() const override { return 1 / std::sqrt(static_cast<double>(p_.inputs)); }
  Case as_convolution() const override { fail("computes convolutions, no spectral layers"); }
  Shape shape() const override { return {p_.batch, p_.inputs, p_.lengths.back()}; }

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

std::unique_ptr<const Subject> layer_subject(const Case& asked) {
  if (const auto* p = asked.as<Spectral>()) return std::make_unique<ForwardSubject>(asked, *p);
  if (const auto* gradient = asked.as<SpectralGradient>())
    return std::make_unique<GradientSubject>(asked, gradient->forward);
  return nullptr;
}

// What fits into the shared memory of an H200's block: others are drawn again.
Spectral random_layer(Draw& draw) {
  constexpr int kShortest = 16, kLongestRow = 1024, kMostChannels = 256;
  const bool wide = draw.domain.wide;
  const std::int64_t most_items = wide ? 3000 : 300;
  const double most_products = wide ? 1 << 28 : 1 << 26, most_weights = wide ? 1 << 22 : 1e300;
  for (;;) {
    Spectral p;
    p.dtype = draw.one_of({Dtype::f32, Dtype::f32, Dtype::f16, Dtype::bf16});
    p.tf32 = p.dtype == Dtype::f32 && draw.from(0, 1) == 0;
    p.complex = draw.from(0, 1) == 0, p.shared = draw.from(0, 1) == 0;
    const bool has_two_axes = draw.from(0, 2) == 0;
    p.two_sided = (p.complex || has_two_axes) && draw.from(0, 1) == 0;
    p.channel_major = draw.from(0, 2) == 0, p.adjoint = draw.from(0, 2) == 0;
    const auto channels = [&] { return wide ? draw.with_ends(kMostChannels) : draw.of_any_scale(kMostChannels); };
    p.inputs = channels(), p.outputs = channels();
    const int axes = has_two_axes ? 2 : 1;
    p.lengths.clear(), p.modes.clear();
    for (int axis = 0; axis < axes; ++axis)
      p.lengths.push_back(
          static_cast<int>(kShortest - 1 + draw.of_any_scale(kLongestRow / (wide ? 1 : axes) - kShortest + 1)));
    for (int axis = 0; axis < axes; ++axis) {
      const bool is_half = !p.complex && axis == axes - 1;
      const int length = p.lengths[axis], most = is_half ? length / 2 + 1 : p.two_sided ? length / 2 : length;
      p.modes.push_back(static_cast<int>(wide ? draw.with_ends(most) : draw.of_any_scale(most)));
    }
    const std::int64_t points = points_of_row(p), row = points * std::max(p.inputs, p.outputs);
    p.batch = draw.of_any_scale(std::clamp<std::int64_t>(draw.domain.samples / row, 1, most_items));
    const double along_axes = static_cast<double>(points) * p.modes.back() * (p.two_sided ? 2 : 1) +
                              static_cast<double>(axes == 2 ? p.lengths[0] * kept_count(p) : 0);
    const double products = static_cast<double>(p.batch * p.inputs * p.outputs * kept_count(p)) +
                            static_cast<double>(p.batch * (p.inputs + p.outputs)) * along_axes;
    const double weights = static_cast<double>(p.inputs * p.outputs * (p.shared ? 1 : kept_count(p)));
    if (row > draw.domain.samples || products > most_products || weights > most_weights) continue;
    try {
      make_program(p, wide ? h200() : Device());
      return p;
    } catch (const std::invalid_argument&) {
    }
  }
}

SpectralGradient random_layer_gradient(Draw& draw) {
  for (;;) {
    SpectralGradient asked{random_layer(draw)};
    asked.forward.adjoint = false;
    try {
      make_program(asked, draw.domain.wide ? h200() : Device());
      return asked;
    } catch (const std::invalid_argument&) {
    }
  }
}

}  // namespace

Study layer_study() {
  // As TurboFNO (github.com/shixun404/TurboFNO) was timed: results/h200_fno.csv. Then as neural operators have them (Li
  // et al. 2021): real samples, a matrix for each frequency, of two axes the lowest and the highest.
  const std::string chosen =
      "{complex_b1024_c64x64_l128_m64_shared_channelmajor,complex_b1024_c64x64_l256_m64_shared_channelmajor,"
      "complex_b1024_c128x128_l128_m64_shared_channelmajor,complex_b16_c64x64_l128x128_m64x64_shared_channelmajor,"
      "complex_b16_c64x64_l256x256_m64x64_shared_channelmajor,b32_c64x64_l1024_m16,"
      "b32_c64x64_l128x128_m16x16_twosided}";
  return {
      layer_subject,
      {{"spectral", [](Draw& draw) -> Case { return random_layer(draw); },
        [] { return std::set<std::string>{"layer"}; }, true},
       {"spectralgrad", [](Draw& draw) -> Case { return random_layer_gradient(draw); },
        [] {
          return std::set<std::string>{"layer", "layer_gradient"};
        },
        true}},
      {{"spectral layer",
        "spectral_{f32_tf32,f32,f16,bf16}_{complex_b3_c32x64_l128_m64_shared_channelmajor,complex_b9_c5x19_l36_m7,"
        "b2_c24x40_l96_m49_shared,b5_c20x33_l100_m12_adjoint}"},
       {"its gradients",
        "spectralgrad_{f32_tf32,f32,f16,bf16}_{complex_b19_c6x10_l64_m20_shared_channelmajor,b3_c5x7_l36_m7,"
        "b2_c3x4_l16x18_m4x5_twosided}"}},
      {{"spectral", "what does a spectral layer take?",
        cases_of({"spectral_f32_tf32_complex_b{1,16,128,1024,8192,32768}_c{32x64,64x64,64x128,128x128}_l{128,256}_m64_"
                  "shared_channelmajor",
                  "spectral_f32_tf32_complex_b{1,16,64,128}_c{32x64,64x64,128x128}_l{128x128,256x256}_m64x64_"
                  "shared_channelmajor"})},
       {"spectral-types", "and in another arithmetic, and as neural operators have it?",
        cases_of({"spectral_{f32_tf32,f32,f16,bf16}_" + chosen,
                  // Of operators more sizes, from one item on.
                  "spectral_f32_tf32_{b1_c64x64_l1024_m16,b256_c64x64_l1024_m16,b256_c32x32_l256_m16,"
                  "b1_c32x32_l64x64_m12x12_twosided,b20_c32x32_l64x64_m12x12_twosided,"
                  "b16_c32x32_l256x256_m12x12_twosided}"})},
       {"spectral-gradients", "what do its gradients take?",
        cases_of({"spectralgrad_{f32_tf32,f32,f16,bf16}_" + chosen})}}};
}

}  // namespace danaus
