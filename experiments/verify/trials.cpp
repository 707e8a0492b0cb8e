#include "experiments/verify/trials.hpp"

#include <algorithm>
#include <array>

#include "experiments/methods/execution.hpp"
#include "experiments/operations/study.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/convolution/monarch.hpp"

namespace danaus {
namespace {

// With an odd last row.
Convolution laid_out(Mode mode, Fold fold, std::int64_t length) {
  return parse_convolution(text("fftconv_f16_", name(mode), "_l", length, "_b3_h2_", name(fold)));
}

class Matrix {
 public:
  explicit Matrix(std::span<const Method> methods) : methods_(methods) {}

  // The case, if the method computes such: in double for those that compute in double, else in each of `dtypes`.
  void add(std::string_view group, Convolution problem, const DataSpec& data = {},
           const std::vector<Dtype>& dtypes = {Dtype::f16, Dtype::bf16}) {
    for (const Method& method : methods_) {
      if (method.scaling == Scaling::one_side) continue;  // known to fail in fp16: the range sweep shows it
      for (Dtype dtype : method.in_double ? std::vector{Dtype::f64} : dtypes) {
        problem.dtype = dtype;
        if (computes(method, problem)) trials_.push_back({problem, data, method, std::string(group)});
      }
    }
  }

  // The cases of a pattern; of convolutions in each type.
  void add(std::string_view group, std::string_view pattern, const DataSpec& data = {}) {
    for (const std::string& token : expanded(pattern)) {
      const Case asked = parse_case(token);
      if (const auto* convolution = asked.as<Convolution>(); convolution && convolution->filter == Dtype::f32) {
        add(group, *convolution, data);
        continue;
      }
      for (const Method& method : methods_)
        if (computes(method, asked)) trials_.push_back({asked, data, method, std::string(group)});
    }
  }

  std::vector<Trial> take() && { return std::move(trials_); }

