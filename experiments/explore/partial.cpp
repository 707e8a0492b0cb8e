#include <cmath>

#include "experiments/count/footprint.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/count/kernel_work.hpp"
#include "experiments/explore/exploration.hpp"
#include "reference/convolution/convolve.hpp"

namespace danaus {
namespace {

// y of the filters' first `taps`.
std::vector<double> applied(const ExploredCase& subject, const std::vector<double>& u, std::int64_t taps) {
  Convolution problem = subject.probe;
  Inputs inputs{u, {}, {}, {}};
  for (std::int64_t channel = 0; channel < problem.channels; ++channel) {
    const auto first = subject.k.begin() + channel * problem.filter_length;
    inputs.k.insert(inputs.k.end(), first, first + taps);
  }
  problem.filter_length = taps;
  return convolve(problem, inputs, Algorithm::fftw);
}

double relative_l2(const std::vector<double>& actual, const std::vector<double>& expected) {
  double error = 0, all = 0;
  for (std::size_t i = 0; i < actual.size(); ++i)
    error += (actual[i] - expected[i]) * (actual[i] - expected[i]), all += expected[i] * expected[i];
  return all > 0 ? std::sqrt(error / all) : 0;
}

}  // namespace

std::vector<PartialFilter> partial_filters(const ExploredCase& subject) {
  const std::int64_t all = subject.problem.filter_length;
  std::vector<PartialFilter> list;
  for (std::int64_t taps = 256; taps < 2 * all; taps *= 2) {
    list.push_back({subject.problem});
    list.back().problem.filter_length = std::min(taps, all);
  }
  if (list.empty()) fail("explore: K=", all, ", partial filters have from 256 taps on");
  return list;
}

Json describe(const PartialFilter& partial, const ExploredCase& subject, const HardwareProfile& profile) {
  return {
      {"case", token(partial.problem)}, {"data", data_of(subject)}, {"seed", subject.seed}, {"profile", profile.name}};
}

Json partial_row(const PartialFilter& partial, const ExploredCase& subject, const HardwareProfile& profile,
                 const std::map<std::string, double>& measured) {
  const Convolution& problem = partial.problem;
  Json errors = Json::array();
  for (const ProbeInput& input : subject.inputs) {
    const std::vector<double> whole = applied(subject, input.u, subject.probe.filter_length);
    const double error = relative_l2(applied(subject, input.u, problem.filter_length), whole);
    errors.push_back(error_field(input.name, error));
  }
  const Device device = imitation(profile);
  const Json memory = footprint(problem, profile);
  Json row = {{"l", problem.length},
              {"k", problem.filter_length},
              {"whole_k", subject.problem.filter_length},
              {"errors", errors},
              {"total_bytes", memory.at("total_bytes")},
              {"additional_bytes", memory.at("additional_bytes")},
              {"k_bytes", memory.at("k_bytes")}};
  if (is_counted(problem, device)) {
    const ProgramWork counted = count_program(problem, device);
    row["kernel"] = counted.variant;
    row["us"] = predict_launches(kernel_work(problem, counted, device), profile).total_us;
  }
  if (const auto found = measured.find(token(problem)); found != measured.end()) row["measured_us"] = found->second;
  return row;
}

}  // namespace danaus
