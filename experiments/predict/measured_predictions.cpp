#include "experiments/predict/measured_predictions.hpp"

#include <array>
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
#include "experiments/operations/subject.hpp"
#include "experiments/predict/measured_kernels.hpp"
#include "model/cost.hpp"

namespace danaus {
namespace {

constexpr const char* kKind = "prediction";

// Its launches, those that prepare its filters, and what the compiler said of a single one.
struct CountedWork {
  std::vector<RepeatedWork> launches, filter;
  std::optional<Compiled> compiled;
};

// Executing kernels to count their work takes most of the time: on all cores.
std::vector<CountedWork> counted(const std::vector<MeasuredKernel>& kernels, const HardwareProfile& profile) {
  const Device device = imitation(profile);
  std::vector<CountedWork> works(kernels.size());
  compute_in_order(
      kernels.size(), std::thread::hardware_concurrency(),
      [&](std::size_t i) {
        const Case& asked = kernels[i].counted;
        const ProgramWork program = count_program(asked, device);
        works[i] = {kernel_work(asked, program, device, false), kernel_work(asked, program, device, true), {}};
        const LaunchWork& last = program.launches.back();
        if (kernels[i].variant) works[i].compiled = machine_code().of(last.id, last.path, device.sm);
        return Json();
      },
      [](std::size_t, const Json&) {});
  return works;
}

Json row_of(const Prediction& eq2) { return {{"us", eq2.total_us}, {"limit", eq2.limit}}; }

// Without instruction issue, which takes as long as the slower of schedulers and warps.
Json times_of(const RooflinePrediction& prediction) {
  Json resources = Json::object();
  for (const ResourceTime& resource : prediction.resources)
    if (resource.name != kIssue) resources[resource.name] = resource.us;
  return {{"resources_us", resources},
          {"schedulers_us", prediction.schedulers_us},
          {"warps_us", prediction.warps_us},
          {"waits", prediction.waits},
          {"launch_us", prediction.launch_us}};
}

Json row_of(const RepeatedWork& launch, const HardwareProfile& profile) {
  constexpr std::array kPlaces = {"shared", "l2", "none"};
  const KernelWork& work = launch.work;
  Json row = times_of(predict_roofline(work, profile));
  row["times"] = launch.times, row["blocks"] = work.resident_blocks, row["meets"] = work.meets;
  row["prefetch"] = kPlaces[static_cast<std::size_t>(work.prefetch)];
  row["last_wave"] = work.last_wave, row["starts"] = work.starts, row["follows"] = work.follows;
  return row;
}

Json row_of(const Concurrency& fit) {
  return {{"overlap", fit.overlap},     {"half_shared", fit.half[0]},
          {"half_l2", fit.half[1]},     {"half_none", fit.half[2]},
          {"warp_rate", fit.warp_rate}, {"last_wave", fit.last_wave},
          {"wait_us", fit.wait_us},     {"start_us", fit.start_us},
          {"fill_us", fit.fill_us},     {"phase_fill_us", fit.phase_fill_us},
          {"follow_us", fit.follow_us}};
}

// Sums over all launches, each launch, and the numbers that the program itself makes one time by.
Json row_of(const std::vector<RepeatedWork>& launches, const HardwareProfile& profile) {
  Json row = times_of(predict_launches(launches, profile));
  row["launches"] = Json::array();
  for (const RepeatedWork& each : launches) row["launches"].push_back(row_of(each, profile));
  row["fit"] = row_of(Concurrency());
  return row;
}

Json row_of(const std::optional<Compiled>& said) {
  return said ? Json{{"registers", said->registers}, {"local_bytes", said->local_bytes}} : Json();
}

// Of a convolution in one launch there is more to say: Eq. 2 knows no other.
Json fields_of_factors(const MeasuredKernel& m, const HardwareProfile& profile, const HardwareProfile& paper) {
  const Convolution& p = m.problem;
  return {{"preferred", m.variant->preferred},
          {"mode", name(p.mode)},
          {"gated", p.pregate || p.postgate},
          {"fold", name(*p.fold)},
          {"n", m.variant->size},
          {"order", p.factors.size()},
          {"factors", p.factors},
          {"eq2_paper", row_of(predict_eq2(p, paper))},
          {"eq2_profile", row_of(predict_eq2(p, profile))}};
}

Json row_of(const MeasuredKernel& m, const std::string& device, const CountedWork& counted,
            const HardwareProfile& profile, const HardwareProfile& paper) {
  const Shape shape = shape_of(m.counted);
  Json row = {{"kind", kKind},
              {"case", m.token},
              {"profile", profile.name},
              {"kernel", m.kernel},
              {"device", device},
              {"dtype", name(m.counted.arrays().front().dtype)},
              {"asked_by_factors", m.asked_by_factors},
              {"batch", shape.batch},
              {"channels", shape.channels},
              {"measured_us", m.us},
              {"clock_mhz", m.clock_mhz ? Json(*m.clock_mhz) : Json()},
              {"stale", m.stale},
              {"counted", row_of(counted.launches, profile)},
              {"filter", nullptr},
              {"call_measured_us", m.call_us ? Json(*m.call_us) : Json()},
              {"compiled", row_of(counted.compiled)},
              {"notes", m.notes}};
  if (m.filter_us && !counted.filter.empty())
    row["filter"] = {{"measured_us", *m.filter_us}, {"counted", row_of(counted.filter, profile)}};
  if (m.variant) row.update(fields_of_factors(m, profile, paper));
  return row;
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
  if (measured.of_other_kernel > 0)
    console.err << "notice: " << measured.of_other_kernel
                << " rows are of kernels that plans no longer choose for their factors, left out\n";

  const std::vector<CountedWork> works = counted(measured.kernels, profile);
  std::vector<std::vector<std::string>> cells;
  for (std::size_t i = 0; i < measured.kernels.size(); ++i) {
    const MeasuredKernel& kernel = measured.kernels[i];
    const RooflinePrediction time = predict_launches(works[i].launches, profile);
    file.append(row_of(kernel, measured.device, works[i], profile, paper));
    const auto eq2 = [&](const HardwareProfile& rates) {
      return kernel.variant ? fixed(predict_eq2(kernel.problem, rates).total_us, 1) : "";
    };
    cells.push_back({kernel.token, join(kernel.problem.factors), fixed(kernel.us, 1), eq2(paper), eq2(profile),
                     fixed(time.total_us, 1), time.limit, remarks(kernel)});
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
              << ", wait " << fixed(own.wait_us, 2) << " us and the other numbers fitted to kernels on the "
              << own.fitted_to << "; plots/make.py --judge fits them to these rows and judges the models\n";
  if (profile.name != paper.name)
    console.out << "Eq. 2, " << paper.name << ": times of that GPU, not of the one that was measured\n";
  return kExitOk;
}

}  // namespace danaus
