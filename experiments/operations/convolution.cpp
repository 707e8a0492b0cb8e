// Convolutions, their gradients and training steps.
#include "experiments/operations/convolution.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "experiments/cli/table.hpp"
#include "experiments/operations/some_rows.hpp"
#include "experiments/operations/study.hpp"
#include "kernels/families/mask/family.hpp"
#include "kernels/families/pieces/family.hpp"
#include "kernels/families/rescaled/family.hpp"
#include "kernels/families/taps/family.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/correlation.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/backward/backward.hpp"
#include "reference/spelling.hpp"
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
  Case as_convolution() const override { return asked_; }
  Shape shape() const override { return {p_.batch, p_.channels, p_.length}; }

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

std::unique_ptr<const Subject> convolution_subject(const Case& asked) {
  const Convolution* p = convolution_of(asked);
  return p ? std::make_unique<ConvolutionSubject>(asked, *p) : nullptr;
}

// Of the kernels, each once.
const std::vector<int>& fft_sizes() {
  static const std::vector<int> kSizes = [] {
    std::set<int> sizes;
    for (const auto& v : variants())
      if (v->size > 0) sizes.insert(v->size);
    return std::vector<int>(sizes.begin(), sizes.end());
  }();
  return kSizes;
}

std::int64_t length_from(Draw& draw) {
  switch (draw.from(0, 3)) {
    case 0:
      return std::clamp<std::int64_t>(fft_sizes()[draw.from(0, std::ssize(fft_sizes()) - 1)] + draw.from(-9, 9), 1,
                                      draw.domain.longest);
    case 1: return std::min(draw.domain.longest, 8 * draw.of_any_scale(draw.domain.longest / 8));
    default: return draw.of_any_scale(draw.domain.longest);
  }
}

}  // namespace

Convolution random_convolution(Draw& draw) {
  Convolution p;
  p.dtype = draw.one_of({Dtype::f16, Dtype::bf16});
  p.filter = draw.one_of({Dtype::f32, Dtype::f32, Dtype::f16, Dtype::bf16});
  p.mode = draw.one_of({Mode::circular, Mode::causal});
  p.length = length_from(draw);
  switch (draw.from(0, 4)) {
    case 0: p.filter_length = draw.of_any_scale(p.length); break;
    case 1: p.filter_length = draw.from(1, 2 * p.length); break;
    case 2: p.filter_length = draw.from(1, std::min<std::int64_t>(p.length, 8)); break;
    default: p.filter_length = p.length;
  }
  const std::int64_t rows = std::max<std::int64_t>(draw.domain.samples / p.length, 1);
  if (draw.domain.wide) {  // past several waves of blocks
    constexpr std::int64_t kMostRows = 6000;
    p.channels = draw.of_any_scale(std::min(rows, kMostRows));
    p.batch = draw.of_any_scale(std::max<std::int64_t>(std::min(rows, kMostRows) / p.channels, 1));
  } else {
    p.channels = draw.from(1, std::min<std::int64_t>(rows, 5));
    p.batch = draw.from(1, std::clamp<std::int64_t>(rows / p.channels, 1, 9));
  }
  p.pregate = draw.from(0, 2) == 0, p.postgate = draw.from(0, 2) == 0;
  return p;
}

