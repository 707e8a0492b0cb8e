#include "experiments/convolve/operands.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "experiments/cli/memory.hpp"

namespace danaus {
namespace {

// One array, what messages call it, and what it becomes.
struct Operand {
  const char* name;
  const std::string& path;
  std::vector<double> Inputs::*input;
  Signal signal;

  bool is_filter() const { return input == &Inputs::k; }

  std::string text() const { return danaus::text(name, ' ', path, " is ", shape_text(signal.shape)); }
  std::int64_t length() const { return signal.shape.back(); }
  std::int64_t channels() const { return extent(1); }
  std::int64_t batch() const { return extent(2); }
  std::int64_t extent(std::size_t from_last) const {
    const auto& shape = signal.shape;
    return shape.size() > from_last ? shape[shape.size() - 1 - from_last] : 1;
  }
};

// The channels that u and k have together, by NumPy's rule.
std::int64_t channels_of(const Operand& u, const Operand& k) {
  if (u.channels() != 1 && k.channels() != 1 && k.channels() != u.channels())
    fail("convolve: ", k.text(), " of ", k.channels(), " channels, must be of 1 or the ", u.channels(), " of u ",
         shape_text(u.signal.shape));
  return u.channels() == 1 ? k.channels() : u.channels();
}

// [B, H, samples] of any array that broadcasts to them.
std::vector<double> expanded(const Operand& operand, std::int64_t batch, std::int64_t channels, std::int64_t length) {
  const std::vector<double>& values = operand.signal.values;
  if (std::ssize(values) == batch * channels * length) return values;
  std::vector<double> all;
  all.reserve(static_cast<std::size_t>(batch * channels * length));
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t h = 0; h < channels; ++h) {
      const std::int64_t row =
          std::min(b, operand.batch() - 1) * operand.channels() + std::min(h, operand.channels() - 1);
      if (operand.length() < length)
        all.insert(all.end(), static_cast<std::size_t>(length), values[static_cast<std::size_t>(row)]);
      else
        all.insert(all.end(), values.begin() + row * length, values.begin() + (row + 1) * length);
    }
  return all;
}

// How far the method carries a value that is not finite.
std::string reach(const Operand& operand, const Convolution& problem, Algorithm method) {
  if (operand.input == &Inputs::postgate) return "each stays in its own sample of y";
  if (method == Algorithm::direct && problem.mask.empty())
    return operand.is_filter()
               ? "the direct sum carries each to up to all samples of its channel"
               : text("the direct sum carries each to ", std::min(problem.filter_length, problem.length),
                      " samples of y: its own and those after it");
  const bool is_paired = method == Algorithm::monarch && problem.batch > 1 && planned(problem).fold == Fold::pair;
  return text("a transform spreads them over whole rows of y", is_paired ? " and those paired with them" : "",
              problem.mask.empty() ? "; --method direct does not" : "");
}

// Counts what is not finite and refuses it unless the user wants it.
bool has_nonfinite(const Operand& operand, const Convolution& problem, Algorithm method, bool allowed,
                   Console& console) {
  const std::vector<double>& values = operand.signal.values;
  const auto finite = [](double value) { return std::isfinite(value); };
  const auto first = std::find_if_not(values.begin(), values.end(), finite);
  if (first == values.end()) return false;
  const auto count = values.end() - first - std::count_if(first, values.end(), finite);
  if (!allowed)
    fail("convolve: ", operand.path, " has ", count, " NaN or infinite values, the first at index ",
         first - values.begin(), ", must be finite (--allow-nonfinite lets them through)");
  console.err << "notice: " << operand.path << " has " << count << " NaN or infinite values; "
              << reach(operand, problem, method) << '\n';
  return true;
}

void match(const Operand& operand, const Operand& u) {
  const int rate = operand.signal.sample_rate, of_u = u.signal.sample_rate;
  if (rate != 0 && of_u != 0 && rate != of_u)
    fail("convolve: ", operand.path, " has ", rate, " Hz, must have the ", of_u, " Hz of ", u.path);
}

Convolution problem_of(std::span<const Operand> operands, Mode mode, const OperandFiles& files) {
  const Operand &u = operands[0], &k = operands[1];
  if (u.length() == 0) fail("convolve: L=0, must be at least 1 (", u.path, " is empty)");
  if (k.length() == 0) fail("convolve: K=0, must be at least 1 (", k.path, " is empty)");
  if (k.batch() != 1)
    fail("convolve: ", k.text(), ", must be [K], [H, K] or [1, H, K]: all batch rows have the same filters");
  for (const Operand& operand : operands) match(operand, u);
  Convolution problem;
  problem.dtype = u.signal.dtype;
  problem.mode = mode;
  problem.batch = u.batch();
  problem.channels = channels_of(u, k);
  problem.length = u.length();
  problem.filter_length = k.length();
  problem.pregate = !files.pregate.empty();
  problem.postgate = !files.postgate.empty();
  return problem;
}

// The shape of u, with one more axis where only k has several channels. Gates must broadcast to it.
std::vector<std::int64_t> shape_of(std::span<const Operand> operands, const Convolution& problem) {
  const std::size_t rank = std::max<std::size_t>(operands[0].signal.shape.size(), problem.channels != 1 ? 2 : 1);
  const std::array all = {problem.batch, problem.channels, problem.length};
  std::vector<std::int64_t> shape(all.end() - static_cast<std::ptrdiff_t>(rank), all.end());
  for (const Operand& gate : operands.subspan(2)) {
    bool fits = gate.signal.shape.size() <= rank;
    for (std::size_t axis = 0; axis < rank; ++axis)
      fits &= gate.extent(axis) == 1 || gate.extent(axis) == shape[rank - 1 - axis];
    if (!fits) fail("convolve: ", gate.text(), ", must be ", shape_text(shape), " as y, or broadcast to it");
  }
  return shape;
}

}  // namespace

