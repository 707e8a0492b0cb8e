// danaus what-if: which FFT sizes stay in one kernel where a block has less shared memory, and what does that cost?
#include <set>
#include <thread>

#include "experiments/cli/in_order.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/count/kernel_work.hpp"
#include "experiments/io/result_file.hpp"
#include "model/roofline.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "The kernel of each FFT size with the shared memory that a block has on each class of devices, and the time that\n"
    "counted work predicts for it: on the profile's device with only that limit changed. Kernels for less than 227 KB\n"
    "have no tensor copies, as their devices have none. Without --case: fp16, B=64, H=768. Needs no GPU.";

struct Question {
  Convolution problem;
  HardwareProfile profile;  // with the limit changed
  int size;                 // N, of the kernel that has most room
};

// Every FFT size: circular, with both gates, and causal.
std::vector<Convolution> every_size() {
  std::set<int> sizes;
  for (const Split& split : kSplits) sizes.insert(split.size());
  std::vector<Convolution> list;
  for (const bool gated : {false, true})
    for (const Mode mode : {Mode::circular, Mode::causal}) {
      if (gated && mode == Mode::causal) continue;
      for (int size : sizes) {
        Convolution problem;
        problem.mode = mode, problem.pregate = problem.postgate = gated;
        problem.batch = 64, problem.channels = 768, problem.length = problem.filter_length = size;
        list.push_back(problem);
      }
    }
  return list;
}

std::vector<Question> questions(const std::vector<Convolution>& cases, const HardwareProfile& profile) {
  std::vector<Question> list;
  for (const Convolution& problem : cases) {
    int size = 0;
    for (const DeviceClass& device : kDeviceClasses) {
      HardwareProfile changed = profile;
      changed.shared_memory_per_block.value = device.block_bytes / 1024;
      if (size == 0) size = choose(problem, imitation(changed)).variant->size();  // or refuses, before any work
      list.push_back({problem, changed, size});
    }
  }
  return list;
}

// Why no kernel computes the case.
std::string refusal(const Convolution& problem, const Device& device) {
  try {
    choose(problem, device);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

Json row_of(const Question& question) {
  const auto& [problem, profile, size] = question;
  const Device device = imitation(profile);
  Json row = {{"case", token(problem)},
              {"profile", profile.name},
              {"dtype", name(problem.dtype)},
              {"mode", name(problem.mode)},
              {"gated", problem.pregate || problem.postgate},
              {"n", size},
              {"batch", problem.batch},
              {"channels", problem.channels},
              {"shared_kb", static_cast<int>(profile.shared_memory_per_block.value)}};
  if (!has_kernel(problem, device)) {
    row.update(Json{{"kernel", nullptr},
                    {"shared_bytes", nullptr},
                    {"blocks_per_sm", nullptr},
                    {"us", nullptr},
                    {"reason", refusal(problem, device)}});
    return row;
  }
  const Variant& variant = *choose(problem, device).variant;
  const RooflinePrediction prediction = predict_roofline(kernel_work(count(problem, device), device), profile);
  row.update(Json{{"kernel", name(variant)},
                  {"factors", factors(variant.geometry)},
                  {"shared_bytes", variant.shared_bytes},
                  {"blocks_per_sm", concurrent_blocks(variant, device) / device.multiprocessors},
                  {"transfer", device.has_tensor_copies() ? "tensor copies" : "threads"},
                  {"us", prediction.total_us},
                  {"limit", prediction.limit}});
  return row;
}

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
  std::string profile_name = "H200", json;
  std::vector<std::string> tokens;
  CommandLine line("what-if", kDescription);
  line.option("case", tokens, "TOKEN", "a case (default: every FFT size, circular, causal and gated); may be repeated");
  line.option("profile", profile_name, "NAME", "the device whose limit is changed (default: H200)");
  line.option("json", json, "FILE", "result rows, one JSON object a line; - for stdout, in place of the table");
  if (!line.parse(words, console)) return kExitOk;

  const HardwareProfile profile = load_profile(profile_name);
  std::vector<Convolution> cases;
  for (const std::string& word : tokens) cases.push_back(parse_convolution(word));
  const std::vector<Question> asked = questions(tokens.empty() ? every_size() : cases, profile);
  RowsFile file(console, json);
  print_configuration(console, "what-if",
                      {{"cases", std::to_string(asked.size())},
                       {"profile", profile.name},
                       {"rows kept", json.empty() ? "no (--json FILE keeps them)" : json}});
  std::vector<Json> rows;
  compute_in_order(
      asked.size(), std::thread::hardware_concurrency(), [&](std::size_t i) { return row_of(asked[i]); },
      [&](std::size_t, const Json& row) {
        rows.push_back(row);
        Json whole = {{"kind", "what_if"}};
        whole.update(row);
        file.append(whole);
      });
  file.commit();
  if (json != "-") print(console.out, rows);
  return kExitOk;
}

}  // namespace danaus
