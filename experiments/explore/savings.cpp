#include "experiments/explore/savings.hpp"

#include <algorithm>

#include "experiments/bench/work.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/count/kernel_work.hpp"
#include "reference/convolution/mask.hpp"

namespace danaus {
namespace {

using host::Counters;

constexpr std::uint64_t Counters::*kOfMatrices[] = {&Counters::mma_f16acc, &Counters::mma_f32acc, &Counters::mma_depth8,
                                                    &Counters::mma_tf32};
constexpr std::uint64_t Counters::*kBetweenThem[] = {&Counters::packed_operations, &Counters::fp32_operations,
                                                     &Counters::byte_permutes,     &Counters::shared_wavefronts,
                                                     &Counters::shared_conflicts,  &Counters::shared_instructions,
                                                     &Counters::warp_barriers};

void scale(std::uint64_t& count, double part) { count = static_cast<std::uint64_t>(part * double(count) + 0.5); }

// Of a stage's instructions, each of which makes any 8 digits for the digits before.
double instructions_left(const LiveStage& stage) {
  const auto for_digits = [](std::int64_t digits) { return (digits + 7) / 8; };
  std::int64_t left = 0, all = 0;
  for (auto first = stage.blocks.begin(); first != stage.blocks.end(); first += stage.factor) {
    left += for_digits(std::count(first, first + stage.factor, 1));
    all += for_digits(stage.factor);
  }
  return static_cast<double>(left) / static_cast<double>(all);
}

double mean_left(const std::vector<LiveStage>& stages, bool by_matrices) {
  double sum = 0, weights = 0;
  for (const LiveStage& stage : stages) {
    const double weight = !by_matrices ? 1 : stage.factor < 8 ? 0 : stage.factor / 8.;
    sum += weight * instructions_left(stage), weights += weight;
  }
  return weights > 0 ? sum / weights : 1;
}

}  // namespace

Savings::Savings(const Convolution& problem, const HardwareProfile& profile)
    : problem_(problem), profile_(profile), device_(imitation(profile)) {
  if (is_counted(problem, device_) && is_one_launch(problem, device_)) {
    counted_ = count_program(problem, device_);
  } else {
    eq2_ = predict_eq2(problem, profile_);
  }
  dense_ = of(live_blocks(std::vector<std::uint8_t>(problem.fft_size, 1), problem.factors));
}

Expense Savings::of(const std::vector<LiveStage>& stages) const {
  if (counted_) return by_counted_work(stages);
  Expense expense{0, eq2_.limit, {}, {}};
  for (std::size_t s = 0; s < stages.size(); ++s)
    expense.us += stages[s].fraction() * (eq2_.terms[s].compute_us + eq2_.terms[s].memory_us);
  return expense;
}

Expense Savings::by_counted_work(const std::vector<LiveStage>& stages) const {
  ProgramWork some = *counted_;
  const double of_matrices = mean_left(stages, true), between = mean_left(stages, false);
  const double moved = moved_bytes(problem_), of_spectrum = stages.back().fraction();
  for (LaunchWork& launch : some.launches) {
    for (auto field : kOfMatrices) scale(launch.counters.*field, of_matrices);
    for (auto field : kBetweenThem) scale(launch.counters.*field, between);
    for (double LaunchWork::*bytes : {&LaunchWork::l2_bytes, &LaunchWork::hbm_bytes})
      launch.*bytes = moved + of_spectrum * (launch.*bytes - moved);
  }
  const KernelWork work = kernel_work(problem_, some, device_).front().work;  // the others prepare the filter
  const RooflinePrediction prediction = predict_roofline(work, profile_);
  return {prediction.total_us, prediction.limit, work.mma_f16acc + work.mma_f32acc + work.mma_depth8, work.hbm_bytes};
}

std::vector<LiveStage> live_blocks_of(const Convolution& problem) {
  const std::vector<std::uint8_t> kept = kept_frequencies(problem);
  const bool alone = problem.fold == Fold::plain;
  return live_blocks(alone ? kept : live_with_mirrors(kept), problem.factors);
}

}  // namespace danaus
