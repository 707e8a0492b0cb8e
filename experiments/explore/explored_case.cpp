#include "experiments/explore/explored_case.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "experiments/count/imitation.hpp"
#include "experiments/io/signal_file.hpp"
#include "experiments/predict/measured_kernels.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/plan.hpp"
#include "model/cost.hpp"

namespace danaus {
namespace {

constexpr std::int64_t kMostChannels = 16, kMostProbed = std::int64_t{1} << 22;

Signal read_some(const char* what, const std::string& path, std::ostream& notices) {
  Signal signal = read_finite_signal(text("explore: ", what), path, notices);
  print_frames_notice(notices, path, signal);
  if (std::ranges::all_of(signal.values, [](double v) { return v == 0; }))
    fail("explore: ", what, ' ', path, " are all zero");
  return signal;
}

// Of the values: another file under the same name is another question.
Json named(const std::string& name, const std::vector<double>& values) {
  return {{"name", name}, {"digest", digest_of(values)}};
}

Convolution default_case(Mode mode, std::int64_t length) {
  Convolution problem;
  problem.mode = mode;
  problem.batch = 64, problem.channels = 768, problem.length = problem.filter_length = length;
  return problem;
}

// Filters of a file, and the case that they are for.
void read_filters(const std::string& path, bool is_asked, ExploredCase& subject, std::ostream& notices) {
  const Signal file = read_some("filters", path, notices);
  if (file.shape.size() > 2)
    fail("explore: filters ", path, " have ", file.shape.size(), " dimensions, must be [K] or [H, K]");
  const std::int64_t rows = file.shape.size() == 2 ? file.shape[0] : 1, taps = file.shape.back();
  Convolution& problem = subject.problem;
  if (!is_asked) {
    problem.length = std::max<std::int64_t>(256, std::bit_ceil(static_cast<std::uint64_t>(taps)));
    problem.filter_length = taps, problem.channels = rows;
  }
  if (taps != problem.filter_length)
    fail("explore: filters ", path, " have K=", taps, ", ", token(problem), " has ", problem.filter_length);
  if (rows != 1 && rows != problem.channels)
    fail("explore: filters ", path, " are of H=", rows, ", ", token(problem), " has ", problem.channels);
  subject.k = file.values;
  subject.probe = problem;
  subject.probe.channels = rows;
  subject.filters = named(path, file.values);
}

}  // namespace

Json data_of(const ExploredCase& subject) {
  return {{"filters", subject.filters}, {"inputs", subject.names}, {"channels", subject.probe.channels}};
}

ExploredCase read_explored_case(const ExploredCaseWords& words, Mode mode, std::int64_t length, std::ostream& notices) {
  ExploredCase subject;
  subject.problem = words.token.empty() ? default_case(mode, length) : parse_convolution(words.token);
  if (!subject.problem.mask.empty())
    fail("explore: ", words.token, " has a mask; name the case without it, and the mask by --mask FILE");
  if (subject.problem.pregate || subject.problem.postgate)
    fail("explore: ", words.token, " has gates; the error is that of the convolution, name it without them");
  DataSpec spec;
  spec.seed = subject.seed = words.seed;
  const bool of_file = is_signal_file(words.filters);
  if (of_file) {
    read_filters(words.filters, !words.token.empty(), subject, notices);
  } else {
    spec.filter = parse_in(kFilterKinds, "explore: filters", words.filters);
    subject.probe = subject.problem;
    subject.probe.channels = std::clamp<std::int64_t>(kMostProbed / subject.problem.length, 1,
                                                      std::min(subject.problem.channels, kMostChannels));
    subject.filters = {{"name", words.filters}};
  }
  subject.probe.batch = 1, subject.probe.fft_size = 0, subject.probe.fold.reset(), subject.probe.factors.clear();

  const auto add = [&](const std::string& input_name, const Json& identity) {
    Inputs made = make_inputs(subject.probe, spec);
    if (subject.k.empty()) subject.k = std::move(made.k);
    subject.inputs.push_back({input_name, std::move(made.u)});
    subject.names.push_back(identity);
  };
  add("gaussian", {{"name", "gaussian"}});
  std::string inputs = words.inputs;
  spec.recording = read_recording(kRecordingFolder);
  if (inputs.empty() && !spec.recording.empty()) inputs = name(DataKind::recording);
  if (is_signal_file(inputs)) {
    spec.recording = read_some("inputs", inputs, notices).values;
    spec.data = DataKind::recording;
    add(inputs, named(inputs, spec.recording));
  } else if (!inputs.empty() && inputs != name(DataKind::gaussian)) {
    spec.data = parse_in(kDataKinds, "explore: inputs", inputs);
    add(inputs, {{"name", inputs}});
  }
  return subject;
}

Convolution laid_out(Convolution problem, const HardwareProfile& profile) {
  const Device device = imitation(profile);
  if (!problem.fold) problem.fold = Fold::pair;
  if (has_kernel(problem, device)) problem = planned(problem, choose(problem, device));
  if (problem.factors.empty()) problem = with_factors(problem, profile);
  problem = resolved(problem);
  if (problem.fold != Fold::pair && problem.fold != Fold::plain)
    fail("explore: ", token(problem), " has the ", name(*problem.fold), " fold, a frequency mask needs pair or plain");
  return problem;
}

std::map<std::string, double> measured_times(const std::vector<std::string>& paths, const HardwareProfile& profile) {
  if (paths.empty()) return {};
  return read_measured_times(paths, profile);
}

}  // namespace danaus
