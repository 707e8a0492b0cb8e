// danaus what-if: which FFT sizes stay in one kernel where a block has less shared memory, and what does that cost?
#include "experiments/predict/what_if.hpp"

#include <thread>

#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "The kernel of each FFT size with the shared memory that a block has on each class of devices, and the time that\n"
    "counted work predicts for it: on the profile's device with only that limit changed. Kernels for less than 227 KB\n"
    "have no tensor copies, as their devices have none. Of several launches the time is their sum, without that of\n"
    "preparing filters. Without --case: fp16, B=64, H=768. Needs no GPU.";

void print(std::ostream& out, const std::vector<Json>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const Json& row : rows) {
    cells.push_back({row["case"], row["shared_kb"].dump()});
    if (row["kernel"].is_null())
      cells.back().push_back("none fits");
    else
      for (const std::string& cell :
           {row["kernel"].get<std::string>(), row["shared_bytes"].dump(), row["blocks_per_sm"].dump(),
            row["transfer"].get<std::string>(), fixed(row["us"], 1), row["limit"].get<std::string>()})
        cells.back().push_back(cell);
    cells.back().resize(8);
  }
  using enum Column::Align;
  print_table(out,
              {{"case", 0, left},
               {"KB a block", 0, right},
               {"kernel", 0, left},
               {"shared bytes", 0, right},
               {"blocks an SM", 0, right},
               {"rows by", 0, left},
               {"us", 0, right},
               {"limited by", 0, left}},
              cells);
}

}  // namespace

int run_what_if(std::span<const std::string> words, Console& console) {
  Job job(console, "what-if", kDescription);
  std::string profile_name = "H200";
  std::vector<std::string> tokens;
  job.line.option("case", tokens, "TOKEN",
                  "a case (default: every FFT size, circular, causal and gated); may be repeated");
  job.line.option("profile", profile_name, "NAME", "the device whose limit is changed (default: H200)");
  if (!job.parse(words)) return kExitOk;

  const HardwareProfile profile = job.profile(profile_name);
  std::vector<Case> cases;
  for (const std::string& word : tokens) cases.push_back(parse_case(word));
  const std::vector<LimitedCase> limited = limited_cases(cases.empty() ? every_size() : cases, profile);
  std::vector<Json> asked, rows;
  for (const LimitedCase& each : limited) asked.push_back(describe(each));
  job.configure({{"cases", std::to_string(limited.size())}, {"profile", profile.name}});
  job.make({.kind = "what_if",
            .asked = asked,
            .make = [&](std::size_t i) { return what_if(limited[i]); },
            .show = [&](std::size_t, const Json& row) { rows.push_back(row); },
            .threads = std::thread::hardware_concurrency()});
  print(job.out(), rows);
  return kExitOk;
}

}  // namespace danaus
