// danaus verify: is every method as close to the truth as its bound says?
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <thread>

#include "experiments/cli/memory.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/io/mask_file.hpp"
#include "experiments/io/signal_file.hpp"
#include "experiments/methods/execution.hpp"
#include "experiments/verify/bits.hpp"
#include "experiments/verify/selection.hpp"
#include "experiments/verify/verdicts.hpp"
#include "experiments/verify/verification.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/choice.hpp"
#include "reference/spelling.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Computes each case by each method, compares every output with the truth in double, and judges the error by its\n"
    "bound. Gradients must also agree with each other: <dk, k> and <du, u> are both <dy, y>.\n"
    "Without --case it goes through a sweep, by default the whole matrix, which takes minutes; --method, --data,\n"
    "--scale, --filter and --scaling then select rows of it. A GPU's kernels are among the methods if there is a GPU.\n"
    "With --bits a GPU's outputs are also compared with the executor's, bit for bit. Exit 1 if a row fails or a bit\n"
    "differs, 77 if --method gpu finds no GPU.";

struct Options {
  TrialSelection trials;
  std::string recording, profile;
  bool summary = false, bits = false;
};

std::vector<std::string> sweep_names() {
  std::vector<std::string> names;
  for (const TrialSweep& sweep : trial_sweeps()) names.emplace_back(sweep.name);
  return names;
}

const TrialSweep& find_sweep(const std::string& word) {
  for (const TrialSweep& sweep : trial_sweeps())
    if (sweep.name == word) return sweep;
  fail(must_be_one_of("verify: sweep", word, sweep_names()));
}

// False when only help was wanted.
bool read_options(Job& job, std::span<const std::string> words, std::span<const Method> methods, Options& options) {
  TrialSelection& trials = options.trials;
  const std::vector<std::string> names = names_of(methods);
  std::string sweep, data, filter, scaling, mask;
  std::optional<int> seed, device;
  CommandLine& line = job.line;
  line.option("case", trials.cases, "TOKEN", "a case; may be repeated; see danaus help tokens");
  line.option("mask", mask, "FILE", kMaskHelp);
  line.option("sweep", sweep, "NAME", join(sweep_names()) + " (default: the first); see danaus list sweeps");
  line.option("method", trials.methods, "NAME", join(names) + " (default: all); may be repeated");
  job.add_kernel_option();
  line.option("data", data, "KIND", names_in(kDataKinds));
  line.option("scale", trials.scale, "NUMBER", "multiplies u (default 1)");
  line.option("filter", filter, "KIND", names_in(kFilterKinds));
  line.option("scaling", scaling, "NAME", "where the rounding model puts 1/N: " + names_in(kScalings));
  line.option("seed", seed, "NUMBER", "other data for the same case (default 0)");
  line.option("recording", options.recording, "FOLDER",
              text("its .wav files are --data recording (default: ", kRecordingFolder, ')'));
  line.flag("summary", options.summary, "print only the rows that fail");
  line.flag("bits", options.bits, "compare the GPU's outputs with the executor's, bit for bit");
  line.option("device", device, "NUMBER", "which GPU: 0, the first (default)");
  line.option("profile", options.profile, "NAME",
              text("method ", kPlan, " executes launches as for this device (default: H200)"));
  if (!job.parse(words)) return false;

  job.exclude({typed("--case", trials.cases), typed("--sweep", sweep)});
  if (!mask.empty() && trials.cases.empty()) fail("verify: --mask is for the cases given by --case");
  if (!options.profile.empty()) {
    if (trials.cases.empty()) fail("verify: --profile is for the cases given by --case");
    if (trials.methods.empty()) trials.methods = {std::string(kPlan)};
    if (trials.methods != std::vector<std::string>{std::string(kPlan)})
      fail("verify: --profile is of method ", kPlan, " alone, not of ", join(trials.methods));
    if (device || options.bits)
      fail("verify: --profile is of the executor, ", device ? "--device" : "--bits", " of a GPU");
  }
  job.reads("--mask", mask);
  if (!mask.empty()) mask_tokens(trials.cases, mask);
  if (trials.scale && !(std::isfinite(*trials.scale) && *trials.scale > 0))
    fail("verify: scale=", *trials.scale, ", must be positive");
  if (device.value_or(0) != 0)
    fail("verify: device=", *device, ", must be 0; CUDA_VISIBLE_DEVICES makes another GPU the first");
  if ((device || options.bits) && trials.methods.empty()) trials.methods = {std::string(kOnGpu)};
  if (options.bits && std::ranges::count(trials.methods, kOnGpu) == 0)
    fail("verify: --bits compares outputs of method ", kOnGpu, ", which --method leaves out");
  if (seed.value_or(0) < 0) fail("verify: seed=", *seed, ", must not be negative");
  if (!options.recording.empty() && !std::filesystem::is_directory(options.recording))
    fail("verify: recording '", options.recording, "', must be a folder with .wav files");
  for (const std::string& method : trials.methods)
    if (std::find(names.begin(), names.end(), method) == names.end())
      fail(must_be_one_of("verify: method", method, names));
  if (trials.cases.empty()) trials.sweep = sweep.empty() ? &trial_sweeps().front() : &find_sweep(sweep);
  if (!data.empty()) trials.data = parse_in(kDataKinds, "verify: data", data);
  if (!filter.empty()) trials.filter = parse_in(kFilterKinds, "verify: filter", filter);
  if (!scaling.empty()) trials.scaling = parse_in(kScalings, "verify: scaling", scaling);
  trials.seed = static_cast<std::uint64_t>(seed.value_or(0));
  if (options.recording.empty()) options.recording = kRecordingFolder;
  return true;
}

