#include "experiments/explore/savings.hpp"

#include "experiments/count/counted.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/count/kernel_work.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/long.hpp"
#include "reference/convolution/mask.hpp"

namespace danaus {
namespace {

// As far from `least` to `most` as the part says.
double between(double least, double most, double part) { return least + part * (most - least); }

double part_of(std::int64_t live, std::int64_t least, std::int64_t most) {
  return most > least ? static_cast<double>(live - least) / static_cast<double>(most - least) : 1;
}

}  // namespace

Savings::Savings(const Convolution& problem, const HardwareProfile& profile)
    : problem_(problem), profile_(profile), device_(imitation(profile)) {
  if (!is_counted(problem, device_) || !is_one_launch(problem, device_) || choose(problem, device_).outer_rows() > 1) {
    eq2_ = predict_eq2(problem, profile_);
    dense_ = {eq2_.total_us, eq2_.limit, {}, {}};
    return;
  }
  counted_ = count_program(problem, device_);
  dense_ = by_counted_work(*counted_);
  least_ = low_pass(0);
  for (std::int64_t size = problem.fft_size / 8; size > 1 && !most_; size /= 2) most_ = low_pass(size - 1);
}

std::optional<Savings::Masked> Savings::low_pass(std::int64_t last) const {
  Convolution masked = problem_;
  masked.mask.kept = {{0, last}};
  const SparseChoice sparse = choose_sparse(choose(masked, device_), device_, kept_frequencies(masked));
  if (!sparse.variant) return std::nullopt;
  return Masked{count_program(masked, device_), *sparse.part};
}

Expense Savings::of(const Convolution& masked) const {
  if (!counted_) {
    Expense expense{0, eq2_.limit, {}, {}};
    const std::vector<LiveStage> stages = live_blocks_of(masked);
    for (std::size_t s = 0; s < stages.size(); ++s)
      expense.us += stages[s].fraction() * (eq2_.terms[s].compute_us + eq2_.terms[s].memory_us);
    return expense;
  }
  const SparseChoice sparse = choose_sparse(choose(problem_, device_), device_, kept_frequencies(masked));
  if (!least_ || !most_ || !sparse.variant) return dense_;
  Expense expense = by_counted_work(between(*sparse.part));
  expense.skips = true;
  return expense;
}

ProgramWork Savings::between(const LivePart& part) const {
  const double of_blocks = part_of(part.blocks, least_->part.blocks, most_->part.blocks);
  const double of_spectrum = part_of(part.pieces, least_->part.pieces, most_->part.pieces);
  ProgramWork some = least_->work;
  for (std::size_t i = 0; i < some.launches.size(); ++i) {
    LaunchWork& launch = some.launches[i];
    const LaunchWork& most = most_->work.launches.at(i);
    for (const auto& [name, value] : host::kCounterFields) {
      const double share = value == &host::Counters::global_load_sectors ? of_spectrum : of_blocks;
      const double count = danaus::between(static_cast<double>(launch.counters.*value),
                                           static_cast<double>(most.counters.*value), share);
      launch.counters.*value = static_cast<std::uint64_t>(count + 0.5);
    }
    for (double LaunchWork::*bytes : {&LaunchWork::l2_bytes, &LaunchWork::hbm_bytes})
      launch.*bytes = danaus::between(launch.*bytes, most.*bytes, of_spectrum);
  }
  return some;
}

Expense Savings::by_counted_work(const ProgramWork& program) const {
  const KernelWork work = kernel_work(problem_, program, device_).front().work;  // the others prepare the filter
  const RooflinePrediction prediction = predict_roofline(work, profile_);
  return {prediction.total_us, prediction.limit, work.mma_f16acc + work.mma_f32acc + work.mma_depth8, work.hbm_bytes};
}

std::vector<LiveStage> live_blocks_of(const Convolution& problem) {
  const std::vector<std::uint8_t> kept = kept_frequencies(problem);
  const bool alone = problem.fold == Fold::plain;
  return live_blocks(alone ? kept : live_with_mirrors(kept), problem.factors);
}

}  // namespace danaus
