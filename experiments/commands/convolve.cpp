// danaus convolve: the user's own data.
#include <algorithm>
#include <cmath>

#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/convolve/by_channel.hpp"
#include "experiments/convolve/operands.hpp"
#include "experiments/convolve/stated_error.hpp"
#include "experiments/io/mask_file.hpp"
#include "reference/half.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "y = postgate * conv(pregate * u, k), computed in double and written in the type of u.\n"
    "u, the gates and y are [L], [H, L] or [B, H, L] and all alike; k is [K] or [1, K], the same filter for every\n"
    "channel, or [H, K]. A .wav is [channels, samples]. y has as many samples as u: to hear what rings on after the "
    "end\n"
    "of u, append zeros to u.";

struct Options {
  OperandFiles files;
  std::string y, mask;
  Mode mode = Mode::causal;
  Method method = Method::fftw;
  bool allow_nonfinite = false;
};

Mode parse_mode(const std::string& word) {
  for (Mode mode : {Mode::causal, Mode::circular})
    if (name(mode) == word) return mode;
  fail("convolve: mode '", word, "', must be causal or circular");
}

// False when only help was wanted.
bool read_options(Job& job, std::span<const std::string> words, Options& options) {
  std::string mode(name(options.mode)), method(name(options.method));
  CommandLine& line = job.line;
  line.argument("U", options.files.u, true, "input, .npy (fp16, fp32, fp64) or .wav");
  line.argument("K", options.files.k, true, "filter; its first sample multiplies the current sample of u");
  line.option("output,o", options.y, "FILE", "y, .npy or .wav");
  line.option("mode", mode, "NAME", "causal (default) or circular");
  line.option("pregate", options.files.pregate, "FILE", "multiplies u");
  line.option("postgate", options.files.postgate, "FILE", "multiplies the result");
  line.option("mask", options.mask, "FILE", kMaskHelp);
  line.option("method", method, "NAME", names_in(kMethods) + " (default: fftw)");
  line.flag("allow-nonfinite", options.allow_nonfinite, "let NaN and infinity through");
  if (!job.parse(words, "what was computed and its error as a JSON line; - for stdout")) return false;

  if (options.y.empty()) fail("convolve: no output file, -o FILE must name one");
  options.method = parse_in(kMethods, "convolve: method", method);
  options.mode = parse_mode(mode);
  job.reads("U", options.files.u);
  job.reads("K", options.files.k);
  job.reads("--pregate", options.files.pregate);
  job.reads("--postgate", options.files.postgate);
  job.reads("--mask", options.mask);
  job.writes("--output", options.y);
  return true;
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
  Job job(console, "convolve", kDescription);
  Options options;
  if (!read_options(job, words, options)) return kExitOk;
  const SignalFormat format = signal_format(options.y);
  PendingFile output(options.y);
  ResultFile results = job.log("convolve");
  Operands operands = read_operands(options.files, options.mode, options.allow_nonfinite, console);
  if (!options.mask.empty()) operands.problem = with_mask(operands.problem, read_mask(options.mask));
  const auto& [u, k, problem, inputs, nonfinite] = operands;
  if (format == SignalFormat::wav && u.sample_rate == 0)
    fail("convolve: ", options.y, " needs a sample rate, u must be a .wav (it is ", options.files.u, ")");

  job.configure({{"u", description(options.files.u, u)},
                 {"k", description(options.files.k, k)},
                 {"pregate", problem.pregate ? options.files.pregate : "none"},
                 {"postgate", problem.postgate ? options.files.postgate : "none"},
                 {"case", token(problem)},
                 {"method", std::string(name(options.method)) + ", in double"}});
  const Signal y{u.dtype, u.shape, convolve_by_channel(problem, inputs, options.method, console), u.sample_rate};
  say_overflow(options.y, format, y.dtype, y.values, console);

  const StatedError stated = stated_error(problem, inputs, options.method, y.values, nonfinite);
  if (!stated.plausible) {
    console.err << "danaus: convolve: " << stated.error << " against " << stated.against
                << ", more than double arithmetic explains; " << options.y << " was not written\n";
    return kExitCheckFailed;
  }
  write_signal(output, format, y);
  output.commit();
  results.append({{"case", token(problem)},
                  {"method", name(options.method)},
                  {"u", options.files.u},
                  {"k", options.files.k},
                  {"y", options.y},
                  {"verify", stated.verify}});
  print_table(job.out(), {{"y"}, {description(options.y, y)}}, {{"error", stated.error}, {"against", stated.against}});
  return kExitOk;
}

}  // namespace danaus
