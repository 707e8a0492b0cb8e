#include "experiments/verify/trials.hpp"

#include <algorithm>
#include <array>

#include "experiments/verify/execution.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/convolution/monarch.hpp"

namespace danaus {
namespace {

struct Layout {
  Mode mode;
  Fold fold;
};

// Every way to put a case into complex FFTs. Causal with pair, half or plain is padded.
constexpr std::array kLayouts = {
    Layout{Mode::circular, Fold::plain},     Layout{Mode::circular, Fold::pair},
    Layout{Mode::circular, Fold::half},      Layout{Mode::circular, Fold::right_angle},
    Layout{Mode::causal, Fold::right_angle}, Layout{Mode::causal, Fold::pair},
    Layout{Mode::causal, Fold::half},        Layout{Mode::causal, Fold::plain},
};

// The ways that a case without anything said takes.
constexpr std::array kDefaultLayouts = {Layout{Mode::circular, Fold::pair}, Layout{Mode::causal, Fold::right_angle}};

Convolution laid_out(Layout layout, std::int64_t length) {
  Convolution problem;
  problem.mode = layout.mode;
  problem.fold = layout.fold;
  problem.batch = 3;  // an odd last row
  problem.channels = 2;
  problem.length = problem.filter_length = length;
  return problem;
}

class Matrix {
 public:
  explicit Matrix(std::span<const Candidate> candidates) : candidates_(candidates) {}

  // The case, if the candidate computes such: in double for those that compute in double, else in each of `dtypes`.
  void add(std::string_view group, Convolution problem, const DataSpec& data = {},
           const std::vector<Dtype>& dtypes = {Dtype::f16, Dtype::bf16}) {
    for (const Candidate& candidate : candidates_) {
      if (candidate.scaling == Scaling::one_side) continue;  // known to fail in fp16: the range sweep shows it
      for (Dtype dtype : candidate.in_double ? std::vector{Dtype::f64} : dtypes) {
        problem.dtype = dtype;
        if (candidate.computes(problem)) trials_.push_back({problem, data, candidate, std::string(group)});
      }
    }
  }

  // A case of another operation.
  void add(std::string_view group, std::string_view token) {
    const Case asked = parse_case(token);
    for (const Candidate& candidate : candidates_)
      if (computes(candidate, asked)) trials_.push_back({asked, {}, candidate, std::string(group)});
  }

  std::vector<Trial> take() && { return std::move(trials_); }

