// danaus count: the work of a kernel, as the executor counts it; and as a GPU does, beside it.
#include <algorithm>

#include "experiments/bench/sweeps.hpp"
#include "experiments/cli/environment.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/count/counted.hpp"
#include "experiments/count/hardware.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/io/pending_file.hpp"
#include "experiments/io/result_file.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "The work of the kernel that a plan chooses: executed on the CPU for a few rows, and from there for any B and H.\n"
    "With --hardware a GPU's own counters stand beside it, by Nsight Compute (ncu); without --case for nine cases in\n"
    "which the kernels differ. Exit 77 without a GPU or ncu.";

struct Request {
  std::vector<Convolution> cases;
  HardwareProfile profile;
  std::int64_t concurrent = 0;
  bool hardware = false, launch = false;
  std::string json, printed;
};

// False when only help was wanted.
bool read_request(std::span<const std::string> words, Console& console, Request& request) {
  std::vector<std::string> tokens;
  std::string sweep, profile = "H200";
  std::optional<int> blocks;
  CommandLine line("count", kDescription);
  line.option("case", tokens, "TOKEN", "a case; may be repeated");
  line.option("sweep", sweep, "NAME", "the cases of a sweep of danaus bench");
  line.option("profile", profile, "NAME", "the device whose kernels and multiprocessors are meant (default: H200)");
  line.option("blocks", blocks, "NUMBER", "thread blocks that run at once (default: what the kernel is tuned for)");
  line.flag("hardware", request.hardware, "compares with the counters of the GPU at hand");
  line.option("printed", request.printed, "FILE", "with --hardware: keeps what ncu printed");
  line.flag("launch", request.launch, "only launches each case's kernel once on the GPU, for a profiler to look at");
  line.option("json", request.json, "FILE",
              "result rows, one JSON object a line; - for stdout, in place of the tables");
  if (!line.parse(words, console)) return false;

  if (!tokens.empty() && !sweep.empty()) fail("count: --case and --sweep exclude each other");
  if (request.hardware && request.launch) fail("count: --hardware and --launch exclude each other");
  if (blocks && *blocks < 1) fail("count: blocks=", *blocks, ", must be at least 1");
  request.concurrent = blocks.value_or(0);
  request.profile = load_profile(profile);
  for (const std::string& word : tokens) request.cases.push_back(parse_convolution(word));
  if (!sweep.empty()) request.cases = bench_sweep("count", sweep).cases();
  if (request.cases.empty() && request.hardware) request.cases = compared_cases();
  if (request.cases.empty()) fail("count: either --case or --sweep must be given");
  return true;
}

std::string item_name(const Variant& variant) {
  return variant.geometry.fold == Fold::pair ? "a pair of rows" : "a row";
}

void print(std::ostream& out, const Counted& c) {
  const Work& w = c.work;
  const bool odd = c.extent.half_items > 0;
  out << token(c.problem) << ": " << name(*c.variant) << ", " << c.extent.blocks << " blocks of " << c.variant->threads
      << " threads, " << c.extent.items + c.extent.half_items << " times " << item_name(*c.variant) << '\n';
  using enum Column::Align;
  std::vector<Column> columns = {{"counted", 0, left}, {item_name(*c.variant), 0, right}};
  if (odd) columns.push_back({"a last row", 0, right});
  for (const char* title : {"a channel met", "a block", "the launch", "a filter"}) columns.push_back({title, 0, right});
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : host::kCounterFields) {
    std::string words(name);
    std::replace(words.begin(), words.end(), '_', ' ');
    rows.push_back({words, std::to_string(w.item.*value)});
    if (odd) rows.back().push_back(std::to_string(w.half_item.*value));
    for (const host::Counters& counters : {w.visit, w.block, c.launch, w.filter})
      rows.back().push_back(std::to_string(counters.*value));
  }
  print_table(out, columns, rows);
  out << '\n';
}

int count_cases(const Request& request, Console& console) {
  const Device device = imitation(request.profile);
  std::vector<Json> asked;
  std::set<std::string> identities;
  for (const Convolution& problem : request.cases) {
    choose(problem, device);  // refuses before any work
    asked.push_back({{"case", token(problem)},
                     {"profile", request.profile.name},
                     {"protocol", {{"concurrent", request.concurrent}}}});
    identities.insert(identity(asked.back()));
  }
  print_configuration(
      console, "count",
      {{"cases", std::to_string(request.cases.size())},
       {"device", request.profile.name + ", " + std::to_string(device.multiprocessors) + " multiprocessors"},
       {"rows kept", request.json.empty() ? "no (--json FILE keeps them)" : request.json}});
  ResultFile results(console, request.json, "count", identities);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Counted counted = count(request.cases[i], device, request.concurrent);
    if (request.json != "-") print(console.out, counted);
    if (results.standing(identity(asked[i]))) continue;
    asked[i].update(describe(counted));
    results.append(asked[i]);
  }
  return kExitOk;
}

void print_comparison(std::ostream& out, const Json& row) {
  out << row.at("case").get<std::string>() << ": " << row.at("variant").get<std::string>() << ", " << row.at("blocks")
      << " blocks\n";
  using enum Column::Align;
  std::vector<std::vector<std::string>> cells;
  for (const Json& quantity : row.at("quantities"))
    cells.push_back({quantity.at("name"), fixed(quantity.at("counted"), 0), fixed(quantity.at("hardware"), 0),
                     quantity.at("ratio").is_null() ? "-" : fixed(quantity.at("ratio"), 4), quantity.value("why", "")});
  print_table(
      out,
      {{"quantity", 0, left}, {"counted", 0, right}, {"hardware", 0, right}, {"ratio", 0, right}, {"why", 0, left}},
      cells);
  out << '\n';
}

int compare_cases(const Request& request, Console& console) {
  const Device device = Device::cuda();
  const std::optional<std::string> profiler = find_profiler();
  if (!profiler) {
    console.err << "danaus: count: no ncu on PATH or in /usr/local/cuda/bin; --hardware needs Nsight Compute\n";
    return kExitNoDevice;
  }
  for (const Convolution& problem : request.cases) choose(problem, device);  // refuses before any work
  print_configuration(console, "count",
                      {{"cases", std::to_string(request.cases.size())},
                       {"device", device.name},
                       {"counters", *profiler},
                       {"rows kept", request.json.empty() ? "no (--json FILE keeps them)" : request.json}});
  const std::string printed = profile_launches(request.cases, *profiler);
  if (!request.printed.empty()) {
    PendingFile file(request.printed);
    file.write(printed);
    file.commit();
  }
  const std::vector<Json> rows = comparisons(request.cases, device, printed);
  std::set<std::string> identities;
  for (const Json& row : rows) identities.insert(identity(row));
  ResultFile results(console, request.json, "counters", identities, [](const Json&) { return false; });  // all anew
  for (const Json& row : rows) {
    results.append(row);
    if (request.json != "-") print_comparison(console.out, row);
  }
  return kExitOk;
}

}  // namespace

int run_count(std::span<const std::string> words, Console& console) {
  Request request;
  if (!read_request(words, console, request)) return kExitOk;
  if (!request.hardware && !request.launch) return count_cases(request, console);
  if (Device::cuda_count() == 0) return without_gpu(console, "count", "--hardware and --launch need");
  if (request.hardware) return compare_cases(request, console);
  for (const Convolution& problem : request.cases) launch_once(problem, Device::cuda());
  return kExitOk;
}

}  // namespace danaus
