#include "experiments/count/hardware.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "experiments/code/row_code.hpp"
#include "experiments/count/quantities.hpp"
#include "kernels/plan/registry.hpp"

namespace danaus {
namespace {

constexpr std::array kComparedTokens = {
    "fftconv_f16_circular_l256_b32_h528",                   // chain
    "fftconv_bf16_circular_l768_b16_h264",                  // chain with a radix on top
    "fftconv_f16_circular_l1024_b16_h264",                  // exchange
    "fftconv_f16_causal_l1024_b16_h264",                    // right angle
    "fftconv_f16_circular_l4096_b8_h132_pregate_postgate",  // gates
    "fftconv_f16_causal_l4048_b8_h132",                     // without tensor copies
    "fftconv_bf16_circular_l8192_b8_h132",
    "fftconv_bf16_causal_l16384_b8_h66",
    "fftconv_f16_circular_l32768_b8_h66",
};

constexpr std::string_view kOpcode = "sass:";
constexpr const char* kByOpcode = "sass__inst_executed_per_opcode";
constexpr const char* kGridSize = "launch__grid_size";
// Beyond this they are said to differ.
constexpr double kTolerance = 0.01;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::string cell;
  bool quoted = false;
  for (char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.push_back(cell);
      cell.clear();
    } else {
      cell += c;
    }
  }
  cells.push_back(cell);
  return cells;
}

// Of a text that begins with it; thousands may be parted by commas.
std::optional<double> leading_number(std::string text) {
  std::erase(text, ',');
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  return value;
}

// As in "1,020 (HADD2: 1,000; HFMA2.MMA: 20)"; what follows a point is left out.
void read_opcodes(const std::string& text, Readings& readings) {
  const std::string capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", digits = "0123456789";
  for (std::size_t begin = 0; (begin = text.find_first_of(capitals, begin)) != std::string::npos;) {
    const std::size_t end = text.find_first_not_of(capitals + digits + '_', begin);
    const std::size_t colon = text.find_first_of(":=", begin);
    if (colon == std::string::npos) return;
    const std::size_t number = text.find_first_of(digits, colon);
    if (number == std::string::npos) return;
    const std::string name = std::string(kOpcode) + text.substr(begin, end - begin);
    begin = std::min(text.find_first_not_of(digits + ",.", number), text.size());
    readings[name] += leading_number(text.substr(number, begin - number)).value_or(0);
  }
}

// The sum of those that were read; nothing where none was.
std::optional<double> reading(const ComparedQuantity& quantity, const Readings& readings) {
  std::optional<double> sum;
  for (const std::string metric : quantity.metrics) {
    const bool opcode = metric.starts_with(kOpcode);
    if (opcode && readings.contains(kByOpcode)) sum = sum.value_or(0);
    for (const auto& [name, value] : readings)  // HFMA2.MMA is an HFMA2
      if (name == metric || (opcode && name.starts_with(metric))) sum = sum.value_or(0) + quantity.scale * value;
  }
  return sum;
}

std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe) throw std::runtime_error("count: cannot run " + command);
  std::string output;
  std::array<char, 65536> buffer;
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), size);
  ::pclose(pipe);
  return output;
}

std::string quoted(const std::string& word) { return "'" + word + "'"; }

// The metrics that this ncu knows on this device. Those of instructions are not in its list.
std::vector<std::string> known_metrics(const std::string& profiler) {
  const std::string list = output_of(quoted(profiler) + " --query-metrics");
  std::vector<std::string> known = {kGridSize};
  for (const ComparedQuantity& quantity : compared_quantities())
    for (const std::string metric : quantity.metrics)
      if (!metric.starts_with(kOpcode) && list.find(metric.substr(0, metric.rfind('.'))) != std::string::npos)
        known.push_back(metric);
  return known;
}

// What ncu prints as this program launches each case's kernel.
std::string profile(const std::vector<Convolution>& cases, const std::string& profiler,
                    std::vector<std::string> metrics, bool opcodes) {
  std::ostringstream command;
  std::set<std::string_view> families;
  for (const auto& v : variants()) families.insert(v->family);
  std::string names;
  for (std::string_view family : families) names.append(names.empty() ? "" : "|").append(family);
  command << quoted(profiler) << " --csv --print-units base --clock-control none --kernel-name "
          << quoted("regex:^(" + names + ")_kernel");
  if (opcodes) {
    command << " --print-metric-instances details";
    metrics.push_back(kByOpcode);
  }
  command << " --metrics ";
  for (std::size_t i = 0; i < metrics.size(); ++i) command << (i == 0 ? "" : ",") << metrics[i];
  command << ' ' << quoted(std::filesystem::read_symlink("/proc/self/exe").string()) << " count --launch";
  for (const Convolution& problem : cases) command << " --case " << token(problem);
  return output_of(command.str());
}