// The same methods, with the launches of another device where a profile names one.
std::vector<Method> methods_for(Job& job, std::span<const Method> methods, const std::string& profile) {
  std::vector<Method> list(methods.begin(), methods.end());
  if (profile.empty()) return list;
  const auto machine = executor_like(imitation(job.profile(profile)), kWholeBlocks);
  for (Method& method : list)
    if (method.name == kPlan) method.machine = [machine] { return machine; }, method.profile = profile;
  return list;
}

// The device that plans of the executor are for.
Device device_of(std::span<const Method> methods) {
  const auto plan = std::ranges::find(methods, kPlan, &Method::name);
  return plan == methods.end() ? Device() : plan->machine()->device();
}

// With --kernel, methods that run kernels are the default.
void ask_for_kernel(Job& job, Options& options, const Device& device) {
  if (job.kernel().empty()) return;
  TrialSelection& trials = options.trials;
  const bool has_gpu = cuda_device_count() > 0 && options.profile.empty();
  if (trials.methods.empty()) trials.methods = {"kernel"};
  if (trials.methods.front() == "kernel" && trials.methods.size() == 1 && has_gpu) trials.methods.emplace_back(kOnGpu);
  std::vector<Case> cases;
  for (const std::string& token : trials.cases) cases.push_back(parse_case(token));
  job.ask_for_kernel(cases, has_gpu && trials.methods.back() == kOnGpu ? cuda_device() : device);
}

void require_memory_for(const std::vector<Trial>& trials, unsigned threads) {
  double most = 0;
  for (const Trial& trial : trials) {
    const std::string operation = "verify " + trial.asked.token();
    if (const auto* problem = trial.asked.as<Convolution>()) {
      require_memory(operation, memory_of(resolved(*problem)));  // before a plan for a size that is hopeless
      most = std::max(most, memory_of(planned_by(trial.method, *problem)));
    } else {
      most = std::max(most, memory_of(trial.asked));
    }
    require_memory(operation, most);
  }
  require_memory("verify on " + std::to_string(threads) + " threads", most * std::min<double>(threads, trials.size()));
}

