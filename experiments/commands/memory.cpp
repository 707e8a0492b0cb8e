// danaus memory: how much memory of the device does a convolution take?
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/io/result_file.hpp"
#include "kernels/plan.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "The device memory of a convolution by a plan: u, k, gates and y, and what the plan keeps. Without --case:\n"
    "N = 256 to 32K with B=64, H=768, without and with gates, as in Tables 16 and 17 of Fu et al. 2023, whose unit\n"
    "(printed there as GB) is 1000 MiB. Needs no GPU.";

// The unit of the paper's tables: its numbers are of all that is allocated, u and k included.
constexpr double kPaperUnit = 1000. * 1024 * 1024;

std::vector<Convolution> paper_cases() {
  std::vector<Convolution> cases;
  for (bool gated : {false, true})
    for (std::int64_t length = 256; length <= 32768; length *= 2) {
      Convolution problem;
      problem.batch = 64, problem.channels = 768;
      problem.length = problem.filter_length = length;
      problem.pregate = problem.postgate = gated;
      cases.push_back(problem);
    }
  return cases;
}

Json row_of(const Convolution& p, const HardwareProfile& profile) {
  const Device device = imitation(profile);
  const PlanBytes plan = plan_bytes(p, device);
  const std::int64_t rows = bytes(p.dtype) * p.batch * p.channels * p.length;
  const std::int64_t k = static_cast<std::int64_t>(sizeof(float)) * p.channels * p.filter_length;
  const std::int64_t gates = rows * (p.pregate + p.postgate);
  const std::int64_t additional = rows + plan.spectrum + plan.tables, total = additional + rows + k + gates;
  return {{"case", token(p)},
          {"profile", profile.name},
          {"dtype", name(p.dtype)},
          {"mode", name(p.mode)},
          {"gated", p.pregate || p.postgate},
          {"n", choose(p, device).variant->size()},
          {"batch", p.batch},
          {"channels", p.channels},
          {"u_bytes", rows},
          {"k_bytes", k},
          {"gates_bytes", gates},
          {"y_bytes", rows},
          {"spectrum_bytes", plan.spectrum},
          {"tables_bytes", plan.tables},
          {"total_bytes", total},
          {"additional_bytes", additional},
          {"paper_unit", static_cast<double>(total) / kPaperUnit}};
}

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
  std::vector<std::string> tokens;
  std::string profile_name = "H200", json;
  CommandLine line("memory", kDescription);
  line.option("case", tokens, "TOKEN", "a case; may be repeated");
  line.option("profile", profile_name, "NAME", "the device whose kernels are meant (default: H200)");
  line.option("json", json, "FILE", "result rows, one JSON object a line; - for stdout, in place of the table");
  if (!line.parse(words, console)) return kExitOk;

  const HardwareProfile profile = load_profile(profile_name);
  std::vector<Convolution> cases;
  for (const std::string& word : tokens) cases.push_back(parse_convolution(word));
  if (cases.empty()) cases = paper_cases();
  std::vector<Json> rows;
  std::set<std::string> identities;
  for (const Convolution& problem : cases) {
    rows.push_back(row_of(problem, profile));
    identities.insert(identity(rows.back()));
  }
  print_configuration(console, "memory",
                      {{"cases", std::to_string(rows.size())},
                       {"profile", profile.name},
                       {"rows kept", json.empty() ? "no (--json FILE keeps them)" : json}});
  ResultFile results(console, json, "memory", identities);
  for (const Json& row : rows)
    if (!results.standing(identity(row))) results.append(row);
  if (json != "-") print(console.out, rows);
  return kExitOk;
}

}  // namespace danaus
