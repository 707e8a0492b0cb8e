#include "experiments/bench/sweeps.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "experiments/cli/table.hpp"
#include "experiments/explore/patterns.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/plan.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/spelling.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

// Of a batch row of 64: 3 GB of u and y together, which a baseline in fp32 leaves room for.
constexpr std::int64_t kLongSamples = std::int64_t{192} << 16;

// Lengths, with the other sizes that most sweeps have.
const std::string kSizes = "_l{256,512,1024,2048,4096,8192,16384,32768}", kShape = "_b64_h768",
                  kCausal = "_l{128,256,512,1024,2048,4096,8192,16384,32768}",  // half of what padding takes
    kBetween = "_l{768,1536,3072,6144,12288,24576}" + kShape, kSteps = "_l{256,1024,4096,8192,16384,32768}" + kShape,
                  kFew = "_l{256,1024,4096,16384}" + kShape, kGates = "_pregate_postgate",
                  kLong =
                      "_l{65536_b64_h192,131072_b64_h96,262144_b64_h48,524288_b64_h24,1048576_b64_h12,"
                      "2097152_b64_h6,4194304_b64_h3}";

// Each of them is a sweep too.
const std::string kFp16 = "fftconv_f16_circular" + kSizes + kShape, kOfBetween = "fftconv_f16_circular" + kBetween,
                  kBf16 = "fftconv_bf16_circular" + kSizes + kShape, kGated = kFp16 + kGates,
                  kOfCausal = "fftconv_f16_causal" + kCausal + kShape, kCausalGated = kOfCausal + kGates,
                  kBatch8 = "fftconv_f16_circular" + kSizes + "_b8_h768",
                  kBatch1 = "fftconv_f16_circular" + kSizes + "_b1_h4096";