// Of cases that remove frequencies, what the kernels that verify them leave out.
std::string masks_in_words(const std::vector<Trial>& trials, const Device& device) {
  std::set<std::string> words;
  for (const Trial& trial : trials) {
    const auto* p = trial.asked.as<Convolution>();
    if (p && !p->mask.empty() && has_kernel(*p, device)) words.insert(planned_mask(trial.asked, device));
  }
  return join(std::vector(words.begin(), words.end()));
}

Settings settings_of(const TrialSweep* sweep, const std::vector<Trial>& trials, const Recording& recording,
                     const std::vector<std::string>& left_out, const Device& device, unsigned threads) {
  std::vector<std::string> methods;
  for (const Trial& trial : trials)
    if (const std::string method(trial.method.name); std::find(methods.begin(), methods.end(), method) == methods.end())
      methods.push_back(method);
  const std::string rows_of = sweep ? text("the sweep '", sweep->name, "'") : "the cases given";
  Settings settings = {
      {"rows", text(trials.size(), " of ", rows_of)},
      {"methods", join(methods)},
      {"recording", recording.samples.empty()
                        ? "none in " + recording.folder + ", rows that need it are skipped"
                        : std::to_string(recording.samples.size()) + " samples of " + recording.folder},
      {"threads", std::to_string(threads)},
      {"sources", sources_in_words()}};
  for (const std::string& method : left_out) settings.emplace_back("left out", method);
  if (const std::string masks = sweep ? "" : masks_in_words(trials, device); !masks.empty())
    settings.emplace_back("masks", "the kernel " + masks);
  return settings;
}

}  // namespace

int verify(std::span<const std::string> words, Console& console, std::span<const Method> known) {
  Job job(console, "verify", kDescription);
  Options options;
  if (!read_options(job, words, known, options)) return kExitOk;
  const std::vector<Method> methods = methods_for(job, known, options.profile);
  if (std::ranges::count(options.trials.methods, kOnGpu) > 0 && cuda_device_count() == 0)
    return without_gpu(console, "verify", text("--method ", kOnGpu, " needs"));
  const Device device = device_of(methods);
  ask_for_kernel(job, options, device);
  const TrialSweep* const sweep = options.trials.sweep;
  const std::vector<Trial> trials = selected_trials(options.trials, methods);
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  require_memory_for(trials, threads);
  const Recording recording{options.recording, read_recording(options.recording)};

  std::vector<Json> asked;
  std::size_t longest_token = 0;
  for (const Trial& trial : trials) {
    asked.push_back(describe(trial));
    if (options.bits && trial.method.name == kOnGpu) asked.back()["asked_bits"] = true;
    if (!job.kernel().empty()) asked.back()["asked_kernel"] = job.kernel();
    longest_token = std::max(longest_token, trial.asked.token().size());
  }
  Settings settings = settings_of(sweep, trials, recording, left_out(options.trials, methods), device, threads);
  if (!options.profile.empty()) settings.emplace_back("profile", options.profile);
  if (!job.kernel().empty()) settings.emplace_back("kernel", job.kernel() + ", asked for by name");
  job.configure(std::move(settings));

  const bool judges = !sweep || sweep->judges;
  Verdicts verdicts(job.out(), job.prints() ? job.out() : console.err, {longest_token, options.summary, judges});
  BitVerdicts bits;
  job.make({.kind = "verify",
            .asked = asked,
            .make =
                [&](std::size_t i) {
                  Json row = verified(trials[i], recording);
                  if (options.bits && trials[i].method.name == kOnGpu) row["bits"] = bits_of(trials[i]);
                  return row;
                },
            .show =
                [&](std::size_t i, const Json& row) {
                  verdicts.add(trials[i], row);
                  bits.add(row);
                },
            .threads = threads});
  verdicts.print_summary();
  if (options.bits) bits.print(job.out());
  return (judges && verdicts.count("failed") > 0) || bits.different() > 0 ? kExitCheckFailed : kExitOk;
}

int run_verify(std::span<const std::string> words, Console& console) {
  return verify(words, console, judged_methods());
}

}  // namespace danaus