namespace {

// Whether every build has the kernel: a case's number says the same everywhere.
bool is_usual(const Convolution& p) {
  try {
    const Variant& v = choose(p, Device());
    return v.preferred || v.unaligned;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

const Variant& any_variant(Draw& draw) {
  static const std::vector<const Variant*> kPreferred = [] {
    std::vector<const Variant*> preferred;
    for (const auto& v : variants())
      if (v->preferred && v->suits(device_class_of(Device()))) preferred.push_back(&*v);
    return preferred;
  }();
  return *kPreferred[draw.from(0, std::ssize(kPreferred) - 1)];
}

// One in sixteen says N, which may be that of pieces, the fold, or both and the factors, where a plan takes that.
template <class Operation>
Case random_way(Draw& draw) {
  const auto of = [](const Convolution& p) -> Case { return Operation{p}; };
  Convolution p = random_convolution(draw);
  if (draw.from(0, 15) > 0) return of(p);
  Convolution said = p;
  const Variant& like = any_variant(draw);
  switch (draw.from(0, 2)) {
    case 0: said.fft_size = fft_sizes()[draw.from(0, std::ssize(fft_sizes()) - 1)]; break;
    case 1: said.fold = like.fold; break;
    default: said.fold = like.fold, said.fft_size = like.size, said.factors = like.factors;
  }
  return of(is_usual(said) && has_kernel_for(of(said), Device()) ? said : p);
}

// Bands, a pattern by the factors, or some of the blocks that they make.
FrequencyMask random_mask(Draw& draw, const Convolution& p) {
  FrequencyMask mask;
  const std::vector<int> dimensions(p.factors.rbegin(), p.factors.rend());
  switch (draw.from(0, 3)) {
    case 0:
      for (int factor : dimensions) mask.zeroed.push_back(static_cast<int>(draw.from(0, factor / 2)));
      mask.reading = draw.one_of({MaskReading::literal, MaskReading::hermitian});
      break;
    case 1: {
      std::int64_t blocks = 1;
      for (int factor : dimensions) {
        const int pieces = draw.one_of({1, 2, 4});
        mask.pieces.push_back(factor % pieces == 0 ? pieces : 1), blocks *= mask.pieces.back();
      }
      for (std::int64_t i = 0; i < blocks; ++i) mask.blocks.push_back(draw.from(0, 1));
      break;
    }
    default: {
      const std::int64_t first = draw.from(0, p.length / 4);
      mask.kept = {{first, draw.from(first, p.length / 2)}};
    }
  }
  return mask;
}

// One in twenty, of circular rows without gates at an FFT size, has a mask, where a kernel for an H200 can.
Case random_convolution_or_masked(Draw& draw) {
  const Case unmasked = random_way<Convolution>(draw);
  if (draw.from(0, 19) > 0) return unmasked;
  Convolution p = *unmasked.as<Convolution>();
  const Variant& by = any_variant(draw);
  if (by.size == 0) return unmasked;
  p.mode = Mode::circular, p.pregate = p.postgate = false;
  p.length = by.size, p.filter_length = draw.from(1, p.length);
  p.fft_size = by.size, p.fold = by.fold, p.factors = by.factors;
  p.channels = std::clamp<std::int64_t>(draw.domain.samples / p.length, 1, p.channels);
  p.batch = std::clamp<std::int64_t>(draw.domain.samples / p.length / p.channels, 1, p.batch);
  p.mask = random_mask(draw, p);
  return is_usual(p) && has_kernel_for(p, Device()) ? Case(p) : unmasked;
}

template <bool with_gradients>
std::set<std::string> families() {
  std::set<std::string> names = {std::string(spectrum::Family::name), std::string(rescaled::Family::name),
                                 std::string(pieces::Family::name), std::string(mask::Family::name)};
  for (const auto& v : variants()) names.emplace(v->family);
  for (const auto& v : long_variants()) names.emplace(v->family);
  if (with_gradients) {
    for (const auto& c : correlators()) names.emplace(c->family);
    names.emplace(taps::Family::name);
  }
  return names;
}

}  // namespace

std::set<std::string> convolution_families() { return families<false>(); }

Study convolution_study() {
  return {convolution_subject,
          {{"fftconv", random_convolution_or_masked, families<false>},
           {"fftconvgrad", random_way<Backward>, families<true>},
           {"fftconvstep", random_way<TrainingStep>, families<true>}},
          // Where the gated backward that came with the paper returned a wrong gradient (results/h200_peers.csv): of
          // the postgate at N = 256 and 1K, of u at 32K.
          {{"gradients, once wrong",
            "fftconvgrad_{f16_circular_l256_b2_h2,f16_circular_l1024_b2_h2,f16_circular_l32768_b2_h1,"
            "bf16_circular_l32768_b2_h1,f16_causal_l128_b2_h2,f16_causal_l512_b2_h2,f16_causal_l16384_b2_h1,"
            "bf16_causal_l16384_b2_h1}_pregate_postgate"},
           {"gradients",
            "fftconvgrad_{f16_causal_l1_b1_h1,f16_circular_l512_b3_h2,bf16_causal_l1000_b3_h2,"
            "f16_causal_l250_k40_b2_h3_pregate_postgate,bf16_circular_l300_k700_b3_h2_postgate,"
            "f16_circular_l1001_k5_b4_h2_pregate,f16_causal_l4096_kbf16_b2_h1,bf16_circular_l16384_b2_h1}"},
           {"step", "fftconvstep_{f16_causal_l1000_b3_h2_pregate_postgate,bf16_circular_l2048_b2_h2}"}},
          {}};
}

}  // namespace danaus