// Lengths as they come: those that have shown cliffs, and more of any size, none of them an FFT size.
std::vector<Case> lengths() {
  std::set<std::int64_t> all = {1000, 1001, 1023, 1025, 4000, 4095, 8760, 14113, 30000};
  constexpr int kDrawn = 35;
  for (int i = 0; i < kDrawn; ++i) {  // evenly over the sizes, by the golden ratio
    const double place = std::fmod(0.6180339887498949 * (i + 1), 1);
    all.insert(std::llround(std::exp2(7 + 8 * place)));
  }
  std::string list;
  for (std::int64_t length : all) list += text(list.empty() ? "" : ",", length);
  return cases_of({text("fftconv_f16_{causal,circular}_l{", list, '}', kShape),
                   text("fftconv_bf16_causal_l{1000,1001,4095,14113}", kShape),
                   text("fftconv_f16_causal_l{1000,1001,4095,14113}", kShape, kGates)})();
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
  for (std::string_view mode :
       {"circular_l1_b64_h768", "circular_l1_b64_h768_pregate_postgate", "causal_l1_b64_h768"}) {
    Convolution problem = parse_convolution(text("fftconv_", name(dtype), '_', mode));
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
  for (std::string_view mode : {"circular", "causal"})
    for (const auto& v : long_variants()) {
      Convolution problem = parse_convolution(text("fftconv_f16_", mode, "_l1_b64_h1"));
      const bool is_asked = v->size == 1 << 16 || v->size == 1 << 20 || v->size == 1 << 22;
      if (!is_asked || !computes(*v, problem)) continue;
      problem.length = problem.filter_length = v->size, problem.factors = v->factors;
      problem.channels = kLongSamples / v->size;
      cases.push_back(problem);
    }
  return cases;
}

// The paper's patterns for these factors, whose two readings leave the same to compute.
std::vector<FrequencyMask> computed_alike(const std::vector<int>& factors) {
  std::vector<FrequencyMask> masks = paper_masks(factors);
  std::erase_if(masks, [](const FrequencyMask& mask) { return mask.reading != MaskReading::hermitian; });
  return masks;
}

// Circular: dense, with the paper's patterns, and without the upper 91 %.
std::vector<Case> sparse() {
  std::vector<Case> cases;
  for (std::string_view shape : {"b1_h4096", "b8_h768", "b64_h768"})
    for (Dtype dtype : {Dtype::f16, Dtype::bf16})
      for (const Case& each :
           cases_of({text("fftconv_", name(dtype), "_circular_l{1024,2048,4096,8192,16384,32768}_", shape)})()) {
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
  const Convolution dense = parse_convolution("fftconv_f16_circular_l2097152_b64_h6");
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

// Of convolutions, their gradients and training steps.
std::vector<CaseSweep> sweeps_of_convolutions() {
  return {
      {"speed", "how fast is each method in every mode and shape below?",
       cases_of({kFp16, kOfBetween, kBf16, kGated, kOfCausal, kCausalGated, kBatch8, kBatch1})},
      {"fp16", "and at B=64, H=768, circular, in powers of two?", cases_of({kFp16})},
      {"between", "and at the FFT sizes between the powers of two?", cases_of({kOfBetween})},
      {"bf16", "does bf16 cost more than fp16?", cases_of({kBf16})},
      {"gated", "what do both gates cost?", cases_of({kGated})},
      {"causal", "what does a causal convolution cost?", cases_of({kOfCausal})},
      {"causal-gated", "and with both gates?", cases_of({kCausalGated})},
      {"batch8", "and with few batch rows: B=8, H=768?", cases_of({kBatch8})},
      {"batch1", "and with one, that has no partner in a pair: B=1, H=4096?", cases_of({kBatch1})},
      {"whole-call", "and with another filter at each call, whose transform counts?",
       cases_of({"fftconv_{f16,bf16}_circular" + kSizes + "_b{64_h768,8_h768,1_h4096}",
                 "fftconv_{f16,bf16}_causal" + kCausal + "_b{64_h768,8_h768,1_h4096}"})},
      {"odd-batches", "what does an odd batch cost beside the next even one?",
       cases_of({"fftconv_f16_circular_l{1024,4096,16384}_b{7,8,9,10}_h768"})},
      {"lengths", "what does a length cost that is no FFT size?", lengths},
      {"long", "what does a convolution beyond the fused kernels take, 64K to 4M?",
       cases_of({"fftconv_f16_{circular,causal}" + kLong})},
      // A filter over rows as long, twice as long, and so on: cut into pieces where K is short enough, else whole. The
      // last ones are what HyenaDNA was extended by, from rows of 450K and 1M to 4M (Fu et al. 2023, Table 8).
      {"extension", "what does a filter take over rows that are longer than it?",
       cases_of({"fftconv_f16_causal_l{1024,2048,4096}_k1024_b64_h768",
                 "fftconv_f16_causal_l{8192,16384,32768}_k{1024,8192}_b64_h768",
                 "fftconv_f16_causal_l65536_k{1024,8192}_b64_h192", "fftconv_f16_causal_l131072_k{1024,8192}_b64_h96",
                 "fftconv_f16_causal_l262144_k{1024,8192}_b64_h48", "fftconv_f16_causal_l524288_k{1024,8192}_b64_h24",
                 "fftconv_f16_causal_l1048576_k{1024,8192}_b64_h12",
                 "fftconv_f16_causal_l1000000_k{450000,1000000}_b64_h12",
                 "fftconv_f16_causal_l2000000_k{450000,1000000}_b64_h6",
                 "fftconv_f16_causal_l4000000_k{450000,1000000}_b64_h3"})},
      {"gradients", "what does a backward pass take?",
       cases_of({"fftconvgrad_f16_circular" + kSizes + kShape, "fftconvgrad_f16_circular" + kLong,
                 "fftconvgrad_f16_causal" + kFew, "fftconvgrad_f16_circular" + kFew + kGates,
                 "fftconvgrad_bf16_circular" + kFew})},
      {"step", "and a training step, and which part of it?",
       cases_of({"fftconvstep_{f16_circular,f16_causal,bf16_circular}" + kSteps,
                 "fftconvstep_f16_circular" + kSteps + kGates, "fftconvstep_f16_causal" + kFew + kGates,
                 "fftconvstep_bf16_causal" + kFew})},
      {"sparse", "what does it save to remove part of the spectrum?", sparse},
      {"sparse-long", "and of sequences of 2M, by the paper's patterns and by rows?", sparse_long},
      {"factorizations-fp16", "how fast is every factorization that the kernels have?",
       [] { return factorizations(Dtype::f16); }},
      {"factorizations-bf16", "and in bf16?", [] { return factorizations(Dtype::bf16); }},
      {"factorizations-long", "and by outer passes, of 64K, 1M and 4M?", factorizations_long},
  };
}

}  // namespace

std::span<const CaseSweep> case_sweeps() {
  static const std::vector<CaseSweep> kAll = [] {
    std::vector<CaseSweep> all = sweeps_of_convolutions();
    for (const Study& study : studies()) all.insert(all.end(), study.sweeps.begin(), study.sweeps.end());
    return all;
  }();
  return kAll;
}

std::vector<std::string> case_sweep_names() {
  std::vector<std::string> names;
  for (const CaseSweep& sweep : case_sweeps()) names.emplace_back(sweep.name);
  return names;
}

const CaseSweep* find_case_sweep(std::string_view name) {
  const auto found = std::ranges::find(case_sweeps(), name, &CaseSweep::name);
  return found == case_sweeps().end() ? nullptr : &*found;
}

const CaseSweep& case_sweep(std::string_view operation, std::string_view name) {
  if (const CaseSweep* sweep = find_case_sweep(name)) return *sweep;
  fail(must_be_one_of(text(operation, ": sweep"), name, case_sweep_names()));
}

}  // namespace danaus
