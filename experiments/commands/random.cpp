// danaus random: does any call, whatever its lengths, alignments and data, give a wrong result?
#include <algorithm>
#include <limits>
#include <thread>

#include "experiments/cli/table.hpp"
#include "experiments/code/row_code.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/random/random_case.hpp"
#include "experiments/record/check.hpp"
#include "experiments/verify/bits.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/selftest.hpp"
#include "reference/spelling.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Runs random cases of an operation, and compares every output with the truth in double. Cases vary in all\n"
    "fields of the token, in filters of one tap to 2 L, in alignment, data and scale. One case in eight goes up\n"
    "to the largest. Each row is judged by itself, relative to its |u| |k|. All memory stands between guards. The\n"
    "executor runs launches of up to --whole blocks whole; of larger ones it runs and judges the blocks that\n"
    "differ. A row has 500 cases, and takes some minutes. A seed and a number repeat a case. Exit 1 if a case\n"
    "fails.";

constexpr std::int64_t kCasesOfRow = 500;

struct Options {
  std::string operation = random_operations().front();
  std::uint64_t seed = 0;
  std::int64_t count = 2000;
  std::optional<int> only;
  std::optional<int> device;
  std::string profile;  // whose launches the executor executes; H200
  std::optional<int> whole;
  bool bits = false;
};

bool read_options(Job& job, std::span<const std::string> words, Options& options) {
  std::optional<int> seed, count;
  const std::vector<std::string> known = random_operations();
  job.line.option("operation", options.operation, "WORD", join(known) + " (default: the first)");
  job.line.option("count", count, "NUMBER", "how many cases (default 2000)");
  job.line.option("seed", seed, "NUMBER", "other random cases (default 0)");
  job.line.option("only", options.only, "NUMBER", "only the case of this number");
  job.line.option("device", options.device, "NUMBER", "which GPU (default: the executor, on the CPU)");
  job.line.option("profile", options.profile, "NAME", "the executor runs launches as for this device (default: H200)");
  job.line.option("whole", options.whole, "NUMBER",
                  text("the executor runs launches of up to this many blocks whole (default: ",
                       most_whole_blocks("fftconv"), ", of layers ", most_whole_blocks("spectral"), ")"));
  job.line.flag("bits", options.bits, "on a GPU: outputs of small cases must be the executor's in every bit");
  if (!job.parse(words)) return false;
  if (options.bits && !options.device) fail("random: --bits compares a GPU with the executor, and needs --device");
  const auto at_least = [](const char* name, std::optional<int> value, int least) {
    if (value && *value < least) fail("random: ", name, '=', *value, ", must be at least ", least);
  };
  if (std::ranges::find(known, options.operation) == known.end())
    fail(must_be_one_of("random: operation", options.operation, known));
  at_least("count", count, 1), at_least("seed", seed, 0), at_least("only", options.only, 0);
  at_least("whole", options.whole, 0);
  const std::string device = options.device ? text("--device ", *options.device) : "";
  job.exclude({device, options.profile.empty() ? "" : text("--profile ", options.profile)});
  job.exclude({device, options.whole ? text("--whole ", *options.whole) : ""});
  job.exclude({options.only ? text("--only ", *options.only) : "", count ? text("--count ", *count) : ""});
  options.seed = static_cast<std::uint64_t>(seed.value_or(0)), options.count = count.value_or(options.count);
  return true;
}

std::string repeat_command(const Options& options, std::int64_t number) {
  const bool usual = options.operation == random_operations().front();
  return text("danaus random", usual ? "" : " --operation " + options.operation, " --seed ", options.seed, " --only ",
              number, options.device ? text(" --device ", *options.device) : "", options.bits ? " --bits" : "",
              options.profile.empty() ? "" : " --profile " + options.profile,
              options.whole ? text(" --whole ", *options.whole) : "");
}

Json judged_case(const Options& options, std::int64_t number, const RandomVerdict& verdict) {
  const RandomCase c = random_case(options.seed, number, options.operation);
  Json fields = {{"number", number},       {"case", c.asked.token()}, {"data", describe(c)},
                 {"error", verdict.error}, {"bound", verdict.bound},  {"clearance", verdict.clearance}};
  if (!verdict.output.empty()) fields["output"] = verdict.output;
  if (!verdict.place.empty()) fields["place"] = verdict.place;
  if (!verdict.violation.empty()) fields["violation"] = verdict.violation;
  return fields;
}

