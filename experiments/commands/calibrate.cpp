// danaus calibrate: what the GPU at hand can do, as a hardware profile for the model.
#include <algorithm>

#include "experiments/calibrate/calibration.hpp"
#include "experiments/cli/interrupt.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/io/pending_file.hpp"
#include "kernels/cuda/machine.hpp"
#include "reference/file_name.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Measures bandwidths, instruction rates and launch times of a GPU, in about half a minute, and writes a\n"
    "hardware profile. A number above what the hardware can do is refused, and no profile is written. Exit 1\n"
    "then.";

// "NVIDIA H100 80GB HBM3" is H100-80GB-HBM3.
std::string short_name(const std::string& device) {
  constexpr std::string_view kMaker = "NVIDIA ";
  std::string name = device.substr(device.starts_with(kMaker) ? kMaker.size() : 0);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

void print(std::ostream& out, const Calibration& calibration) {
  using enum Column::Align;
  std::vector<std::vector<std::string>> cells;
  for (const Measurement& m : calibration.measurements)
    cells.push_back({m.key, fixed(m.value, m.value < 100 ? 2 : 0), m.unit, m.spread > 0 ? fixed(100 * m.spread, 2) : "",
                     m.clock_mhz ? fixed(*m.clock_mhz, 0) : "", m.ceiling ? fixed(100 * m.value / *m.ceiling, 0) : "",
                     m.source});
  print_table(out,
              {{"number", 0, left},
               {"value", 0, right},
               {"unit", 0, left},
               {"spread, %", 0, right},
               {"MHz", 0, right},
               {"% of ceiling", 0, right},
               {"measured by", 0, left}},
              cells);
  for (const std::string& note : calibration.notes) out << "note: " << note << '\n';
}

}  // namespace

int run_calibrate(std::span<const std::string> words, Console& console) {
  Job job(console, "calibrate", kDescription);
  std::string output, name;
  std::optional<int> ordinal;
  job.line.option("output", output, "FILE", "the profile, for --profile FILE or model/profiles/");
  job.line.option("name", name, "NAME", "the profile's name (default: the device's)");
  job.line.option("device", ordinal, "NUMBER", "which GPU (default 0)");
  if (!job.parse(words, "one JSON object a number; - for stdout, in place of the table")) return kExitOk;
  if (ordinal.value_or(0) < 0) fail("calibrate: device=", *ordinal, ", must be at least 0");
  if (!output.empty() && !has_ending(output, ".json")) fail("calibrate: output '", output, "', must end in .json");
  job.writes("--output", output);
  if (cuda_device_count() == 0) return without_gpu(console, "calibrate");
  const Device device = cuda_device(ordinal.value_or(0));
  if (name.empty()) name = short_name(device.name);
  std::optional<PendingFile> file;  // a path that cannot be written is refused before the work
  if (!output.empty()) file.emplace(output);
  ResultFile results = job.log("calibration");
  job.configure({{"device", device.name}, {"profile", output.empty() ? "not kept (--output FILE keeps it)" : output}});
  Progress progress(console, 24);
  std::size_t done = 0;
  try {
    const Calibration calibration = calibrate(device, [&](const std::string& what) {
      if (interrupt_requested()) throw Interrupted("calibrate: interrupted, nothing was written");
      progress.show(done++, what);
    });
    progress.clear();
    const std::string text = profile_text(name, today(), calibration);
    for (const Measurement& m : calibration.measurements) results.append(row_of(m, device));
    print(job.out(), calibration);
    if (file) file->write(text), file->commit();
  } catch (const ImpossibleNumber& impossible) {
    progress.clear();
    console.err << "danaus: " << impossible.what() << '\n';
    return kExitCheckFailed;
  }
  return kExitOk;
}

}  // namespace danaus
