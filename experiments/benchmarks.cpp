// How fast the reference is: each candidate of the verification table by length. Samples a second of u count.
//
//   build/default/danaus_benchmarks --benchmark_filter=monarch
#include <benchmark/benchmark.h>

#include "experiments/verify/candidates.hpp"
#include "reference/convolution/data.hpp"

namespace danaus {
namespace {

void time_candidate(benchmark::State& state, const Candidate& candidate, const Convolution& problem) {
  const Inputs inputs = make_inputs(problem, {});
  for (auto _ : state) benchmark::DoNotOptimize(candidate.compute(problem, inputs));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(inputs.u.size()));
}

void register_benchmarks() {
  for (const Candidate& candidate : candidates()) {
    if (candidate.scaling == Scaling::one_side) continue;  // the same work
    for (std::int64_t length : {1024, 32768}) {
      Convolution problem;
      problem.dtype = candidate.in_double ? Dtype::f64 : Dtype::f16;
      problem.batch = 2;
      problem.length = problem.filter_length = length;
      const std::string label = std::string(candidate.name) + '/' + token(problem);
      benchmark::RegisterBenchmark(label.c_str(), [candidate, problem](benchmark::State& state) {
        time_candidate(state, candidate, problem);
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