 private:
  std::span<const Candidate> candidates_;
  std::vector<Trial> trials_;
};

void add_lengths(Matrix& matrix) {
  for (std::int64_t length : {1, 2, 3, 7, 16, 60, 127, 256, 1000, 1024, 1500, 4096})
    for (Layout layout : kLayouts)
      if (layout.mode == Mode::causal || layout.fold != Fold::half || length % 2 == 0)
        matrix.add("length and fold", laid_out(layout, length));
}

void add_long(Matrix& matrix) {
  for (std::int64_t length : {16384, 65536, 100003, 1048576})
    for (Layout layout : kDefaultLayouts) {
      Convolution problem = laid_out(layout, length);
      problem.batch = 2;
      problem.channels = 1;
      if (layout.mode == Mode::causal || length % 2 == 0) matrix.add("long", problem);  // 100003 is prime
    }
}

void add_orders(Matrix& matrix) {
  for (std::int64_t length : {64, 1024, 1536, 4096, 32768})
    for (int order = 1; order <= 5; ++order)
      for (Layout layout : kDefaultLayouts) {
        Convolution problem = laid_out(layout, length);
        problem.batch = 2;
        problem.channels = 1;
        problem.fft_size = length;
        problem.factors = balanced_factors(length, order);
        if (problem.factors.front() <= 1024) matrix.add("order", problem, {}, {Dtype::f16, Dtype::bf16, Dtype::f32});
      }
}

void add_filters(Matrix& matrix) {
  for (std::int64_t length : {128, 1024})
    for (std::int64_t filter_length : {std::int64_t{1}, std::int64_t{17}, length / 2, length + 13})
      for (Layout layout : kLayouts) {
        Convolution problem = laid_out(layout, length);
        problem.filter_length = filter_length;
        matrix.add("filter length", problem);
      }
}

void add_gates(Matrix& matrix) {
  for (std::int64_t length : {255, 1024})
    for (bool pregate : {false, true})
      for (bool postgate : {false, true})
        for (Layout layout : kDefaultLayouts) {
          if (!pregate && !postgate) continue;
          Convolution problem = laid_out(layout, length);
          problem.pregate = pregate;
          problem.postgate = postgate;
          matrix.add("gates", problem);
        }
}

void add_masks(Matrix& matrix) {
  const struct {
    std::vector<int> factors, zeroed;
  } kMasks[] = {
      {{16, 16}, {8, 0}}, {{16, 16}, {8, 8}}, {{16, 16}, {0, 4}}, {{8, 8, 16}, {8, 4, 2}}, {{8, 4, 4, 8}, {4, 2, 2, 4}},
  };
  const auto add = [&](const std::vector<int>& factors, const FrequencyMask& mask) {
    for (Mode mode : {Mode::circular, Mode::causal}) {
      std::int64_t size = 1;
      for (int factor : factors) size *= factor;
      Convolution problem = laid_out({mode, Fold::pair}, mode == Mode::circular ? size : size / 2);
      problem.fft_size = size;
      problem.factors = factors;
      problem.mask = mask;
      matrix.add("mask", problem);
    }
  };
  FrequencyMask bands, blocks;
  bands.kept = {{0, 20}, {64, 100}};
  blocks.pieces = {4, 2}, blocks.blocks = {1, 1, 0, 1, 1, 0, 1, 1};
  add({16, 16}, bands), add({16, 16}, blocks);
  for (const auto& [factors, zeroed] : kMasks)
    for (MaskReading reading : {MaskReading::hermitian, MaskReading::literal}) {
      FrequencyMask pattern;
      pattern.zeroed = zeroed, pattern.reading = reading;
      add(factors, pattern);
    }
}

void add_data(Matrix& matrix) {
  for (DataKind data : {DataKind::gaussian, DataKind::uniform, DataKind::impulse, DataKind::constant,
                        DataKind::heavy_tailed, DataKind::recording})
    for (double scale : {1.0, 0.02})
      for (FilterKind filter : {FilterKind::random, FilterKind::s4d, FilterKind::hyena})
        for (Layout layout : kDefaultLayouts) {
          DataSpec spec;
          spec.data = data;
          spec.scale = scale;
          spec.filter = filter;
          matrix.add("data, scale, filter", laid_out(layout, 2048), spec);
        }
}

// y is one sample of u, or all of them in another place.
void add_last_taps(Matrix& matrix) {
  for (std::int64_t length : {1000, 1024})
    for (Layout layout : kDefaultLayouts) {
      DataSpec spec;
      spec.filter = FilterKind::last_tap;
      matrix.add("last tap", laid_out(layout, length), spec);
    }
}

void add_filter_types(Matrix& matrix) {
  for (std::string_view token :
       {"fftconv_f16_circular_l1024_kf16_b3_h2", "fftconv_f16_causal_l1000_k77_kbf16_b2_h3",
        "fftconv_bf16_causal_l4096_kf16_b2_h1_pregate", "fftconv_bf16_circular_l700_kbf16_b1_h2"})
    matrix.add("filter of 16 bits", token);
}

// Each kernel that a plan for the executor can choose. The right angle's rows leave some of N empty.
void add_kernels(Matrix& matrix) {
  std::vector<std::pair<Convolution, std::vector<Dtype>>> splits;  // with the types that they have a kernel of
  for (const auto& v : variants()) {
    if (!v->compiled || v->size == 0) continue;
    const bool whole = v->wraps();
    Convolution problem = laid_out({whole ? Mode::circular : Mode::causal, v->fold}, whole ? v->size : v->size - 3);
    problem.dtype = v->dtype;
    problem.channels = 1;
    problem.fft_size = v->size;
    problem.factors = v->factors;
    problem.pregate = problem.postgate = v->gated;
    if (&choose(problem, Device()) != v.get()) continue;
    problem.dtype = Dtype::f16;
    auto split = std::ranges::find(splits, problem, &decltype(splits)::value_type::first);
    if (split == splits.end()) split = splits.insert(split, {problem, {}});
    split->second.push_back(v->dtype);
  }
  for (const auto& [problem, dtypes] : splits) matrix.add("split of a kernel", problem, {}, dtypes);
}

// Small ones of each operation but the convolution itself, and those where the gated backward that came with the paper
// returned a wrong gradient (results/h200_peers.csv): of the postgate at N = 256 and 1K, of u at 32K.
void add_other_operations(Matrix& matrix) {
  for (std::string_view token :
       {"fftconvgrad_f16_circular_l256_b2_h2_pregate_postgate", "fftconvgrad_f16_circular_l1024_b2_h2_pregate_postgate",
        "fftconvgrad_f16_circular_l32768_b2_h1_pregate_postgate",
        "fftconvgrad_bf16_circular_l32768_b2_h1_pregate_postgate", "fftconvgrad_f16_causal_l128_b2_h2_pregate_postgate",
        "fftconvgrad_f16_causal_l512_b2_h2_pregate_postgate", "fftconvgrad_f16_causal_l16384_b2_h1_pregate_postgate",
        "fftconvgrad_bf16_causal_l16384_b2_h1_pregate_postgate"})
    matrix.add("gradients, once wrong", token);
  for (std::string_view token :
       {"fftconvgrad_f16_causal_l1_b1_h1", "fftconvgrad_f16_circular_l512_b3_h2", "fftconvgrad_bf16_causal_l1000_b3_h2",
        "fftconvgrad_f16_causal_l250_k40_b2_h3_pregate_postgate", "fftconvgrad_bf16_circular_l300_k700_b3_h2_postgate",
        "fftconvgrad_f16_circular_l1001_k5_b4_h2_pregate", "fftconvgrad_f16_causal_l4096_kbf16_b2_h1",
        "fftconvgrad_bf16_circular_l16384_b2_h1"})
    matrix.add("gradients", token);
  for (std::string_view token :
       {"fftconvstep_f16_causal_l1000_b3_h2_pregate_postgate", "fftconvstep_bf16_circular_l2048_b2_h2"})
    matrix.add("step", token);
  for (std::string_view type : {"f32_tf32", "f32", "f16", "bf16"})
    for (std::string_view shape : {"_complex_b3_c32x64_l128_m64_shared_channelmajor", "_complex_b9_c5x19_l36_m7",
                                   "_b2_c24x40_l96_m49_shared", "_b5_c20x33_l100_m12_adjoint"})
      matrix.add("spectral layer", text("spectral_", type, shape));
  for (std::string_view type : {"f32_tf32", "f32", "f16", "bf16"})
    for (std::string_view shape :
         {"_complex_b19_c6x10_l64_m20_shared_channelmajor", "_b3_c5x7_l36_m7", "_b2_c3x4_l16x18_m4x5_twosided"})
      matrix.add("its gradients", text("spectralgrad_", type, shape));
}

// Few taps and many, whole tiles and parts of one, in both layouts; states of each kernel, rows in parts, the
// recurrence.
void add_short_and_state(Matrix& matrix) {
  for (std::string_view dtype : {"f16", "bf16"}) {
    for (std::string_view shape :
         {"_causal_k4_l1000_b2_h9", "_causal_k4_l513_b2_h10_bias_pregate_channelslast", "_same_k7_l300_b2_h3",
          "_causal_k64_l700_b2_h3_bias_pregate_postgate", "_same_k256_l1030_b1_h2", "_causal_k2_l1_b1_h1",
          "_same_k31_l290_b2_h33_postgate_channelslast"})
      for (std::string_view word : {"shortconv_", "shortconvgrad_"})
        matrix.add(word == "shortconv_" ? "short convolution" : "its gradients", text(word, dtype, shape));
    for (std::string_view shape : {"_s64_l200_b3_h2_initial_final", "_s1_l130_b2_h1", "_s256_l96_b2_h1_final",
                                   "_s12_l1100_b1_h2_initial_final", "_s16_l20_b3_h2_initial_final"})
      matrix.add("state-space model", text("ssmconv_", dtype, shape));
  }
}

std::vector<Trial> default_matrix(std::span<const Candidate> candidates) {
  Matrix matrix(candidates);
  add_lengths(matrix);
  add_long(matrix);
  add_orders(matrix);
  add_filters(matrix);
  add_gates(matrix);
  add_masks(matrix);
  add_data(matrix);
  add_last_taps(matrix);
  add_filter_types(matrix);
  add_kernels(matrix);
  add_other_operations(matrix);
  add_short_and_state(matrix);
  return std::move(matrix).take();
}

// Rows enough that an error is that of many thousand samples, however short the case.
Convolution sweep_case(std::int64_t length, int order, Dtype dtype) {
  Convolution problem = laid_out({Mode::circular, Fold::pair}, length);
  problem.dtype = dtype;
  problem.batch = 2;
  problem.channels = std::max<std::int64_t>(1, 8192 / length);
  problem.fft_size = length;
  problem.factors = balanced_factors(length, order);
  return problem;
}

std::vector<Trial> error_sweep(std::span<const Candidate> candidates) {
  std::vector<Trial> trials;
  for (const Candidate& candidate : candidates)
    if (candidate.scaling == Scaling::unitary)
      for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32})
        for (int order : {2, 3, 4})
          for (std::int64_t length = 256; length <= 65536; length *= 2)
            trials.push_back({sweep_case(length, order, dtype), {}, candidate, "error"});
  return trials;
}

