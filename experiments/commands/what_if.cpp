// danaus what-if: which FFT sizes stay in one kernel where a block has less shared memory, and what does that cost? And
// which way do convolutions go soonest on which device?
#include "experiments/predict/what_if.hpp"

#include <algorithm>
#include <thread>

#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/predict/ways.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Which kernel computes each FFT size if a block has less shared memory, and the time that counted work\n"
    "predicts. The limits are those of each class of devices; all else is the profile's device. Kernels for less\n"
    "than 227 KB use no tensor copies. Times of several launches are summed, without the filter's preparation.\n"
    "Without --case: fp16, B=64, H=768. --ways compares fused kernels, outer passes and pieces on each device,\n"
    "and says why a plan takes another way; without --case for causal convolutions of 256 to 4M samples. Needs no\n"
    "GPU.";

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

std::string in_units(std::int64_t n) {
  for (const auto& [unit, suffix] : {std::pair(std::int64_t{1} << 20, "M"), std::pair(std::int64_t{1} << 10, "K")})
    if (n % unit == 0) return std::to_string(n / unit) + suffix;
  return std::to_string(n);
}

std::string filter_of(const Json& row) { return row["k"] == row["l"] ? "L" : in_units(row["k"]); }

// The i-th of a row's ways and its time, in words.
std::pair<std::string, std::string> way_at(const Json& row, std::size_t i) {
  const Json& ways = row["ways"];
  if (i == 0 && !row["complete"]) return {"not in this build", ""};
  if (!row["complete"] || i >= ways.size()) return {i == 0 ? "none" : "", ""};
  return {text(ways[i]["way"].get<std::string>(), ", N=", in_units(ways[i]["n"])), fixed(ways[i]["us"], 1)};
}

// A line for each length, then one for each device and filter, which says from where to where each way is the soonest.
void print_ways(std::ostream& out, const std::vector<Json>& rows) {
  struct Run {
    std::string of, way;
    std::int64_t from, to;
  };
  std::vector<std::vector<std::string>> cells;
  std::vector<Run> runs;
  for (const Json& row : rows) {
    const auto [soonest, us] = way_at(row, 0);
    const auto [other, other_us] = way_at(row, 1);
    cells.push_back({row["profile"], filter_of(row), in_units(row["l"]), row["channels"].dump(), soonest, us, other,
                     other_us, row["plan"]});
    const std::string of = text(row["profile"].get<std::string>(), ", K=", filter_of(row));
    const std::string way = us.empty() ? soonest : row["ways"][0]["way"].get<std::string>();
    if (runs.empty() || runs.back().of != of || runs.back().way != way) runs.push_back({of, way, row["l"], row["l"]});
    runs.back().to = row["l"];
  }
  using enum Column::Align;
  print_table(out,
              {{"profile", 0, left},
               {"K", 0, right},
               {"L", 0, right},
               {"H", 0, right},
               {"soonest", 0, left},
               {"us", 0, right},
               {"then", 0, left},
               {"us", 0, right},
               {"a plan takes", 0, left}},
              cells);
  std::string of;
  for (const Run& run : runs) {
    out << (run.of == of ? "; " : text('\n', run.of, ": ")) << run.way << ' ' << in_units(run.from);
    if (run.to > run.from) out << " to " << in_units(run.to);
    of = run.of;
  }
  out << '\n';
  out << "Times are predicted from counted work, none is measured. A plan counts no work: it chooses by bytes,\n"
         "instructions and launches, with constants from times that an H200 measured (docs/models.md).\n";
  for (const Json& row : rows)
    if (row.contains("why"))
      out << "not the soonest, " << row["profile"].get<std::string>() << ", K=" << filter_of(row)
          << ", L=" << in_units(row["l"]) << ": " << row["why"].get<std::string>() << '\n';
}

int run_ways(Job& job, const std::vector<std::string>& tokens, const std::vector<std::string>& names) {
  std::vector<HardwareProfile> profiles;
  for (const std::string& name : names.empty() ? profile_names() : names) profiles.push_back(job.profile(name));
  std::vector<WaysCase> cases;
  for (const HardwareProfile& profile : profiles)
    for (const std::string& word : tokens) cases.push_back(ways_case(parse_case(word), profile));
  if (tokens.empty()) cases = ways_cases(profiles);
  std::vector<Json> asked, rows;
  for (const WaysCase& each : cases) asked.push_back(describe(each));
  job.configure({{"cases", std::to_string(cases.size())}, {"profiles", std::to_string(profiles.size())}});
  job.make({.kind = "ways",
            .asked = asked,
            .make = [&](std::size_t i) { return ways(cases[i]); },
            .show = [&](std::size_t, const Json& row) { rows.push_back(row); },
            .threads = std::thread::hardware_concurrency()});
  print_ways(job.out(), rows);
  return kExitOk;
}

}  // namespace

int run_what_if(std::span<const std::string> words, Console& console) {
  Job job(console, "what-if", kDescription);
  std::vector<std::string> tokens, profiles;
  bool by_ways = false;
  job.line.option(
      "case", tokens, "TOKEN",
      "a case (default: every FFT size, circular, causal and gated; with --ways every length); may be repeated");
  job.line.option(
      "profile", profiles, "NAME",
      "the device whose limit is changed (default: H200); with --ways a device, may be repeated (default: all)");
  job.line.flag("ways", by_ways, "fused, by outer passes or in pieces: what each would take, and which is the soonest");
  if (!job.parse(words)) return kExitOk;
  if (by_ways) return run_ways(job, tokens, profiles);
  if (profiles.size() > 1) fail("what-if: ", profiles.size(), " profiles, must be one without --ways");

  const HardwareProfile profile = job.profile(profiles.empty() ? "H200" : profiles.front());
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
