// danaus memory: how much memory of the device does a case take?
#include "experiments/bench/sweeps.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/count/footprint.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "The device memory of a case of any operation: its arrays, what the plan keeps, its workspace, and the\n"
    "largest batch that fits. Without --case: N = 256 to 4M with B=64, H=768, with and without gates, as in\n"
    "Tables 16 and 17 of Fu et al. 2023. Their unit, printed as GB, is 1000 MiB. Needs no GPU.";

void print(std::ostream& out, const std::vector<Json>& rows) {
  const auto megabytes = [](const Json& row, const char* field) { return fixed(row.at(field).get<double>() / 1e6, 2); };
  std::vector<std::vector<std::string>> cells;
  for (const Json& row : rows) {
    const bool is_convolution = row.contains("u_bytes");
    const char* prepared = is_convolution ? "spectrum_bytes" : "prepared_bytes";
    double of_arrays = row.at("total_bytes").get<double>();
    for (const char* field : {prepared, "tables_bytes", "workspace_bytes"}) of_arrays -= row.at(field).get<double>();
    cells.push_back({row["case"], fixed(of_arrays / 1e6, 2)});
    for (const char* field : {prepared, "tables_bytes", "workspace_bytes", "total_bytes"})
      cells.back().push_back(megabytes(row, field));
    cells.back().push_back(is_convolution ? megabytes(row, "additional_bytes") : "");
    cells.back().push_back(fixed(row["paper_unit"], 2));
    cells.back().push_back(row.contains("largest_batch") ? row["largest_batch"].dump() : "");
  }
  using enum Column::Align;
  print_table(out,
              {{"case", 0, left},
               {"arrays, MB", 0, right},
               {"prepared", 0, right},
               {"tables", 0, right},
               {"workspace", 0, right},
               {"all", 0, right},
               {"beyond u, k, gates", 0, right},
               {"all, 1000 MiB", 0, right},
               {"largest batch", 0, right}},
              cells);
}

}  // namespace

int run_memory(std::span<const std::string> words, Console& console) {
  Job job(console, "memory", kDescription);
  std::vector<std::string> tokens;
  std::string profile_name = "H200", sweep;
  job.line.option("case", tokens, "TOKEN", "a case; may be repeated");
  job.line.option("sweep", sweep, "NAME", "the cases of a sweep of danaus bench");
  job.line.option("profile", profile_name, "NAME", "the memory of this device's kernels (default: H200)");
  if (!job.parse(words)) return kExitOk;

  const HardwareProfile profile = job.profile(profile_name);
  std::vector<Case> cases;
  for (const std::string& word : tokens) cases.push_back(parse_case(word));
  job.exclude({typed("--case", tokens), typed("--sweep", sweep)});
  if (!sweep.empty()) cases = case_sweep("memory", sweep).cases();
  std::vector<Json> rows;
  for (const Case& asked : cases.empty() ? footprint_cases() : cases) rows.push_back(footprint(asked, profile));
  job.configure({{"cases", std::to_string(rows.size())}, {"profile", profile.name}});
  job.make({.kind = "memory", .asked = rows, .make = [](std::size_t) { return Json::object(); }, .show = {}});
  print(job.out(), rows);
  return kExitOk;
}

}  // namespace danaus