std::vector<Trial> range_sweep(std::span<const Candidate> candidates) {
  DataSpec data;
  data.scale = 0.02;
  std::vector<Trial> trials;
  for (const Candidate& candidate : candidates)
    if (candidate.scaling)
      for (Dtype dtype : {Dtype::f16, Dtype::bf16})
        for (std::int64_t length = 256; length <= 65536; length *= 2)
          trials.push_back({sweep_case(length, length <= 2048 ? 2 : 3, dtype), data, candidate, "range"});
  return trials;
}

constexpr std::array kTrialSweeps = {
    TrialSweep{"matrix",
               "is every candidate within its bound, over lengths, folds, orders, filters, gates, masks and data?",
               &default_matrix, true},
    TrialSweep{"error", "how does rounding error grow with N and order, for each type?", &error_sweep, true},
    TrialSweep{"range", "what becomes of fp16 at data scale 0.02 when 1/N sits on one side?", &range_sweep, false},
};

}  // namespace

std::span<const TrialSweep> trial_sweeps() { return kTrialSweeps; }

Json describe(const Trial& trial) {
  const auto* convolution = trial.asked.as<Convolution>();
  const auto& [asked, data, candidate, group] = trial;
  Json row = {{"case", asked.token()},
              {"method", candidate.name},
              {"data",
               {{"kind", name(data.data)},
                {"scale", data.scale},
                {"filter", name(data.filter)},
                {"seed", std::to_string(convolution ? data_seed(*convolution, data) : data.seed)}}}};
  if (candidate.scaling) row["scaling"] = name(*candidate.scaling);
  if (candidate.name == kOnGpu) row["device"] = device_block(cuda_device());
  if (!convolution && !candidate.machine)
    fail("verify: method ", candidate.name, " computes convolutions; of ", asked.token(), " there are kernel and ",
         kOnGpu);
  row["order"] = convolution ? candidate.planned(*convolution).factors.size()
                             : planned_factors(asked, candidate.machine()->device()).size();
  return row;
}

std::string repeat_command(const Trial& trial) {
  std::ostringstream command;
  command << "danaus verify --case " << trial.asked.token() << " --method " << trial.candidate.name;
  const DataSpec defaults;
  if (trial.candidate.scaling == Scaling::one_side) command << " --scaling " << name(*trial.candidate.scaling);
  if (trial.data.data != defaults.data) command << " --data " << name(trial.data.data);
  if (trial.data.scale != defaults.scale) command << " --scale " << trial.data.scale;
  if (trial.data.filter != defaults.filter) command << " --filter " << name(trial.data.filter);
  if (trial.data.seed != defaults.seed) command << " --seed " << trial.data.seed;
  return command.str();
}

}  // namespace danaus
