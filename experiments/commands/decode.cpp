// danaus decode: what does one position after the other take?
#include <algorithm>

#include "experiments/cli/table.hpp"
#include "experiments/code/row_code.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/decode/decoding.hpp"
#include "kernels/cuda/machine.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "The time of one position when samples come one by one, by how many came before. Three ways: a dot product\n"
    "with all earlier samples, tiles of doubling size, and the recurrence of a state-space model. The times are\n"
    "predicted from counted work and bytes. --device measures them on a GPU instead, launch by launch, and\n"
    "verifies every position, which takes minutes. Exit 1 if a row fails, 77 without a GPU.";

struct Options {
  std::vector<DecodeCase> cases;
  std::string profile;
  std::optional<int> device;
  int repetitions = 5;
};

bool read_options(Job& job, std::span<const std::string> words, Options& options) {
  std::string token = "fftconv_f16_causal_l65536_b1_h4096";
  std::vector<std::string> methods;
  std::optional<int> states, repetitions;
  CommandLine& line = job.line;
  line.option("case", token, "TOKEN",
              text("a causal convolution; L is how many positions there are (default ", token, ')'));
  line.option("method", methods, "NAME", names_in(kDecodeMethods) + " (default: all); may be repeated");
  line.option("states", states, "NUMBER", "states of the recurrence (default 64)");
  line.option("profile", options.profile, "NAME", "the device to predict (default: H200)");
  line.option("device", options.device, "NUMBER", "measure on this GPU instead of predicting");
  line.option("repetitions", repetitions, "NUMBER", "how often the whole sequence is timed (default 5)");
  if (!job.parse(words)) return false;
  job.exclude({typed("--profile", options.profile), options.device ? text("--device ", *options.device) : ""});
  if (options.profile.empty()) options.profile = "H200";
  const Case asked = parse_case(token);
  if (!asked.as<Convolution>()) fail("decode: ", token, " is no convolution");
  if (states && (*states < 1 || *states > kMostStates))
    fail("decode: states=", *states, ", must be from 1 to ", kMostStates);
  if (repetitions && *repetitions < 1) fail("decode: repetitions=", *repetitions, ", must be at least 1");
  if (options.device && *options.device < 0) fail("decode: device=", *options.device, ", must be at least 0");
  options.repetitions = repetitions.value_or(options.repetitions);
  for (const auto& entry : kDecodeMethods) {
    if (!methods.empty() && std::ranges::find(methods, entry.name) == methods.end()) continue;
    DecodeCase each{*asked.as<Convolution>(), entry.value, 0};
    if (entry.value == DecodeMethod::recurrence) each.states = states.value_or(64);
    validate(each);
    options.cases.push_back(each);
  }
  for (const std::string& method : methods) parse_in(kDecodeMethods, "decode: method", method);
  return true;
}

void print(std::ostream& out, const std::vector<Json>& rows) {
  using enum Column::Align;
  std::vector<Column> columns = {{"positions", 0, right}};
  std::vector<std::vector<std::string>> cells;
  for (const Json& row : rows) {
    const std::string method = row["method"];
    columns.push_back({method + (row.contains("states") ? ", S=" + row["states"].dump() : "") + ", us", 0, right});
    const Json positions = row.value("positions", Json::array());
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (cells.size() <= i) cells.push_back({text(positions[i]["from"].dump(), " to ", positions[i]["to"].dump())});
      cells[i].resize(columns.size());
      cells[i].back() = fixed(positions[i]["us"].get<double>(), 2);
    }
  }
  for (auto& line : cells) line.resize(columns.size());
  print_table(out, columns, cells);
}

}  // namespace

int run_decode(std::span<const std::string> words, Console& console) {
  Job job(console, "decode", kDescription);
  Options options;
  if (!read_options(job, words, options)) return kExitOk;
  if (options.device && cuda_device_count() == 0) return without_gpu(console, "decode");
  const HardwareProfile profile = job.profile(options.profile);
  const std::optional<Device> device = options.device ? std::optional(cuda_device(*options.device)) : std::nullopt;

  std::vector<Json> asked, rows;
  for (const DecodeCase& each : options.cases) {
    Json fields = describe(each);
    fields["source"] = device ? "measured" : "predicted";
    if (device) {
      const std::set<std::string> families = families_of(each, *device);
      fields["device"] = device_block(*device), fields["families"] = families;
      fields["code"] = code_of_families(families, device->sm).words();
    } else {
      fields["profile"] = profile.name;
    }
    asked.push_back(fields);
  }
  job.configure({{"case", token(options.cases.front().whole)},
                 {"rows", std::to_string(asked.size())},
                 {device ? "device" : "profile", device ? device->name : profile.name},
                 {"sources", sources_in_words()}});
  job.make({.kind = "decode",
            .asked = asked,
            .make =
                [&](std::size_t i) {
                  return device ? timed(options.cases[i], *device, options.repetitions)
                                : predicted(options.cases[i], profile);
                },
            .show = [&](std::size_t, const Json& row) { rows.push_back(row); }});
  print(job.out(), rows);
  const auto failed = std::ranges::find_if(
      rows, [](const Json& row) { return row.contains("verify") && row["verify"]["status"] == "failed"; });
  if (failed == rows.end()) return kExitOk;
  console.err << "failed: " << (*failed)["method"].get<std::string>() << " is off by "
              << (*failed)["verify"]["clearance"].dump() << " of its bound\n";
  return kExitCheckFailed;
}

}  // namespace danaus