 private:
  std::span<const Method> methods_;
  std::vector<Trial> trials_;
};

// Every way to put a case into complex FFTs. Causal with pair, half or plain is padded.
constexpr std::string_view kFolds = "{plain,pair,half,rightangle}";

void add_convolutions(Matrix& matrix) {
  matrix.add("length and fold", text("fftconv_f16_causal_l{1,2,3,7,16,60,127,256,1000,1024,1500,4096}_b3_h2_", kFolds));
  matrix.add("length and fold",
             "fftconv_f16_circular_l{1,2,3,7,16,60,127,256,1000,1024,1500,4096}_b3_h2_{plain,pair,rightangle}");
  matrix.add("length and fold", "fftconv_f16_circular_l{2,16,60,256,1000,1024,1500,4096}_b3_h2_half");
  matrix.add("long", "fftconv_f16_circular_l{16384,65536,1048576}_b2_h1_pair");
  matrix.add("long", "fftconv_f16_causal_l{16384,65536,100003,1048576}_b2_h1_rightangle");  // 100003 is prime
  matrix.add("filter length",
             text("fftconv_f16_{circular,causal}_l{128_k1,128_k17,128_k64,128_k141,1024_k1,1024_k17,1024_k512,"
                  "1024_k1037}_b3_h2_",
                  kFolds));
  matrix.add("gates", "fftconv_f16_circular_l{255,1024}_b3_h2_{pregate,postgate,pregate_postgate}_pair");
  matrix.add("gates", "fftconv_f16_causal_l{255,1024}_b3_h2_{pregate,postgate,pregate_postgate}_rightangle");
  matrix.add("mask",
             "fftconv_f16_{circular_l256,causal_l128}_b3_h2_n256_pair_r16x16_{keep0to20+64to100,blocks4x2hdb,"
             "zero8x0,zero8x0literal,zero8x8,zero8x8literal,zero0x4,zero0x4literal}");
  matrix.add("mask",
             "fftconv_f16_{circular_l1024,causal_l512}_b3_h2_n1024_pair_{r8x8x16_zero8x4x2,"
             "r8x4x4x8_zero4x2x2x4}{,literal}");
  matrix.add("filter of 16 bits",
             "fftconv_{f16_circular_l1024_kf16_b3_h2,f16_causal_l1000_k77_kbf16_b2_h3,"
             "bf16_causal_l4096_kf16_b2_h1_pregate,bf16_circular_l700_kbf16_b1_h2}");
}

void add_data(Matrix& matrix) {
  DataSpec spec;
  for (DataKind data : {DataKind::gaussian, DataKind::uniform, DataKind::impulse, DataKind::constant,
                        DataKind::heavy_tailed, DataKind::recording})
    for (double scale : {1.0, 0.02})
      for (FilterKind filter : {FilterKind::random, FilterKind::s4d, FilterKind::hyena}) {
        spec.data = data, spec.scale = scale, spec.filter = filter;
        matrix.add("data, scale, filter", "fftconv_f16_{circular_l2048_b3_h2_pair,causal_l2048_b3_h2_rightangle}",
                   spec);
      }
  // y is one sample of u, or all of them in another place.
  spec = {};
  spec.filter = FilterKind::last_tap;
  matrix.add("last tap",
             "fftconv_f16_{circular_l1000_b3_h2_pair,circular_l1024_b3_h2_pair,"
             "causal_l1000_b3_h2_rightangle,causal_l1024_b3_h2_rightangle}",
             spec);
}

void add_orders(Matrix& matrix) {
  for (std::int64_t length : {64, 1024, 1536, 4096, 32768})
    for (int order = 1; order <= 5; ++order)
      for (const bool circular : {true, false}) {
        Convolution problem =
            laid_out(circular ? Mode::circular : Mode::causal, circular ? Fold::pair : Fold::right_angle, length);
        problem.batch = 2;
        problem.channels = 1;
        problem.fft_size = length;
        problem.factors = balanced_factors(length, order);
        if (problem.factors.front() <= 1024) matrix.add("order", problem, {}, {Dtype::f16, Dtype::bf16, Dtype::f32});
      }
}

// Each kernel that a plan for the executor can choose. The right angle's rows leave some of N empty.
void add_kernels(Matrix& matrix) {
  std::vector<std::pair<Convolution, std::vector<Dtype>>> splits;  // with the types that they have a kernel of
  for (const auto& v : variants()) {
    if (!v->compiled || v->size == 0) continue;
    const bool whole = v->wraps();
    Convolution problem = laid_out(whole ? Mode::circular : Mode::causal, v->fold, whole ? v->size : v->size - 3);
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

std::vector<Trial> default_matrix(std::span<const Method> methods) {
  Matrix matrix(methods);
  add_convolutions(matrix);
  add_orders(matrix);
  add_data(matrix);
  add_kernels(matrix);
  for (const Study& study : studies())
    for (const TrialGroup& group : study.trials) matrix.add(group.name, group.pattern);
  return std::move(matrix).take();
}

// Rows enough that an error is that of many thousand samples, however short the case.
Convolution sweep_case(std::int64_t length, int order, Dtype dtype) {
  Convolution problem = laid_out(Mode::circular, Fold::pair, length);
  problem.dtype = dtype;
  problem.batch = 2;
  problem.channels = std::max<std::int64_t>(1, 8192 / length);
  problem.fft_size = length;
  problem.factors = balanced_factors(length, order);
  return problem;
}

std::vector<Trial> error_sweep(std::span<const Method> methods) {
  std::vector<Trial> trials;
  for (const Method& method : methods)
    if (method.scaling == Scaling::unitary)
      for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32})
        for (int order : {2, 3, 4})
          for (std::int64_t length = 256; length <= 65536; length *= 2)
            trials.push_back({sweep_case(length, order, dtype), {}, method, "error"});
  return trials;
}

std::vector<Trial> range_sweep(std::span<const Method> methods) {
  DataSpec data;
  data.scale = 0.02;
  std::vector<Trial> trials;
  for (const Method& method : methods)
    if (method.scaling)
      for (Dtype dtype : {Dtype::f16, Dtype::bf16})
        for (std::int64_t length = 256; length <= 65536; length *= 2)
          trials.push_back({sweep_case(length, length <= 2048 ? 2 : 3, dtype), data, method, "range"});
  return trials;
}

constexpr std::array kTrialSweeps = {
    TrialSweep{"matrix",
               "is every method within its bound, over lengths, folds, orders, filters, gates, masks and data?",
               &default_matrix, true},
    TrialSweep{"error", "how does rounding error grow with N and order, for each type?", &error_sweep, true},
    TrialSweep{"range", "what becomes of fp16 at data scale 0.02 when 1/N sits on one side?", &range_sweep, false},
};

}  // namespace

std::span<const TrialSweep> trial_sweeps() { return kTrialSweeps; }

Json describe(const Trial& trial) {
  const auto* convolution = trial.asked.as<Convolution>();
  const auto& [asked, data, method, group] = trial;
  Json row = {{"case", asked.token()},
              {"method", method.name},
              {"data",
               {{"kind", name(data.data)},
                {"scale", data.scale},
                {"filter", name(data.filter)},
                {"seed", std::to_string(convolution ? data_seed(*convolution, data) : data.seed)}}}};
  if (method.scaling) row["scaling"] = name(*method.scaling);
  if (method.name == kOnGpu) row["device"] = device_block(cuda_device());
  if (!method.profile.empty()) row["device"] = device_block(method.machine()->device());
  if (!convolution && !method.machine)
    fail("verify: method ", method.name, " computes convolutions; of ", asked.token(), " there are kernel and ",
         kOnGpu);
  row["order"] = convolution ? planned_by(method, *convolution).factors.size()
                             : planned_factors(asked, method.machine()->device()).size();
  return row;
}

std::string repeat_command(const Trial& trial) {
  std::ostringstream command;
  command << "danaus verify --case " << trial.asked.token() << " --method " << trial.method.name;
  const DataSpec defaults;
  if (!trial.method.profile.empty()) command << " --profile " << trial.method.profile;
  if (trial.method.scaling == Scaling::one_side) command << " --scaling " << name(*trial.method.scaling);
  if (trial.data.data != defaults.data) command << " --data " << name(trial.data.data);
  if (trial.data.scale != defaults.scale) command << " --scale " << trial.data.scale;
  if (trial.data.filter != defaults.filter) command << " --filter " << name(trial.data.filter);
  if (trial.data.seed != defaults.seed) command << " --seed " << trial.data.seed;
  return command.str();
}

}  // namespace danaus
