// danaus convolve: the user's own data.
#include "reference/convolution/convolve.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "experiments/cli/interrupt.hpp"
#include "experiments/cli/memory.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/io/result_file.hpp"
#include "experiments/io/signal_file.hpp"
#include "experiments/verify/spot_check.hpp"
#include "reference/half.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "y = postgate * conv(pregate * u, k), computed in double and written in the type of u.\n"
    "u, the gates and y are [L], [H, L] or [B, H, L] and all alike; k is [K] or [1, K], the same filter for every\n"
    "channel, or [H, K]. A .wav is [channels, samples]. y has as many samples as u: to hear what rings on after the "
    "end\n"
    "of u, append zeros to u.";

struct Request {
  std::string u, k, y, pregate, postgate, json;
  std::string mode = "causal", method = "fftw";
  bool allow_nonfinite = false;
};

std::string shape_text(const Signal& signal) {
  std::string text;
  for (std::int64_t extent : signal.shape) text += (text.empty() ? "[" : ", ") + std::to_string(extent);
  return text + "]";
}

std::string description(const std::string& path, const Signal& signal) {
  return path + "  " + std::string(name(signal.dtype)) + ' ' + shape_text(signal) +
         (signal.sample_rate ? "  " + std::to_string(signal.sample_rate) + " Hz" : "");
}

Mode parse_mode(const std::string& word) {
  for (Mode mode : {Mode::causal, Mode::circular})
    if (name(mode) == word) return mode;
  fail("convolve: mode '", word, "', must be causal or circular");
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
std::vector<double> filter_of(const Request& request, const Signal& k, const Signal& u, const Convolution& problem) {
  if (k.shape.size() > 2) fail("convolve: k ", request.k, " is ", shape_text(k), ", must be [K] or [H, K]");
  const std::int64_t rows = k.shape.size() == 2 ? k.shape[0] : 1;
  if (rows == problem.channels) return k.values;
  if (rows != 1)
    fail("convolve: k ", request.k, " is ", shape_text(k), ", must have one row, or as many as u ", shape_text(u),
         " has channels, ", problem.channels);
  std::vector<double> repeated;
  repeated.reserve(k.values.size() * static_cast<std::size_t>(problem.channels));
  for (std::int64_t channel = 0; channel < problem.channels; ++channel)
    repeated.insert(repeated.end(), k.values.begin(), k.values.end());
  return repeated;
}

// One channel after the other, so that Ctrl-C is heard between them.
std::vector<double> compute(const Convolution& problem, const Inputs& inputs, Method method, Console& console) {
  std::vector<double> y(inputs.u.size());
  Convolution one = problem;
  one.channels = 1;
  Progress progress(console, static_cast<std::size_t>(problem.channels));
  for (std::int64_t channel = 0; channel < problem.channels; ++channel) {
    progress.show(static_cast<std::size_t>(channel), "channels");
    const auto row = [&](std::int64_t batch) { return (batch * problem.channels + channel) * problem.length; };
    const auto pick = [&](const std::vector<double>& all) {
      std::vector<double> rows;
      for (std::int64_t b = 0; b < problem.batch && !all.empty(); ++b)
        rows.insert(rows.end(), all.begin() + row(b), all.begin() + row(b) + problem.length);
      return rows;
    };
    const auto filter = inputs.k.begin() + channel * problem.filter_length;
    const std::vector<double> rows = convolve(
        one, {pick(inputs.u), {filter, filter + problem.filter_length}, pick(inputs.pregate), pick(inputs.postgate)},
        method);
    for (std::int64_t b = 0; b < problem.batch; ++b)
      std::copy_n(rows.begin() + b * problem.length, problem.length, y.begin() + row(b));
    if (interrupt_requested()) throw Interrupted("convolve: interrupted, nothing was written");
  }
  return y;
}

// What the file cannot hold, or a player cannot play.
void say_overflow(const std::string& path, SignalFormat format, Dtype dtype, const std::vector<double>& y,
                  Console& console) {
  std::int64_t overflowed = 0, clipped = 0;
  double peak = 0;
  for (double value : y) {
    overflowed += std::isfinite(value) && !std::isfinite(round_to(dtype, value));
    clipped += std::abs(value) > 1;
    peak = std::max(peak, std::abs(value));
  }
  if (overflowed > 0)
    console.err << "notice: " << overflowed << " samples of " << path << " are too large for " << name(dtype)
                << " and are written as infinity (peak " << scientific(peak) << ")\n";
  if (format == SignalFormat::wav && clipped > 0)
    console.err << "notice: " << clipped << " samples of " << path << " lie beyond -1 .. 1 (peak " << fixed(peak, 2)
                << "): the file holds them, most players clip them\n";
}

}  // namespace