std::string description(const std::string& path, const Signal& signal) {
  return path + "  " + std::string(name(signal.dtype)) + ' ' + shape_text(signal.shape) +
         (signal.sample_rate ? "  " + std::to_string(signal.sample_rate) + " Hz" : "");
}

Operands read_operands(const OperandFiles& files, Mode mode, Algorithm method, bool allow_nonfinite, Console& console) {
  std::vector<Operand> list;
  const auto add = [&](const char* name, const std::string& path, std::vector<double> Inputs::*input) {
    if (!path.empty()) list.push_back({name, path, input, read_signal(path)});
  };
  add("u", files.u, &Inputs::u), add("k", files.k, &Inputs::k);
  add("pregate", files.pregate, &Inputs::pregate), add("postgate", files.postgate, &Inputs::postgate);
  Operands operands;
  Convolution& problem = operands.problem;
  problem = problem_of(list, mode, files);
  operands.shape = shape_of(list, problem);
  if (!operands.is_empty()) {
    validate(problem);
    if (!files.mask.empty()) problem = with_mask(problem, read_mask(files.mask));
    require_memory("convolve", memory_of(planned(problem)));
  }

  for (const Operand& operand : list) print_notice(console.err, operand.signal);
  print_frames_notice(console.err, files.u, list[0].signal);
  if (list[0].channels() == 1) print_frames_notice(console.err, files.k, list[1].signal);
  for (const Operand& operand : list) {
    operands.nonfinite |= has_nonfinite(operand, problem, method, allow_nonfinite, console);
    if (operands.is_empty()) continue;
    operands.inputs.*operand.input = expanded(operand, operand.is_filter() ? 1 : problem.batch, problem.channels,
                                              operand.is_filter() ? problem.filter_length : problem.length);
  }
  operands.u = std::move(list[0].signal), operands.k = std::move(list[1].signal);
  return operands;
}

}  // namespace danaus
