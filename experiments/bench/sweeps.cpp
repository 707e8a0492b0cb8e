#include "experiments/bench/sweeps.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "experiments/cli/table.hpp"
#include "experiments/explore/patterns.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/plan.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/short_backward/short_backward.hpp"
#include "reference/spectral/spectral.hpp"
#include "reference/spectral_gradient/spectral_gradient.hpp"
#include "reference/spelling.hpp"
#include "reference/state/state.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

constexpr std::array kPowersOfTwo = {256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
constexpr std::array kCausal = {128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};  // half of what padding takes
constexpr std::array kBetween = {768, 1536, 3072, 6144, 12288, 24576};
constexpr std::array kSteps = {256, 1024, 4096, 8192, 16384, 32768};
constexpr std::array kFrom1K = {1024, 2048, 4096, 8192, 16384, 32768};
constexpr std::array kShortSteps = {256, 1024, 4096, 16384};

// A case of an operation for each length, from a convolution that says the rest.
template <class Asked = Convolution, class Lengths>
std::vector<Case> over(const Lengths& lengths, Convolution problem) {
  std::vector<Case> cases;
  for (std::int64_t length : lengths) {
    problem.length = problem.filter_length = length;
    cases.push_back(Asked{problem});
  }
  return cases;
}

std::vector<Case> joined(const std::vector<std::vector<Case>>& parts) {
  std::vector<Case> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Convolution rows(std::int64_t batch, std::int64_t channels) {
  Convolution problem;
  problem.batch = batch, problem.channels = channels;
  return problem;
}

Convolution in_bf16(Convolution problem) {
  problem.dtype = Dtype::bf16;
  return problem;
}
Convolution with_gates(Convolution problem) {
  problem.pregate = problem.postgate = true;
  return problem;
}
Convolution as_causal(Convolution problem) {
  problem.mode = Mode::causal;
  return problem;
}

const Convolution kRows = rows(64, 768);

std::vector<Case> fp16() { return over(kPowersOfTwo, kRows); }
std::vector<Case> between() { return over(kBetween, kRows); }
std::vector<Case> bf16() { return over(kPowersOfTwo, in_bf16(kRows)); }
std::vector<Case> gated() { return over(kPowersOfTwo, with_gates(kRows)); }
std::vector<Case> causal() { return over(kCausal, as_causal(kRows)); }
std::vector<Case> causal_gated() { return over(kCausal, as_causal(with_gates(kRows))); }
std::vector<Case> batch8() { return over(kPowersOfTwo, rows(8, 768)); }
std::vector<Case> batch1() { return over(kPowersOfTwo, rows(1, 4096)); }

std::vector<Case> speed() {
  return joined({fp16(), between(), bf16(), gated(), causal(), causal_gated(), batch8(), batch1()});
}

// Lengths as they come: those that have shown cliffs, and more of any size, none of them an FFT size.
std::vector<Case> lengths() {
  std::vector<std::int64_t> all = {1000, 1001, 1023, 1025, 4000, 4095, 8760, 14113, 30000};
  constexpr int kDrawn = 35;
  for (int i = 0; i < kDrawn; ++i) {  // evenly over the sizes, by the golden ratio
    const double place = std::fmod(0.6180339887498949 * (i + 1), 1);
    all.push_back(std::llround(std::exp2(7 + 8 * place)));
  }
  std::sort(all.begin(), all.end());
  constexpr std::array kOfAnyKind = {1000, 1001, 4095, 14113};
  return joined({over(all, as_causal(kRows)), over(all, kRows), over(kOfAnyKind, as_causal(in_bf16(kRows))),
                 over(kOfAnyKind, as_causal(with_gates(kRows)))});
}

std::vector<Case> whole_call() {
  std::vector<std::vector<Case>> parts;
  for (const Convolution& shape : {kRows, rows(8, 768), rows(1, 4096)})
    for (const Convolution& of_type : {shape, in_bf16(shape)}) {
      parts.push_back(over(kPowersOfTwo, of_type));
      parts.push_back(over(kCausal, as_causal(of_type)));
    }
  return joined(parts);
}

// Whether an odd batch costs what the next even one does.
std::vector<Case> odd_batches() {
  constexpr std::array kSizes = {1024, 4096, 16384};
  std::vector<std::vector<Case>> parts;
  for (int batch : {7, 8, 9, 10}) parts.push_back(over(kSizes, rows(batch, 768)));
  return joined(parts);
}

// Of a batch row of 64: 3 GB of u and y together, which a baseline in fp32 leaves room for.
constexpr std::int64_t kLongSamples = std::int64_t{192} << 16;

// Of as many channels as are so many samples.
template <class Asked = Convolution>
std::vector<Case> over_long(const std::vector<std::int64_t>& lengths, Convolution problem) {
  std::vector<Case> cases;
  for (std::int64_t length : lengths) {
    problem.length = problem.filter_length = length, problem.channels = kLongSamples / length;
    cases.push_back(Asked{problem});
  }
  return cases;
}

const std::vector<std::int64_t> kLongLengths = {1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22};

std::vector<Case> long_ones() {
  return joined({over_long(kLongLengths, kRows), over_long(kLongLengths, as_causal(kRows))});
}

// A filter of so many taps over rows as long, twice as long, and so on: cut into pieces where K is short enough, else
// whole. The last ones are what HyenaDNA was extended by, from rows of 450K and 1M to 4M (Fu et al. 2023, Table 8).
std::vector<Case> extension() {
  std::vector<Case> cases;
  const auto add = [&](std::int64_t taps, std::int64_t length) {
    Convolution problem = as_causal(kRows);
    problem.length = length, problem.filter_length = taps;
    if (length >= 1 << 16) problem.channels = kLongSamples / length;
    cases.push_back(problem);
  };
  for (std::int64_t taps : {1 << 10, 1 << 13})
    for (std::int64_t length = taps; length <= 1 << 20; length *= 2) add(taps, length);
  for (std::int64_t taps : {450'000, 1'000'000})
    for (std::int64_t length : {1'000'000, 2'000'000, 4'000'000}) add(taps, length);
  return cases;
}

std::vector<Case> gradients() {
  return joined({over<Backward>(kPowersOfTwo, kRows), over_long<Backward>(kLongLengths, kRows),
                 over<Backward>(kShortSteps, as_causal(kRows)), over<Backward>(kShortSteps, with_gates(kRows)),
                 over<Backward>(kShortSteps, in_bf16(kRows))});
}

std::vector<Case> steps() {
  return joined({over<TrainingStep>(kSteps, kRows), over<TrainingStep>(kSteps, as_causal(kRows)),
                 over<TrainingStep>(kSteps, with_gates(kRows)), over<TrainingStep>(kSteps, in_bf16(kRows)),
                 over<TrainingStep>(kShortSteps, as_causal(with_gates(kRows))),
                 over<TrainingStep>(kShortSteps, as_causal(in_bf16(kRows)))});
}

Spectral layer(std::int64_t batch, std::int64_t inputs, std::int64_t outputs, const std::vector<int>& lengths,
               int modes) {
  Spectral problem;
  problem.batch = batch, problem.inputs = inputs, problem.outputs = outputs;
  problem.lengths = lengths, problem.modes.assign(lengths.size(), modes);
  return problem;
}

Spectral in_tf32(Spectral problem) {
  problem.tf32 = true;
  return problem;
}

// As TurboFNO (github.com/shixun404/TurboFNO) was timed: results/h200_fno.csv.
Spectral turbofno_layer(std::int64_t batch, std::int64_t inputs, std::int64_t outputs,
                        const std::vector<int>& lengths) {
  Spectral problem = layer(batch, inputs, outputs, lengths, 64);
  problem.complex = problem.shared = problem.channel_major = true;
  return problem;
}

std::vector<Case> layers() {
  struct Channels {
    int inputs, outputs;
  };
  std::vector<Case> cases;
  const auto add = [&](const std::vector<int>& lengths, const std::vector<int>& batches,
                       const std::vector<Channels>& channels) {
    for (const Channels& mixed : channels)
      for (int batch : batches) cases.push_back(in_tf32(turbofno_layer(batch, mixed.inputs, mixed.outputs, lengths)));
  };
  for (int length : {128, 256})
    add({length}, {1, 16, 128, 1024, 8192, 32768}, {{32, 64}, {64, 64}, {64, 128}, {128, 128}});
  for (int length : {128, 256}) add({length, length}, {1, 16, 64, 128}, {{32, 64}, {64, 64}, {128, 128}});
  return cases;
}

// As neural operators have them (Li et al. 2021): real samples, a matrix for each frequency, of two axes the lowest and
// the highest.
Spectral operator_layer(std::int64_t batch, std::int64_t channels, const std::vector<int>& lengths, int modes) {
  Spectral problem = layer(batch, channels, channels, lengths, modes);
  problem.two_sided = lengths.size() == 2;
  return problem;
}

std::vector<Spectral> chosen_layers() {
  return {turbofno_layer(1024, 64, 64, {128}),    turbofno_layer(1024, 64, 64, {256}),
          turbofno_layer(1024, 128, 128, {128}),  turbofno_layer(16, 64, 64, {128, 128}),
          turbofno_layer(16, 64, 64, {256, 256}), operator_layer(32, 64, {1024}, 16),
          operator_layer(32, 64, {128, 128}, 16)};
}

std::vector<Spectral> chosen_layers_of_each_type() {
  std::vector<Spectral> layers;
  for (Spectral problem : chosen_layers()) {
    layers.push_back(in_tf32(problem));
    for (Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      problem.dtype = dtype;
      layers.push_back(problem);
    }
  }
  return layers;
}

std::vector<Case> layer_types() {
  std::vector<Case> cases;
  for (const Spectral& problem : chosen_layers_of_each_type()) cases.push_back(problem);
  // Of operators more sizes, from one item on.
  for (const Spectral& problem : {operator_layer(1, 64, {1024}, 16), operator_layer(256, 64, {1024}, 16),
                                  operator_layer(256, 32, {256}, 16), operator_layer(1, 32, {64, 64}, 12),
                                  operator_layer(20, 32, {64, 64}, 12), operator_layer(16, 32, {256, 256}, 12)})
    cases.push_back(in_tf32(problem));
  return cases;
}

std::vector<Case> layer_gradients() {
  std::vector<Case> cases;
  for (const Spectral& problem : chosen_layers_of_each_type()) cases.push_back(SpectralGradient{problem});
  return cases;
}

// Where taps in registers, Toeplitz blocks, pieces and whole rows by FFT take over from each other.
std::vector<Case> short_ones() {
  std::vector<Case> cases;
  for (Dtype dtype : {Dtype::bf16, Dtype::f16})
    for (bool channels_last : {false, true})
      for (std::int64_t length : {1 << 10, 1 << 13, 1 << 16})
        for (std::int64_t taps : {2, 3, 4, 8, 16, 32, 64, 128, 256}) {
          ShortConvolution p;
          p.dtype = dtype, p.taps = taps, p.length = length, p.channels_last = channels_last;
          p.batch = kRows.batch, p.channels = std::min(kRows.channels, kLongSamples / length);
          cases.push_back(p);
        }
  return cases;
}

std::vector<Case> short_gradients() {
  std::vector<Case> cases;
  for (bool channels_last : {false, true})
    for (std::int64_t length : {1 << 10, 1 << 13})
      for (std::int64_t taps : {4, 16, 64, 128, 256}) {
        ShortConvolution p;
        p.dtype = Dtype::bf16, p.taps = taps, p.length = length, p.channels_last = channels_last;
        p.batch = kRows.batch, p.channels = kRows.channels;
        cases.push_back(ShortBackward{p});
      }
  return cases;
}

// As FlashConv was shown, against length; what other methods take does not depend on the states.
std::vector<Case> states() {
  std::vector<Case> cases;
  const auto add = [&](int of_channel, std::int64_t batch, std::int64_t channels, int times) {
    for (std::int64_t length = 1 << 8; length <= 1 << 20; length *= times) {
      StateSpace p;
      p.states = of_channel, p.length = length, p.batch = batch;
      p.channels = std::min(channels, kLongSamples * kRows.batch / batch / length);
      cases.push_back(p);
    }
  };
  add(64, kRows.batch, kRows.channels, 2);
  for (int of_channel : {1, 16, 256}) add(of_channel, kRows.batch, kRows.channels, 4);
  add(64, 1, 4096, 4);
  return cases;
}

// Whether a kernel of this build computes such cases on the largest devices.
bool computes(const Variant& variant, const Convolution& mode) {
  const Fold fold = mode.mode == Mode::causal ? Fold::right_angle : Fold::pair;
  return variant.compiled && variant.suits(0) && variant.dtype == mode.dtype && variant.fold == fold &&
         variant.gated == mode.pregate;
}

// By every factorization of this build, which the cases name.
std::vector<Case> factorizations(Dtype dtype) {
  std::vector<Case> cases;
  for (Convolution problem : {kRows, with_gates(kRows), as_causal(kRows)}) {
    problem.dtype = dtype;
    for (const auto& v : variants()) {
      if (!computes(*v, problem)) continue;
      problem.length = problem.filter_length = v->size, problem.factors = v->factors;
      cases.push_back(problem);
    }
  }
  return cases;
}

// Likewise of three sizes beyond fused kernels: those of outer passes, and those of what is between them.
std::vector<Case> factorizations_long() {
  std::vector<Case> cases;
  for (Convolution problem : {kRows, as_causal(kRows)})
    for (const auto& v : long_variants()) {
      const bool is_asked = v->size == 1 << 16 || v->size == 1 << 20 || v->size == 1 << 22;
      if (!is_asked || !computes(*v, problem)) continue;
      problem.length = problem.filter_length = v->size, problem.factors = v->factors;
      problem.channels = kLongSamples / v->size;
      cases.push_back(problem);
    }
  return cases;
}

std::vector<Case> factorizations_fp16() { return factorizations(Dtype::f16); }
std::vector<Case> factorizations_bf16() { return factorizations(Dtype::bf16); }

// The paper's patterns for these factors, whose two readings leave the same to compute.
std::vector<FrequencyMask> computed_alike(const std::vector<int>& factors) {
  std::vector<FrequencyMask> masks = paper_masks(factors);
  std::erase_if(masks, [](const FrequencyMask& mask) { return mask.reading != MaskReading::hermitian; });
  return masks;
}

// Circular: dense, with the paper's patterns, and without the upper 91 %.
std::vector<Case> sparse() {
  std::vector<Case> cases;
  for (const Convolution& shape : {rows(1, 4096), rows(8, 768), kRows})
    for (const Convolution& of_type : {shape, in_bf16(shape)})
      for (const Case& each : over(kFrom1K, of_type)) {
        cases.push_back(each);
        Convolution masked = *each.as<Convolution>();
        masked.fold = choose(masked, Device()).fold == Fold::plain ? Fold::plain : Fold::pair;
        masked = planned(masked, choose(masked, Device()));
        const auto add = [&](const FrequencyMask& mask) {
          masked.mask = mask;
          if (token(masked) != cases.back().token()) cases.push_back(masked);
        };
        for (const FrequencyMask& mask : computed_alike(masked.factors)) add(mask);
        FrequencyMask low;
        low.kept = {{0, masked.fft_size * 9 / 200 - 1}};
        add(low);
      }
  return cases;
}

// Of 2M points, by the paper's factors: its patterns leave something of every row between the outer passes, as far as a
// real filter stays real; patterns of the outermost dimension alone leave 47, 31, 15 and 7 of 64 rows.
std::vector<Case> sparse_long() {
  Convolution dense = kRows;
  dense.length = dense.filter_length = 1 << 21, dense.channels = kLongSamples / dense.length;
  std::vector<Case> cases = {dense};
  Convolution masked = dense;
  masked.fold = Fold::pair, masked.fft_size = dense.length, masked.factors = {64, 32, 32, 32};
  const auto add = [&](const FrequencyMask& mask) {
    masked.mask = mask;
    cases.push_back(masked);
  };
  for (const FrequencyMask& mask : computed_alike(masked.factors)) add(mask);
  for (const FrequencyMask& mask : line_masks(masked.factors)) add(mask);
  return cases;
}

constexpr std::array kSweeps = {
    CaseSweep{"speed", "how fast is each method in every mode and shape below?", &speed},
    CaseSweep{"fp16", "and at B=64, H=768, circular, in powers of two?", &fp16},
    CaseSweep{"between", "and at the FFT sizes between the powers of two?", &between},
    CaseSweep{"bf16", "does bf16 cost more than fp16?", &bf16},
    CaseSweep{"gated", "what do both gates cost?", &gated},
    CaseSweep{"causal", "what does a causal convolution cost?", &causal},
    CaseSweep{"causal-gated", "and with both gates?", &causal_gated},
    CaseSweep{"batch8", "and with few batch rows: B=8, H=768?", &batch8},
    CaseSweep{"batch1", "and with one, that has no partner in a pair: B=1, H=4096?", &batch1},
    CaseSweep{"whole-call", "and with another filter at each call, whose transform counts?", &whole_call},
    CaseSweep{"odd-batches", "what does an odd batch cost beside the next even one?", &odd_batches},
    CaseSweep{"lengths", "what does a length cost that is no FFT size?", &lengths},
    CaseSweep{"long", "what does a convolution beyond the fused kernels take, 64K to 4M?", &long_ones},
    CaseSweep{"extension", "what does a filter take over rows that are longer than it?", &extension},
    CaseSweep{"gradients", "what does a backward pass take?", &gradients},
    CaseSweep{"step", "and a training step, and which part of it?", &steps},
    CaseSweep{"sparse", "what does it save to remove part of the spectrum?", &sparse},
    CaseSweep{"sparse-long", "and of sequences of 2M, by the paper's patterns and by rows?", &sparse_long},
    CaseSweep{"spectral", "what does a spectral layer take?", &layers},
    CaseSweep{"spectral-types", "and in another arithmetic, and as neural operators have it?", &layer_types},
    CaseSweep{"spectral-gradients", "what do its gradients take?", &layer_gradients},
    CaseSweep{"short", "how many taps are few, and which way do they go?", &short_ones},
    CaseSweep{"short-gradients", "what do the gradients of short convolutions take?", &short_gradients},
    CaseSweep{"state", "what does a state-space model take, and from which length on is a state cheaper than an FFT?",
              &states},
    CaseSweep{"factorizations-fp16", "how fast is every factorization that the kernels have?", &factorizations_fp16},
    CaseSweep{"factorizations-bf16", "and in bf16?", &factorizations_bf16},
    CaseSweep{"factorizations-long", "and by outer passes, of 64K, 1M and 4M?", &factorizations_long},
};

}  // namespace

std::span<const CaseSweep> case_sweeps() { return kSweeps; }

std::vector<std::string> case_sweep_names() {
  std::vector<std::string> names;
  for (const CaseSweep& sweep : kSweeps) names.emplace_back(sweep.name);
  return names;
}

const CaseSweep* find_case_sweep(std::string_view name) {
  const auto found = std::find_if(kSweeps.begin(), kSweeps.end(), [=](const CaseSweep& s) { return s.name == name; });
  return found == kSweeps.end() ? nullptr : &*found;
}

const CaseSweep& case_sweep(std::string_view operation, std::string_view name) {
  if (const CaseSweep* sweep = find_case_sweep(name)) return *sweep;
  fail(must_be_one_of(text(operation, ": sweep"), name, case_sweep_names()));
}

}  // namespace danaus
