#include "experiments/predict/measured_predictions.hpp"

#include <filesystem>
#include <fstream>
#include <thread>

#include "experiments/cli/in_order.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/code/machine_code.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/count/kernel_work.hpp"
#include "experiments/io/result_file.hpp"
#include "experiments/io/rows_file.hpp"
#include "experiments/predict/measured_kernels.hpp"
#include "model/cost.hpp"

namespace danaus {
namespace {

constexpr const char* kKind = "prediction";

struct CountedPrediction {
  RooflinePrediction time, filter;  // of the convolution, and of its filter's transform
  std::optional<Compiled> compiled;
};

// Executing kernels to count their work takes most of the time: on all cores.
std::vector<CountedPrediction> counted(const std::vector<MeasuredKernel>& kernels, const HardwareProfile& profile) {
  const Device device = imitation(profile);
  std::vector<CountedPrediction> predictions(kernels.size());
  compute_in_order(
      kernels.size(), std::thread::hardware_concurrency(),
      [&](std::size_t i) {
        const Convolution& problem = kernels[i].problem;
        const ProgramWork program = count_program(problem, device);
        const LaunchWork& fused = program.launches.back();
        const auto predict = [&](bool prepares) {
          return predict_launches(kernel_work(problem, program, device, prepares), profile);
        };
        predictions[i] = {predict(false), predict(true), machine_code().of(fused.id, fused.path, device.sm)};
        return Json();
      },
      [](std::size_t, const Json&) {});
  return predictions;
}

Json row_of(const Prediction& eq2) { return {{"us", eq2.total_us}, {"limit", eq2.limit}}; }

// Without instruction issue, which takes as long as the slower of schedulers and warps.
Json row_of(const RooflinePrediction& prediction) {
  Json resources = Json::object();
  for (const ResourceTime& resource : prediction.resources)
    if (resource.name != kIssue) resources[resource.name] = resource.us;
  return {{"resources_us", resources},
          {"schedulers_us", prediction.schedulers_us},
          {"warps_us", prediction.warps_us},
          {"waits", prediction.waits},
          {"launch_us", prediction.launch_us},
          {"overlap", prediction.concurrency.overlap},
          {"warp_rate", prediction.concurrency.warp_rate},
          {"wait_us", prediction.concurrency.wait_us}};
}

Json row_of(const std::optional<Compiled>& said) {
  return said ? Json{{"registers", said->registers}, {"local_bytes", said->local_bytes}} : Json();
}

Json row_of(const MeasuredKernel& m, const std::string& device, const Prediction& eq2_paper,
            const Prediction& eq2_profile, const CountedPrediction& counted) {
  const Convolution& p = m.problem;
  return {{"kind", kKind},
          {"case", m.token},
          {"profile", counted.time.profile},
          {"kernel", m.variant->name},
          {"device", device},
          {"preferred", m.variant->preferred},
          {"dtype", name(p.dtype)},
          {"mode", name(p.mode)},
          {"gated", p.pregate || p.postgate},
          {"fold", name(*p.fold)},
          {"n", m.variant->size},
          {"order", p.factors.size()},
          {"factors", p.factors},
          {"asked_by_factors", m.asked_by_factors},
          {"batch", p.batch},
          {"channels", p.channels},
          {"measured_us", m.us},
          {"clock_mhz", m.clock_mhz ? Json(*m.clock_mhz) : Json()},
          {"stale", m.stale},
          {"eq2_paper", row_of(eq2_paper)},
          {"eq2_profile", row_of(eq2_profile)},
          {"counted", row_of(counted.time)},
          {"filter", m.filter_us ? Json{{"measured_us", *m.filter_us}, {"counted", row_of(counted.filter)}} : Json()},
          {"call_measured_us", m.call_us ? Json(*m.call_us) : Json()},
          {"compiled", row_of(counted.compiled)},
          {"notes", m.notes}};
}

// Rows of this kind are written over, and nothing else that a user may have.
void require_predictions_or_nothing(const std::string& json) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(json, ignored)) return;
  std::ifstream file(json);
  for (std::string line; std::getline(file, line);) {
    const Json row = Json::parse(line, nullptr, false);
    if (!row.is_object() || row.value("kind", Json()) != kKind)
      fail("model: ", json, ": holds something else than rows of kind ", kKind, "; not written over");
  }
}

std::string remarks(const MeasuredKernel& kernel) {
  std::string words = kernel.stale ? "stale" : "";
  for (const std::string& note : kernel.notes) words += (words.empty() ? "" : ", ") + note;
  return words;
}

}  // namespace

int predict_measured(const std::vector<std::string>& paths, const HardwareProfile& profile,
                     const HardwareProfile& paper, const std::string& json, Console& console) {
  require_predictions_or_nothing(json);
  RowsFile file(console, json);
  const MeasuredKernels measured = read_measured_kernels(paths, profile);
  print_configuration(
      console, "model",
      {{"measured", text(measured.kernels.size(), " kernels on ", measured.device, ", in ", join(paths))},
       {"profile", profile.name},
       {"rows kept", json.empty() ? "no (--json FILE keeps them)" : json}});
  if (measured.without_kernel > 0)
    console.err << "notice: " << measured.without_kernel
                << " rows are of kernels that this build has not (CMake option DANAUS_ALL), left out\n";
  if (measured.of_other_operation > 0)
    console.err << "notice: " << measured.of_other_operation
                << " rows are of other operations than fftconv, left out\n";
  if (measured.of_several_launches > 0)
    console.err << "notice: " << measured.of_several_launches
                << " rows are of convolutions in several launches, which model --sweep predicts, left out\n";
  if (measured.of_other_kernel > 0)
    console.err << "notice: " << measured.of_other_kernel
                << " rows are of kernels that plans no longer choose for their factors, left out\n";

  const std::vector<CountedPrediction> predictions = counted(measured.kernels, profile);
  std::vector<std::vector<std::string>> cells;
  for (std::size_t i = 0; i < measured.kernels.size(); ++i) {
    const MeasuredKernel& kernel = measured.kernels[i];
    const Prediction eq2_paper = predict_eq2(kernel.problem, paper), eq2_profile = predict_eq2(kernel.problem, profile);
    file.append(row_of(kernel, measured.device, eq2_paper, eq2_profile, predictions[i]));
    cells.push_back({kernel.token, join(kernel.problem.factors), fixed(kernel.us, 1), fixed(eq2_paper.total_us, 1),
                     fixed(eq2_profile.total_us, 1), fixed(predictions[i].time.total_us, 1), predictions[i].time.limit,
                     remarks(kernel)});
  }
  file.commit();
  if (json == "-") return kExitOk;
  // Of what the program itself was fitted to, for want of rows to fit to; plots/make.py --judge fits it to these.

  using enum Column::Align;
  print_table(console.out,
              {{"case", 0, left},
               {"factors", 0, left},
               {"measured, us", 0, right},
               {"Eq. 2, " + paper.name, 0, right},
               {"Eq. 2, " + profile.name, 0, right},
               {"counted work", 0, right},
               {"most time in", 0, left},
               {"notes", 0, left}},
              cells);
  const Concurrency own;
  console.out << "\ncounted work: overlap " << fixed(own.overlap, 2) << ", warp rate " << fixed(own.warp_rate, 3)
              << ", wait " << fixed(own.wait_us, 2) << " us, fitted to kernels on the " << own.fitted_to
              << "; plots/make.py --judge fits them to these rows and judges the models\n";
  if (profile.name != paper.name)
    console.out << "Eq. 2, " << paper.name << ": times of that GPU, not of the one that was measured\n";
  return kExitOk;
}

}  // namespace danaus