int run_convolve(std::span<const std::string> words, Console& console) {
  Request request;
  CommandLine line("convolve", kDescription);
  line.argument("U", request.u, true, "input, .npy (fp16, fp32, fp64) or .wav");
  line.argument("K", request.k, true, "filter; its first sample multiplies the current sample of u");
  line.option("output,o", request.y, "FILE", "y, .npy or .wav");
  line.option("mode", request.mode, "NAME", "causal (default) or circular");
  line.option("pregate", request.pregate, "FILE", "multiplies u");
  line.option("postgate", request.postgate, "FILE", "multiplies the result");
  line.option("method", request.method, "NAME", names_in(kMethods) + " (default: fftw)");
  line.flag("allow-nonfinite", request.allow_nonfinite, "let NaN and infinity through");
  line.option("json", request.json, "FILE", "what was computed and its error as a JSON line; - for stdout");
  if (!line.parse(words, console)) return kExitOk;
  if (request.y.empty()) fail("convolve: no output file, -o FILE must name one");
  const SignalFormat format = signal_format(request.y);
  const Method method = parse_in(kMethods, "convolve: method", request.method);
  const Mode mode = parse_mode(request.mode);

  PendingFile output(request.y);
  ResultFile results(console, request.json, "convolve", {});
  const Signal u = read_signal(request.u), k = read_signal(request.k);

  Convolution problem;
  problem.dtype = u.dtype;
  problem.mode = mode;
  problem.length = u.shape.back();
  problem.filter_length = k.shape.back();
  if (u.shape.size() >= 2) problem.channels = u.shape[u.shape.size() - 2];
  if (u.shape.size() == 3) problem.batch = u.shape[0];
  problem.pregate = !request.pregate.empty();
  problem.postgate = !request.postgate.empty();
  validate(problem);
  require_memory("convolve", memory_of(planned(problem)));

  Inputs inputs{u.values, filter_of(request, k, u, problem), {}, {}};
  match_rate(request.k, k, request.u, u);
  bool nonfinite = has_nonfinite(request.u, u, request.allow_nonfinite, console);
  nonfinite |= has_nonfinite(request.k, k, request.allow_nonfinite, console);
  const auto read_gate = [&](const std::string& path, const char* which) {
    if (path.empty()) return std::vector<double>{};
    Signal gate = read_signal(path);
    if (gate.shape != u.shape)
      fail("convolve: ", which, ' ', path, " is ", shape_text(gate), ", must be ", shape_text(u), " like u");
    match_rate(path, gate, request.u, u);
    nonfinite |= has_nonfinite(path, gate, request.allow_nonfinite, console);
    return std::move(gate.values);
  };
  inputs.pregate = read_gate(request.pregate, "pregate");
  inputs.postgate = read_gate(request.postgate, "postgate");
  if (format == SignalFormat::wav && u.sample_rate == 0)
    fail("convolve: ", request.y, " needs a sample rate, u must be a .wav (it is ", request.u, ")");

  print_configuration(console, "convolve",
                      {{"u", description(request.u, u)},
                       {"k", description(request.k, k)},
                       {"pregate", problem.pregate ? request.pregate : "none"},
                       {"postgate", problem.postgate ? request.postgate : "none"},
                       {"case", token(problem)},
                       {"method", std::string(name(method)) + ", in double"}});

  Signal y{u.dtype, u.shape, compute(problem, inputs, method, console), u.sample_rate};
  say_overflow(request.y, format, y.dtype, y.values, console);

  // The direct sum is not judged by itself.
  const bool by_fftw = method == Method::direct;
  Json verdict = {{"status", "skipped"}, {"reason", "not finite"}};
  std::string error = "not stated: not all values are finite", against = "nothing";
  if (!nonfinite) {
    std::optional<Comparison> in_double, as_written;
    if (by_fftw) {
      const std::vector<double> expected = convolve(problem, inputs, Method::fftw);
      std::vector<double> written = y.values;
      for (double& value : written) value = round_to(y.dtype, value);
      in_double = compare(expected, y.values);
      as_written = compare(expected, written);
      against = "FFTW, all samples";
    } else {
      const SpotCheck check = spot_check(problem, inputs, y.values);
      in_double = check.in_double;
      as_written = check.as_written;
      against = "the direct sum, " +
                (check.samples == check.of ? "all " : std::to_string(check.samples) + " (drawn at random) of ") +
                std::to_string(check.of) + " samples";
      if (!check.plausible) {
        console.err << "danaus: convolve: relative L2 error " << scientific(in_double->rel_l2) << " against " << against
                    << ", more than double arithmetic explains; " << request.y << " was not written\n";
        return kExitCheckFailed;
      }
    }
    error = "relative L2 " + scientific(as_written->rel_l2) + " as written (" + std::string(name(y.dtype)) + "), " +
            scientific(in_double->rel_l2) + " in double";
    verdict = {{"status", "passed"},
               {"truth", by_fftw ? "fftw" : "direct"},
               {"rel_l2", as_written->rel_l2},
               {"rel_l2_in_double", in_double->rel_l2},
               {"against", against}};
  }
  write_signal(output, format, y);
  output.commit();
  results.append({{"case", token(problem)},
                  {"method", name(method)},
                  {"u", request.u},
                  {"k", request.k},
                  {"y", request.y},
                  {"verify", verdict}});
  if (request.json != "-")
    print_table(console.out, {{"y"}, {description(request.y, y)}}, {{"error", error}, {"against", against}});
  return kExitOk;
}

}  // namespace danaus
