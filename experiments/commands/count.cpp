// danaus count: the work of a kernel, as the executor counts it; and as a GPU does, beside it.
#include <algorithm>
#include <thread>

#include "experiments/bench/sweeps.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/count/counted.hpp"
#include "experiments/count/hardware.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/io/pending_file.hpp"
#include "kernels/cuda/machine.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Counts the work of a plan's kernels: instructions, bytes, bank conflicts. The executor runs a few rows on the "
    "CPU,\n"
    "and the counts are extended to any B and H. A case of several launches has a line for each, and the sums.\n"
    "--hardware compares with the GPU's own counters, read by Nsight Compute (ncu); without --case it takes nine "
    "cases\n"
    "that differ in their kernels, and some minutes. Exit 1 if a counter is outside its expected range, 77 without a\n"
    "GPU or ncu.";

struct Options {
  std::vector<Case> cases;
  HardwareProfile profile;
  std::int64_t concurrent = 0;
  bool hardware = false, launch = false;
  bool by_token = false;  // cases are those of --case
  std::string printed;
};

// False when only help was wanted.
bool read_options(Job& job, std::span<const std::string> words, Options& options) {
  std::vector<std::string> tokens;
  std::string sweep, profile = "H200";
  std::optional<int> blocks;
  CommandLine& line = job.line;
  line.option("case", tokens, "TOKEN", "a case; may be repeated");
  line.option("sweep", sweep, "NAME", "the cases of a sweep of danaus bench");
  line.option("profile", profile, "NAME", "count the kernels of this device (default: H200)");
  line.option("blocks", blocks, "NUMBER", "thread blocks that run at once (default: what the kernel is tuned for)");
  job.add_kernel_option();
  line.flag("hardware", options.hardware, "compares with the counters of this machine's GPU");
  line.option("printed", options.printed, "FILE", "with --hardware: keeps what ncu printed");
  line.flag("launch", options.launch, "only launches each case's kernel once on the GPU, for a profiler");
  if (!job.parse(words)) return false;

  job.exclude({typed("--case", tokens), typed("--sweep", sweep)});
  job.exclude({options.hardware ? "--hardware" : "", options.launch ? "--launch" : ""});
  if (blocks && *blocks < 1) fail("count: blocks=", *blocks, ", must be at least 1");
  job.writes("--printed", options.printed);
  options.concurrent = blocks.value_or(0);
  options.profile = job.profile(profile);
  for (const std::string& word : tokens) options.cases.push_back(parse_case(word));
  options.by_token = !tokens.empty();
  if (!sweep.empty())
    for (const Case& asked : case_sweep("count", sweep).cases()) options.cases.push_back(asked);
  if (options.cases.empty() && options.hardware)
    for (const Convolution& problem : compared_cases()) options.cases.emplace_back(problem);
  if (options.cases.empty()) fail("count: either --case or --sweep must be given");
  return true;
}

std::string in_words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

// A line for each launch; a line for each counter that is not 0, of all that prepares and all that executes.
void print_launches(std::ostream& out, const Json& row) {
  out << row.at("case").get<std::string>() << ": " << row.at("variant").get<std::string>() << '\n';
  using enum Column::Align;
  std::vector<std::vector<std::string>> cells;
  for (const Json& launch : row.at("launches")) {
    const auto megabytes = [&](const char* field) { return fixed(launch.at(field).get<double>() / 1e6, 2); };
    cells.push_back({launch.at("part"), launch.at("kernel"), launch.at("times").dump(), launch.at("blocks").dump(),
                     launch.at("threads").dump(), megabytes("l2_bytes"), megabytes("hbm_bytes")});
  }
  print_table(out,
              {{"part", 0, left},
               {"launch", 0, left},
               {"times", 0, right},
               {"blocks", 0, right},
               {"threads", 0, right},
               {"MB through L2", 0, right},
               {"of memory", 0, right}},
              cells);
  out << '\n';
  cells.clear();
  const Json &prepare = row.at("sums").at("prepare"), &execute = row.at("sums").at("execute");
  for (const auto& [name, value] : execute.items())
    if (value != 0 || prepare.at(name) != 0) cells.push_back({in_words(name), prepare.at(name).dump(), value.dump()});
  print_table(out, {{"counted", 0, left}, {"prepare", 0, right}, {"execute", 0, right}}, cells);
  out << '\n';
}

// A line for each counter, a column for each part of the work.
void print_counts(std::ostream& out, const Json& row) {
  const Json &launch = row.at("launch"), &counts = row.at("counts");
  const auto half_items = launch.at("half_items").get<std::int64_t>();
  out << row.at("case").get<std::string>() << ": " << row.at("variant").get<std::string>() << ", "
      << launch.at("blocks") << " blocks of " << launch.at("threads") << " threads, "
      << launch.at("items").get<std::int64_t>() + half_items << " items\n";
  using enum Column::Align;
  std::vector<std::pair<std::string, std::string>> parts = {{"item", "an item"}};
  if (half_items > 0) parts.emplace_back("half_item", "a last row");
  parts.insert(parts.end(),
               {{"visit", "a channel met"}, {"block", "a block"}, {"launch", "the launch"}, {"filter", "a filter"}});
  std::vector<Column> columns = {{"counted", 0, left}};
  for (const auto& [part, title] : parts) columns.push_back({title, 0, right});
  std::vector<std::vector<std::string>> cells;
  for (const auto& [name, value] : counts.at("launch").items()) {
    cells.push_back({in_words(name)});
    for (const auto& [part, title] : parts) cells.back().push_back(counts.at(part).at(name).dump());
  }
  print_table(out, columns, cells);
  out << '\n';
}