// Its lines that say what went wrong.
std::string complaint_of(const std::string& printed) {
  std::istringstream lines(printed);
  std::string complaint;
  for (std::string line; std::getline(lines, line);)
    if (line.find("ERROR") != std::string::npos || line.starts_with("danaus:")) complaint += '\n' + line;
  return complaint.empty() ? " nothing" : complaint;
}

}  // namespace

std::vector<Convolution> compared_cases() {
  std::vector<Convolution> cases;
  for (const char* word : kComparedTokens) cases.push_back(parse_convolution(word));
  return cases;
}

std::optional<std::string> find_profiler() {
  std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  path += ":/usr/local/cuda/bin";
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && ::access((folder + "/ncu").c_str(), X_OK) == 0) return folder + "/ncu";
  return std::nullopt;
}

std::vector<Readings> parse_readings(std::string_view output) {
  std::istringstream lines{std::string(output)};
  std::map<int, Readings> launches;
  std::size_t id = 0, metric = 0, value = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('"')) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (cells.front() == "ID") {
      const auto place = [&](const char* title) {
        return static_cast<std::size_t>(std::find(cells.begin(), cells.end(), title) - cells.begin());
      };
      id = place("ID"), metric = place("Metric Name"), value = place("Metric Value");
      continue;
    }
    if (value == 0 || value >= cells.size()) continue;
    Readings& readings = launches[std::atoi(cells[id].c_str())];
    if (const auto number = leading_number(cells[value])) readings[cells[metric]] = *number;
    if (cells[metric] == kByOpcode) read_opcodes(cells[value], readings);
  }
  std::vector<Readings> in_order;
  for (auto& [number, readings] : launches) in_order.push_back(std::move(readings));
  return in_order;
}

Json comparison(const Convolution& problem, const Device& device, const Readings& readings) {
  const auto grid = readings.find(kGridSize);
  const Counted counted = count(problem, device, grid == readings.end() ? 0 : std::llround(grid->second));
  Json quantities = Json::array();
  for (const ComparedQuantity& quantity : compared_quantities()) {
    const std::optional<double> hardware = reading(quantity, readings);
    if (!hardware) continue;
    const double executor = quantity.counted(counted);
    std::string metrics;
    for (const char* metric : quantity.metrics) metrics += (metrics.empty() ? "" : " + ") + std::string(metric);
    Json entry = {{"name", quantity.name},
                  {"counted", executor},
                  {"hardware", *hardware},
                  {"ratio", executor > 0 ? Json(*hardware / executor) : Json()},
                  {"metric", metrics}};
    const Range expected = quantity.expected(counted, executor);
    entry["least"] = expected.least, entry["most"] = expected.most;
    if (std::abs(*hardware - executor) > kTolerance * executor) entry["why"] = quantity.why;
    quantities.push_back(entry);
  }
  return {{"case", token(problem)},          {"method", "kernel"},
          {"device", device_block(device)},  {"code", code_of(timed_method(kPlan), problem, device).words()},
          {"compiler", compiler_in_words()}, {"variant", counted.variant->name},
          {"blocks", counted.extent.blocks}, {"quantities", quantities}};
}

bool is_explained(const Json& quantity) {
  return Range{quantity.at("least"), quantity.at("most")}.holds(quantity.at("hardware"));
}

std::string profile_launches(const std::vector<Convolution>& cases, const std::string& profiler) {
  const std::vector<std::string> metrics = known_metrics(profiler);
  const std::string printed = profile(cases, profiler, metrics, true);
  if (parse_readings(printed).size() == cases.size()) return printed;
  return profile(cases, profiler, metrics, false);  // for opcodes it patches the kernels, which it may refuse
}

std::vector<Json> comparisons(const std::vector<Convolution>& cases, const Device& device, const std::string& printed) {
  const std::vector<Readings> readings = parse_readings(printed);
  if (readings.size() != cases.size())
    throw std::runtime_error("count: ncu read " + std::to_string(readings.size()) + " of " +
                             std::to_string(cases.size()) + " launches. It says:" + complaint_of(printed));
  std::vector<Json> rows;
  for (std::size_t i = 0; i < cases.size(); ++i) rows.push_back(comparison(cases[i], device, readings[i]));
  return rows;
}

}  // namespace danaus
