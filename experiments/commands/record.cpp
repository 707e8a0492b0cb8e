// danaus record: what ran where.
#include <fstream>
#include <sstream>

#include "experiments/code/row_code.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/record/check.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cuda/machine.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Writes a row that says which tests ran where. Reads what a test program wrote (--gtest_output=json:FILE),\n"
    "and the log of a compute-sanitizer tool that watched it. Exit 1 if a test failed or the tool reported an\n"
    "error.";

struct Options {
  std::string program;
  std::vector<std::string> results, logs;
  Tool tool = Tool::none;
  std::optional<int> device;
};

// Of each name those of its parts, whose numbers take the place of its last %.
std::vector<std::string> names_of_parts(const std::string& option, const std::vector<std::string>& names, int parts) {
  std::vector<std::string> all;
  for (const std::string& name : names) {
    const std::size_t at = name.rfind('%');
    if (at == std::string::npos) fail("record: ", option, " ", name, " lacks the % that --parts counts");
    for (int part = 0; part < parts; ++part) all.push_back(text(name.substr(0, at), part, name.substr(at + 1)));
  }
  return all;
}

bool read_options(Job& job, std::span<const std::string> words, Options& options) {
  std::string tool;
  std::optional<int> parts;
  CommandLine& line = job.line;
  line.option("program", options.program, "NAME", "name of the test program");
  line.option("results", options.results, "FILE",
              "its JSON output; may be repeated if several processes shared the tests");
  line.option("parts", parts, "NUMBER", "number of such processes; % in file names stands for 0, 1, ...");
  line.option("tool", tool, "NAME", names_in(kTools) + " (default: the first)");
  line.option("log", options.logs, "FILE", "what the tool printed, one for each of --results");
  line.option("device", options.device, "NUMBER", "which GPU it ran on (default: the executor, on the CPU)");
  if (!job.parse(words)) return false;
  if (options.program.empty() || options.results.empty()) fail("record: --program and --results must be given");
  if (!tool.empty()) options.tool = parse_in(kTools, "record: tool", tool);
  if (parts) {
    if (*parts < 1) fail("record: --parts must be 1 or more, is ", *parts);
    options.results = names_of_parts("--results", options.results, *parts);
    options.logs = names_of_parts("--log", options.logs, *parts);
  }
  for (const std::string& path : options.results) job.reads("--results", path);
  for (const std::string& path : options.logs) job.reads("--log", path);
  return true;
}

std::vector<Text> read(const std::vector<std::string>& paths) {
  std::vector<Text> texts;
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    if (!file) fail("record: cannot read ", path);
    std::ostringstream text;
    text << file.rdbuf();
    texts.push_back({path, text.str()});
  }
  return texts;
}

}  // namespace

int run_record(std::span<const std::string> words, Console& console) {
  Job job(console, "record", kDescription);
  Options options;
  if (!read_options(job, words, options)) return kExitOk;
  if (options.device && cuda_device_count() == 0) return without_gpu(console, "record", "--device needs");
  const Device device = options.device ? cuda_device(*options.device) : executor_machine()->device();
  Json row = {{"method", name_in(kTools, options.tool)}, {"device", device_block(device)}};
  if (options.device) row["driver"] = gpu_driver(*options.device).value_or("unknown");
  row["code"] = code_of_all_kernels(device).words();
  row["compiler"] = compiler_in_words();
  row.update(check_of(options.tool, options.program, read(options.results), read(options.logs)));

  job.configure({{"program", options.program}, {"tool", row["method"]}, {"device", device.name}});
  job.make({.kind = "check",
            .asked = {row},
            .make = [](std::size_t) { return Json::object(); },
            .show = {},
            .is_current = never_current});  // a new run takes the place of one before
  const Json& tests = row["tests"];
  job.out() << options.program << ", " << row["method"].get<std::string>() << ", on " << device.name << ": "
            << tests["passed"] << " passed, " << tests["failed"] << " failed, " << tests["skipped"] << " skipped"
            << (row.contains("errors") ? text(", ", row["errors"].get<int>(), " errors") : "") << '\n';
  return row["status"] == "passed" ? kExitOk : kExitCheckFailed;
}

}  // namespace danaus
