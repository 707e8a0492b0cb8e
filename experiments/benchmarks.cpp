// How fast the reference is: each method that verify judges, by length. Samples a second of u count.
//
//   build/default/danaus_benchmarks --benchmark_filter=monarch
#include <benchmark/benchmark.h>

#include "experiments/methods/execution.hpp"
#include "experiments/methods/method.hpp"
#include "reference/convolution/data.hpp"
#include "reference/convolution/terms.hpp"

namespace danaus {
namespace {

void time_method(benchmark::State& state, const Method& method, const Convolution& problem) {
  const Inputs inputs = make_inputs(problem, {});
  for (auto _ : state)
    if (method.machine)
      benchmark::DoNotOptimize(execute(problem, values_of(inputs), method.machine()));
    else
      benchmark::DoNotOptimize(method.compute(problem, inputs));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(inputs.u.size()));
}

void register_benchmarks() {
  for (const Method& method : judged_methods()) {
    if (method.scaling == Scaling::one_side) continue;  // the same work
    for (std::int64_t length : {1024, 32768}) {
      Convolution problem;
      problem.dtype = method.in_double ? Dtype::f64 : Dtype::f16;
      problem.batch = 2;
      problem.length = problem.filter_length = length;
      if (!computes(method, problem)) continue;
      const std::string label = std::string(method.name) + '/' + token(problem);
      benchmark::RegisterBenchmark(label.c_str(), [&method, problem](benchmark::State& state) {
        time_method(state, method, problem);
      })->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace
}  // namespace danaus

int main(int argc, char** argv) {
  danaus::register_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
