#include "experiments/bench/sweeps.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "experiments/cli/table.hpp"
#include "kernels/plan/registry.hpp"

namespace danaus {
namespace {

constexpr std::array kPowersOfTwo = {256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
constexpr std::array kCausal = {128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};  // half of what padding takes
constexpr std::array kBetween = {768, 1536, 3072, 6144, 12288, 24576};

// A case for each length, from one that says the rest.
template <class Lengths>
std::vector<Convolution> over(const Lengths& lengths, Convolution problem) {
  std::vector<Convolution> cases;
  for (std::int64_t length : lengths) {
    problem.length = problem.filter_length = length;
    cases.push_back(problem);
  }
  return cases;
}

std::vector<Convolution> joined(const std::vector<std::vector<Convolution>>& parts) {
  std::vector<Convolution> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Convolution rows(std::int64_t batch, std::int64_t channels) {
  Convolution problem;
  problem.batch = batch, problem.channels = channels;
  return problem;
}

std::vector<Convolution> fp16() { return over(kPowersOfTwo, rows(64, 768)); }

std::vector<Convolution> between() { return over(kBetween, rows(64, 768)); }

std::vector<Convolution> bf16() {
  Convolution problem = rows(64, 768);
  problem.dtype = Dtype::bf16;
  return over(kPowersOfTwo, problem);
}

std::vector<Convolution> gated() {
  Convolution problem = rows(64, 768);
  problem.pregate = problem.postgate = true;
  return over(kPowersOfTwo, problem);
}

std::vector<Convolution> causal() {
  Convolution problem = rows(64, 768);
  problem.mode = Mode::causal;
  return over(kCausal, problem);
}

std::vector<Convolution> causal_gated() {
  Convolution problem = rows(64, 768);
  problem.mode = Mode::causal;
  problem.pregate = problem.postgate = true;
  return over(kCausal, problem);
}

std::vector<Convolution> batch8() { return over(kPowersOfTwo, rows(8, 768)); }

std::vector<Convolution> batch1() { return over(kPowersOfTwo, rows(1, 4096)); }

std::vector<Convolution> speed() {
  return joined({fp16(), between(), bf16(), gated(), causal(), causal_gated(), batch8(), batch1()});
}

// Lengths as they come: those that have shown cliffs, and more of any size, none of them an FFT size.
std::vector<Convolution> lengths() {
  std::vector<std::int64_t> all = {1000, 1001, 1023, 1025, 4000, 4095, 8760, 14113, 30000};
  constexpr int kDrawn = 35;
  for (int i = 0; i < kDrawn; ++i) {  // evenly over the sizes, by the golden ratio
    const double place = std::fmod(0.6180339887498949 * (i + 1), 1);
    all.push_back(std::llround(std::exp2(7 + 8 * place)));
  }
  std::sort(all.begin(), all.end());
  Convolution causal = rows(64, 768);
  causal.mode = Mode::causal;
  return joined({over(all, causal), over(all, rows(64, 768))});
}

std::vector<Convolution> whole_call() { return joined({fp16(), causal(), batch8(), batch1()}); }

// By every factorization of this build, which the cases name.
std::vector<Convolution> factorizations(Dtype dtype) {
  std::vector<Convolution> cases;
  for (const Convolution& mode : {fp16().front(), gated().front(), causal().front()})
    for (const auto& v : variants()) {
      const Fold fold = mode.mode == Mode::causal ? Fold::right_angle : Fold::pair;
      if (!v->compiled || !v->suits(0) || v->dtype != dtype || v->fold != fold || v->gated != mode.pregate) continue;
      Convolution problem = mode;
      problem.dtype = dtype;
      problem.length = problem.filter_length = v->size;
      problem.factors = v->factors;
      cases.push_back(problem);
    }
  return cases;
}

std::vector<Convolution> factorizations_fp16() { return factorizations(Dtype::f16); }
std::vector<Convolution> factorizations_bf16() { return factorizations(Dtype::bf16); }

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
    CaseSweep{"lengths", "what does a length cost that is no FFT size?", &lengths},
    CaseSweep{"factorizations-fp16", "how fast is every factorization that the kernels have?", &factorizations_fp16},
    CaseSweep{"factorizations-bf16", "and in bf16?", &factorizations_bf16},
};

}  // namespace

std::span<const CaseSweep> case_sweeps() { return kSweeps; }

std::string case_sweep_names() {
  std::vector<std::string> names;
  for (const CaseSweep& sweep : kSweeps) names.emplace_back(sweep.name);
  return join(names);
}

const CaseSweep* find_case_sweep(std::string_view name) {
  const auto found = std::find_if(kSweeps.begin(), kSweeps.end(), [=](const CaseSweep& s) { return s.name == name; });
  return found == kSweeps.end() ? nullptr : &*found;
}

const CaseSweep& case_sweep(std::string_view operation, std::string_view name) {
  if (const CaseSweep* sweep = find_case_sweep(name)) return *sweep;
  fail(operation, ": sweep '", name, "', must be one of ", case_sweep_names());
}

}  // namespace danaus
