// danaus fields: what a truncated spectrum leaves of a field, and what a spectral layer's kernel makes of it.
#include "experiments/fields/fields.hpp"

#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "The error of a field if a spectral layer keeps few of its frequencies. The layer has one channel and weight\n"
    "1; its truth and its kernel on the executor are both compared with the field. Fields: a smooth random one of\n"
    "two axes, a signal with fronts of one axis, or your own. Needs no GPU.";

void print(std::ostream& out, const Json& row) {
  out << row.at("field").get<std::string>() << ": " << row.at("what").get<std::string>() << '\n';
  std::vector<std::vector<std::string>> cells;
  for (const Json& each : row.at("truncations")) {
    const Json& error = each.at("kernel_error");
    cells.push_back({each.at("case"), each.at("modes").dump(), each.at("kept").dump(),
                     fixed(100 * each.at("share").get<double>(), 1), scientific(each.at("lost").get<double>()),
                     error.is_null() ? "no kernel" : scientific(error.get<double>())});
  }
  using enum Column::Align;
  print_table(out,
              {{"case", 0, left},
               {"modes", 0, right},
               {"kept", 0, right},
               {"of all, %", 0, right},
               {"lost, relative L2", 0, right},
               {"kernel's error", 0, right}},
              cells);
  out << '\n';
}

}  // namespace

int run_fields(std::span<const std::string> words, Console& console) {
  Job job(console, "fields", kDescription);
  std::vector<std::string> paths;
  job.line.option("field", paths, "FILE",
                  "your own, .npy [X] or [X, Y] of 16 to 1024 samples an axis (may be repeated)");
  if (!job.parse(words)) return kExitOk;
  std::vector<Field> fields;
  for (const std::string& path : paths) fields.push_back(read_field(path, console.err));
  if (paths.empty()) fields = example_fields();
  std::vector<Json> asked;
  for (const Field& field : fields) asked.push_back(describe(field));
  job.configure({{"fields", std::to_string(fields.size())}});
  job.make({.kind = "field",
            .asked = asked,
            .make = [&](std::size_t i) { return truncated(fields[i]); },
            .show = [&](std::size_t, const Json& row) { print(job.out(), row); }});
  return kExitOk;
}

}  // namespace danaus
