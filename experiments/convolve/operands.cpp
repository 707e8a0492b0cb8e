#include "experiments/convolve/operands.hpp"

#include <algorithm>
#include <cmath>

#include "experiments/cli/memory.hpp"
#include "reference/convolution/convolve.hpp"

namespace danaus {
namespace {

std::string shape_text(const Signal& signal) {
  std::string text;
  for (std::int64_t extent : signal.shape) text += (text.empty() ? "[" : ", ") + std::to_string(extent);
  return text + "]";
}

// Counts what is not finite and refuses it unless the user wants it.
bool has_nonfinite(const std::string& path, const Signal& signal, bool allowed, Console& console) {
  const auto finite = [](double value) { return std::isfinite(value); };
  const auto first = std::find_if_not(signal.values.begin(), signal.values.end(), finite);
  if (first == signal.values.end()) return false;
  const auto count = signal.values.end() - first - std::count_if(first, signal.values.end(), finite);
  if (!allowed)
    fail("convolve: ", path, " has ", count, " NaN or infinite values, the first at index ",
         first - signal.values.begin(), ", must be finite (--allow-nonfinite lets them through)");
  console.err << "notice: " << path << " has " << count
              << " NaN or infinite values; a transform spreads them over their whole row\n";
  return true;
}

void match_rate(const std::string& path, const Signal& signal, const std::string& u_path, const Signal& u) {
  if (signal.sample_rate != 0 && u.sample_rate != 0 && signal.sample_rate != u.sample_rate)
    fail("convolve: ", path, " has ", signal.sample_rate, " Hz, must have the ", u.sample_rate, " Hz of ", u_path);
}

// The filter for every channel: [H, K] from [K], [1, K] or [H, K].
std::vector<double> filter_of(const std::string& path, const Signal& k, const Signal& u, const Convolution& problem) {
  if (k.shape.size() > 2) fail("convolve: k ", path, " is ", shape_text(k), ", must be [K] or [H, K]");
  const std::int64_t rows = k.shape.size() == 2 ? k.shape[0] : 1;
  if (rows == problem.channels) return k.values;
  if (rows != 1)
    fail("convolve: k ", path, " is ", shape_text(k), ", must have one row, or as many as u ", shape_text(u),
         " has channels, ", problem.channels);
  std::vector<double> repeated;
  repeated.reserve(k.values.size() * static_cast<std::size_t>(problem.channels));
  for (std::int64_t channel = 0; channel < problem.channels; ++channel)
    repeated.insert(repeated.end(), k.values.begin(), k.values.end());
  return repeated;
}

Convolution problem_of(const Signal& u, const Signal& k, Mode mode, const OperandFiles& files) {
  Convolution problem;
  problem.dtype = u.dtype;
  problem.mode = mode;
  problem.length = u.shape.back();
  problem.filter_length = k.shape.back();
  if (u.shape.size() >= 2) problem.channels = u.shape[u.shape.size() - 2];
  if (u.shape.size() == 3) problem.batch = u.shape[0];
  problem.pregate = !files.pregate.empty();
  problem.postgate = !files.postgate.empty();
  validate(problem);
  return problem;
}

}  // namespace

std::string description(const std::string& path, const Signal& signal) {
  return path + "  " + std::string(name(signal.dtype)) + ' ' + shape_text(signal) +
         (signal.sample_rate ? "  " + std::to_string(signal.sample_rate) + " Hz" : "");
}

Operands read_operands(const OperandFiles& files, Mode mode, bool allow_nonfinite, Console& console) {
  Operands operands{read_signal(files.u), read_signal(files.k), {}, {}};
  const Signal &u = operands.u, &k = operands.k;
  operands.problem = problem_of(u, k, mode, files);
  require_memory("convolve", memory_of(planned(operands.problem)));

  operands.inputs = {u.values, filter_of(files.k, k, u, operands.problem), {}, {}};
  match_rate(files.k, k, files.u, u);
  bool& nonfinite = operands.nonfinite;
  nonfinite |= has_nonfinite(files.u, u, allow_nonfinite, console);
  nonfinite |= has_nonfinite(files.k, k, allow_nonfinite, console);
  const auto read_gate = [&](const std::string& path, const char* which) {
    if (path.empty()) return std::vector<double>{};
    Signal gate = read_signal(path);
    if (gate.shape != u.shape)
      fail("convolve: ", which, ' ', path, " is ", shape_text(gate), ", must be ", shape_text(u), " like u");
    match_rate(path, gate, files.u, u);
    nonfinite |= has_nonfinite(path, gate, allow_nonfinite, console);
    return std::move(gate.values);
  };
  operands.inputs.pregate = read_gate(files.pregate, "pregate");
  operands.inputs.postgate = read_gate(files.postgate, "postgate");
  return operands;
}

}  // namespace danaus