int count_cases(const Options& options, Job& job) {
  const Device device = imitation(options.profile);
  job.ask_for_kernel(options.by_token ? options.cases : std::vector<Case>(), device);
  std::vector<Json> asked;
  for (const Case& each : options.cases) {
    require_counted(each, device);
    asked.push_back({{"case", each.token()},
                     {"profile", options.profile.name},
                     {"protocol", {{"concurrent", options.concurrent}}}});
    if (!job.kernel().empty()) asked.back()["asked_kernel"] = job.kernel();
  }
  job.configure({{"cases", std::to_string(options.cases.size())},
                 {"device", text(options.profile.name, ", ", device.multiprocessors, " multiprocessors")},
                 {"kernel", job.kernel().empty() ? "the choice of a plan; danaus list kernels --case TOKEN lists others"
                                                 : job.kernel() + ", asked for by name"}});
  job.make({.kind = "count",
            .asked = asked,
            .make =
                [&](std::size_t i) {
                  const Case& each = options.cases[i];
                  return is_one_launch(each, device)
                             ? describe(count(*each.as<Convolution>(), device, options.concurrent))
                             : describe(count_program(each, device, options.concurrent));
                },
            .show =
                [&](std::size_t, const Json& row) {
                  row.contains("launches") ? print_launches(job.out(), row) : print_counts(job.out(), row);
                },
            .threads = std::thread::hardware_concurrency()});
  return kExitOk;
}

void print_comparison(std::ostream& out, const Json& row) {
  out << row.at("case").get<std::string>() << ": " << row.at("variant").get<std::string>() << ", " << row.at("blocks")
      << " blocks\n";
  using enum Column::Align;
  std::vector<std::vector<std::string>> cells;
  for (const Json& quantity : row.at("quantities"))
    cells.push_back({quantity.at("name"), fixed(quantity.at("counted"), 0), fixed(quantity.at("hardware"), 0),
                     quantity.at("ratio").is_null() ? "-" : fixed(quantity.at("ratio"), 4),
                     fixed(quantity.at("least"), 0) + " to " + fixed(quantity.at("most"), 0),
                     is_explained(quantity) ? quantity.value("why", "") : "OUTSIDE: not explained"});
  print_table(out,
              {{"quantity", 0, left},
               {"counted", 0, right},
               {"hardware", 0, right},
               {"ratio", 0, right},
               {"expected", 0, right},
               {"why", 0, left}},
              cells);
  out << '\n';
}

// What a profiler looks at.
std::vector<Convolution> single_launches(const Options& options, const Device& device) {
  std::vector<Convolution> list;
  for (const Case& each : options.cases) {
    const auto* problem = each.as<Convolution>();
    if (!problem) fail("count: ", each.token(), " takes several launches; a GPU's counters are read of convolutions");
    require_one_launch(*problem, device);
    list.push_back(*problem);
  }
  return list;
}

int compare_cases(const Options& options, Job& job) {
  const Device device = cuda_device();
  const std::optional<std::string> profiler = find_profiler();
  if (!profiler) {
    job.console().err << "danaus: count: no ncu on PATH or in /usr/local/cuda/bin; --hardware needs Nsight Compute\n";
    return kExitNoDevice;
  }
  job.ask_for_kernel(options.by_token ? options.cases : std::vector<Case>(), device);
  const std::vector<Convolution> cases = single_launches(options, device);
  job.configure({{"cases", std::to_string(cases.size())}, {"device", device.name}, {"counters", *profiler}});
  const std::string printed = profile_launches(cases, *profiler);
  if (!options.printed.empty()) {
    PendingFile file(options.printed);
    file.write(printed);
    file.commit();
  }
  const std::vector<Json> rows = comparisons(cases, device, printed);
  job.make({.kind = "counters",
            .asked = rows,
            .make = [](std::size_t) { return Json::object(); },
            .show = [&](std::size_t, const Json& row) { print_comparison(job.out(), row); },
            .is_current = never_current});
  const auto explained = [](const Json& row) { return std::ranges::all_of(row.at("quantities"), is_explained); };
  return std::ranges::all_of(rows, explained) ? kExitOk : kExitCheckFailed;
}

}  // namespace

int run_count(std::span<const std::string> words, Console& console) {
  Job job(console, "count", kDescription);
  Options options;
  if (!read_options(job, words, options)) return kExitOk;
  if (!options.hardware && !options.launch) return count_cases(options, job);
  if (cuda_device_count() == 0) return without_gpu(console, "count", "--hardware and --launch need");
  if (options.hardware) return compare_cases(options, job);
  job.ask_for_kernel(options.by_token ? options.cases : std::vector<Case>(), cuda_device());
  for (const Convolution& problem : single_launches(options, cuda_device())) launch_once(problem, cuda_device());
  return kExitOk;
}

}  // namespace danaus
