#include "experiments/judging/judged_kernels.hpp"

#include <bit>
#include <thread>

#include "experiments/cli/in_order.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/count/kernel_work.hpp"
#include "model/cost.hpp"

namespace danaus {
namespace {

bool takes_part_in_fitting(const MeasuredKernel& kernel) {
  return !std::has_single_bit(static_cast<unsigned>(kernel.variant->size));
}

ModelTime eq2(const Convolution& problem, const HardwareProfile& profile) {
  const Prediction prediction = predict_eq2(problem, profile);
  return {prediction.total_us, prediction.limit};
}

// Executing kernels to count their work takes most of the time: on all cores.
std::vector<RooflinePrediction> counted(const std::vector<MeasuredKernel>& kernels, const HardwareProfile& profile) {
  const Device device = imitation(profile);
  std::vector<RooflinePrediction> predictions(kernels.size());
  compute_in_order(
      kernels.size(), std::thread::hardware_concurrency(),
      [&](std::size_t i) {
        predictions[i] = predict_roofline(kernel_work(count(kernels[i].problem, device), device), profile);
        return Json();
      },
      [](std::size_t, const Json&) {});
  return predictions;
}

}  // namespace

JudgedKernels judge(const std::vector<MeasuredKernel>& measured, const HardwareProfile& profile,
                    const HardwareProfile& paper) {
  const std::vector<RooflinePrediction> predictions = counted(measured, profile);
  std::vector<RooflinePrediction> fitted_to;
  std::vector<double> times;
  for (std::size_t i = 0; i < measured.size(); ++i)
    if (takes_part_in_fitting(measured[i])) fitted_to.push_back(predictions[i]), times.push_back(measured[i].us);
  JudgedKernels judged{
      {}, fitted_to.empty() ? Concurrency() : fit_concurrency(fitted_to, times), int(fitted_to.size())};
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const Convolution& problem = measured[i].problem;
    judged.kernels.push_back({measured[i],
                              !takes_part_in_fitting(measured[i]),
                              {eq2(problem, paper),
                               eq2(problem, profile),
                               {total_us(predictions[i], judged.concurrency), predictions[i].limit}},
                              predictions[i].resources});
  }
  return judged;
}

}  // namespace danaus
