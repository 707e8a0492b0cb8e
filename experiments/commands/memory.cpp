// danaus memory: how much memory of the device does a convolution take?
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/count/footprint.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "The device memory of a convolution by a plan: u, k, gates and y, and what the plan keeps. Without --case:\n"
    "N = 256 to 32K with B=64, H=768, without and with gates, as in Tables 16 and 17 of Fu et al. 2023, whose unit\n"
    "(printed there as GB) is 1000 MiB. Needs no GPU.";

void print(std::ostream& out, const std::vector<Json>& rows) {
  const auto megabytes = [](const Json& row, const char* field) { return fixed(row.at(field).get<double>() / 1e6, 2); };
  std::vector<std::vector<std::string>> cells;
  for (const Json& row : rows) {
    cells.push_back({row["case"]});
    for (const char* field : {"u_bytes", "k_bytes", "gates_bytes", "y_bytes", "spectrum_bytes", "tables_bytes",
                              "total_bytes", "additional_bytes"})
      cells.back().push_back(megabytes(row, field));
    cells.back().push_back(fixed(row["paper_unit"], 2));
  }
  using enum Column::Align;
  print_table(out,
              {{"case", 0, left},
               {"u, MB", 0, right},
               {"k", 0, right},
               {"gates", 0, right},
               {"y", 0, right},
               {"spectrum", 0, right},
               {"tables", 0, right},
               {"all", 0, right},
               {"beyond u, k, gates", 0, right},
               {"all, 1000 MiB", 0, right}},
              cells);
}

}  // namespace

int run_memory(std::span<const std::string> words, Console& console) {
  Job job(console, "memory", kDescription);
  std::vector<std::string> tokens;
  std::string profile_name = "H200";
  job.line.option("case", tokens, "TOKEN", "a case; may be repeated");
  job.line.option("profile", profile_name, "NAME", "the device whose kernels are meant (default: H200)");
  if (!job.parse(words)) return kExitOk;

  const HardwareProfile profile = job.profile(profile_name);
  std::vector<Convolution> cases;
  for (const std::string& word : tokens) cases.push_back(parse_convolution(word));
  std::vector<Json> rows;
  for (const Convolution& problem : cases.empty() ? footprint_cases() : cases)
    rows.push_back(footprint(problem, profile));
  job.configure({{"cases", std::to_string(rows.size())}, {"profile", profile.name}});
  job.make({.kind = "memory", .asked = rows, .make = [](std::size_t) { return Json::object(); }, .show = {}});
  print(job.out(), rows);
  return kExitOk;
}

}  // namespace danaus