// Null in a file where y was not finite.
double number_of(const Json& judged, const char* field) {
  const Json& value = judged.at(field);
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

// The share of its bound; of what is wrong beyond that, more than any share.
double badness(const Json& judged) { return judged.contains("violation") ? 1e300 : number_of(judged, "clearance"); }

void keep_worse(Json& worst, const Json& judged) {
  if (worst.is_null() || badness(judged) > badness(worst)) worst = judged;
}

// 8 hexadecimal digits, or as many points.
std::string in_digits(const std::optional<std::uint32_t>& digest) {
  return digest ? digest_in_words(*digest).substr(8) : "........";
}

// Cases first to first + count - 1: which failed, and the worst. Small ones are for an executor too.
Json judged_cases(const Options& options, std::int64_t first, std::int64_t count,
                  const std::shared_ptr<const Machine>& machine, const std::shared_ptr<const Machine>& executor) {
  Json worst, failed = Json::array();
  double known = 0;
  std::string digests;
  for (std::int64_t number = first; number < first + count; ++number) {
    const RandomVerdict verdict =
        judge(random_case(options.seed, number, options.operation), machine, is_large(number) ? nullptr : executor);
    if (!verdict.passed()) failed.push_back(number);
    known += verdict.known, digests += in_digits(verdict.digest);
    keep_worse(worst, judged_case(options, number, verdict));
  }
  return {{"failed", failed}, {"judged", known / static_cast<double>(count)}, {"worst", worst}, {"digests", digests}};
}

}  // namespace

int run_random(std::span<const std::string> words, Console& console) {
  Job job(console, "random", kDescription);
  Options options;
  if (!read_options(job, words, options)) return kExitOk;
  if (options.device && cuda_device_count() == 0) return without_gpu(console, "random");
  const auto executor = [&] {
    return executor_like(imitation(job.profile(options.profile.empty() ? "H200" : options.profile)),
                         options.whole.value_or(most_whole_blocks(options.operation)));
  };
  const std::shared_ptr<const Machine> machine = options.device ? cuda_machine(*options.device) : executor();
  const std::shared_ptr<const Machine> held_to = options.bits ? executor_like(machine->device()) : nullptr;
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());

  std::vector<Json> asked;
  const std::int64_t begin = options.only.value_or(0), end = options.only ? begin + 1 : options.count;
  for (std::int64_t first = begin; first < end; first += kCasesOfRow)
    asked.push_back({{"operation", options.operation},
                     {"seed", std::to_string(options.seed)},
                     {"first", first},
                     {"count", std::min(kCasesOfRow, end - first)},
                     {"device", device_block(machine->device())},
                     {"code", code_of_operation(options.operation, machine->device()).words()}});
  if (options.device)
    for (Json& row : asked) row["driver"] = gpu_driver(*options.device).value_or("unknown");
  if (options.bits)
    for (Json& row : asked) row["bits"] = true;
  job.configure({{"cases", text(end - begin, " of ", options.operation)},
                 {"seed", std::to_string(options.seed)},
                 {"device", machine->device().name},
                 {"threads", std::to_string(threads)},
                 {"sources", sources_in_words()}});

  std::vector<std::int64_t> failed;
  double judged = 0;
  Json worst;
  job.make({.kind = "random",
            .asked = asked,
            .make =
                [&](std::size_t i) {
                  return judged_cases(options, asked[i].at("first"), asked[i].at("count"), machine, held_to);
                },
            .show =
                [&](std::size_t, const Json& row) {
                  for (const Json& number : row.at("failed")) failed.push_back(number);
                  judged += row.value("judged", 1.) * row.at("count").get<double>();
                  keep_worse(worst, row.at("worst"));
                },
            .threads = threads});

  std::ostream& out = job.out();
  out << "seed " << options.seed << ": " << end - begin << " cases, " << failed.size() << " failed; "
      << fixed(100 * judged / static_cast<double>(end - begin), 0) << " % of outputs judged\n";
  out << "worst: number " << worst.at("number").get<std::int64_t>() << ", " << worst.at("case").get<std::string>()
      << ", " << worst.at("data").get<std::string>() << ": error of " << worst.value("output", "none") << " at "
      << worst.value("place", "no row") << ' ' << scientific(number_of(worst, "error")) << ", "
      << fixed(number_of(worst, "clearance"), 2) << " of its bound"
      << (worst.contains("violation") ? "; " + worst.at("violation").get<std::string>() : "") << '\n';
  std::ostream& failures = job.prints() ? out : console.err;
  for (std::size_t i = 0; i < std::min<std::size_t>(failed.size(), 10); ++i)
    failures << "failed: " << repeat_command(options, failed[i]) << '\n';
  return failed.empty() ? kExitOk : kExitCheckFailed;
}

}  // namespace danaus
