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
#include "reference/overflow.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "y = postgate * conv(pregate * u, k), computed in double and written in the type of u.\n"
    "u and y are [L], [H, L] or [B, H, L], k is [K] or [H, K]: H channels, B batch rows. Where one of u and k has one\n"
    "channel, it serves all of the other's. Gates broadcast to the shape of y, as in NumPy. A .wav is [channels,\n"
    "samples].\n"
    "y has as many samples as u: to hear what rings on after the end of u, append zeros to u.";

struct Options {
  OperandFiles files;
  std::string y;
  Mode mode = Mode::causal;
  Algorithm method = Algorithm::fftw;
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
  line.argument("U", options.files.u, true, "input, .npy (fp16, bf16 as ml_dtypes saves it, fp32, fp64) or .wav");
  line.argument("K", options.files.k, true, "filter; its first sample multiplies the current sample of u");
  line.option("output,o", options.y, "FILE", "y, .npy or .wav");
  line.option("mode", mode, "NAME", "causal (default) or circular");
  line.option("pregate", options.files.pregate, "FILE", "multiplies u");
  line.option("postgate", options.files.postgate, "FILE", "multiplies the result");
  line.option("mask", options.files.mask, "FILE", kMaskHelp);
  line.option("method", method, "NAME", names_in(kAlgorithms) + " (default: fftw)");
  line.flag("allow-nonfinite", options.allow_nonfinite, "let NaN and infinity through; a notice says how far they go");
  if (!job.parse(words, "what was computed and its error as a JSON line; - for stdout")) return false;

  if (options.y.empty()) fail("convolve: no output file, -o FILE must name one");
  options.method = parse_in(kAlgorithms, "convolve: method", method);
  options.mode = parse_mode(mode);
  job.reads("U", options.files.u);
  job.reads("K", options.files.k);
  job.reads("--pregate", options.files.pregate);
  job.reads("--postgate", options.files.postgate);
  job.reads("--mask", options.files.mask);
  job.writes("--output", options.y);
  return true;
}

// A .wav has a rate and [channels, samples].
void require_wav_rows(const std::string& path, SignalFormat format, const std::string& u_path,
                      const Operands& operands) {
  if (format != SignalFormat::wav) return;
  if (operands.u.sample_rate == 0)
    fail("convolve: ", path, " needs a sample rate, u must be a .wav (it is ", u_path, "); or write a .npy");
  if (operands.is_empty())
    fail("convolve: ", path, " would be ", shape_text(operands.shape),
         ", a .wav must be [channels, samples]; write a .npy");
}

// Sums of finite values may be too large even for double.
void require_finite(const Signal& y) {
  const auto count = std::ranges::count_if(y.values, [](double value) { return !std::isfinite(value); });
  if (count > 0)
    fail("convolve: ", count, " of ", y.values.size(),
         " samples of y are not finite, sums must stay below 1.8e308, the most of a double; scale u or k down");
}

// What the file cannot hold, or a player cannot play.
void say_overflow(const std::string& path, SignalFormat format, Dtype dtype, const std::vector<double>& y,
                  Console& console) {
  const std::int64_t overflowed = overflow_count(dtype, y);
  std::int64_t clipped = 0;
  double peak = 0;
  for (double value : y) {
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
  const Operands operands =
      read_operands(options.files, options.mode, options.method, options.allow_nonfinite, console);
  const auto& [u, k, shape, problem, inputs, nonfinite] = operands;
  require_wav_rows(options.y, format, options.files.u, operands);
  if (operands.is_empty()) {
    console.err << "notice: " << options.files.u << " is " << shape_text(u.shape) << ", " << options.files.k << " is "
                << shape_text(k.shape) << ": there are no rows, " << options.y << " is " << shape_text(shape) << '\n';
    write_signal(output, format, {u.dtype, shape, {}, u.sample_rate});
    output.commit();
    return kExitOk;
  }

  job.configure({{"u", description(options.files.u, u)},
                 {"k", description(options.files.k, k)},
                 {"pregate", problem.pregate ? options.files.pregate : "none"},
                 {"postgate", problem.postgate ? options.files.postgate : "none"},
                 {"case", token(problem)},
                 {"method", std::string(name(options.method)) + ", in double"}});
  const Signal y{u.dtype, shape, convolve_by_channel(problem, inputs, options.method, console), u.sample_rate};
  if (!nonfinite) require_finite(y);
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
