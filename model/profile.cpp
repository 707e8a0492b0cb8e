#include "model/profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reference/convolution/convolution.hpp"
#include "reference/file_name.hpp"
#include "reference/spelling.hpp"

namespace danaus {
namespace {

using nlohmann::json;

struct EmbeddedProfile {
  std::string_view name;
  std::string_view text;
};

constexpr EmbeddedProfile kEmbedded[] = {
#include "embedded_profiles.inc"
};

// What a file may say: the key, the unit it must have, and where it goes.
struct Field {
  std::string_view key;
  std::string_view unit;
  Quantity HardwareProfile::*required = nullptr;
  std::optional<Quantity> HardwareProfile::*optional = nullptr;
  bool whole = false;  // a count, not a rate
  double most = std::numeric_limits<double>::infinity();
};

constexpr std::string_view kSramBandwidth = "sram_bandwidth";

const Field kFields[] = {
    {"matrix_side", "elements", &HardwareProfile::matrix_side, nullptr, true, 4096},
    {"matrix_rate", "TFLOP/s", &HardwareProfile::matrix_rate},
    {"general_rate", "TFLOP/s", &HardwareProfile::general_rate},
    {"hbm_bandwidth", "TB/s", &HardwareProfile::hbm_bandwidth},
    {kSramBandwidth, "TB/s", &HardwareProfile::sram_bandwidth},
    {"shared_memory_per_block", "KiB", &HardwareProfile::shared_memory_per_block, nullptr, false, 1048576},
    {"sms", "SMs", &HardwareProfile::sms, nullptr, true, 65536},
    {"clock", "MHz", &HardwareProfile::clock},
    {"l2_size", "MiB", nullptr, &HardwareProfile::l2_size},
    {"memory_size", "GB", nullptr, &HardwareProfile::memory_size},
    {"wgmma_rate", "TFLOP/s", nullptr, &HardwareProfile::wgmma_rate},
    {"half2_rate", "TFLOP/s", nullptr, &HardwareProfile::half2_rate},
    {"load_clock", "MHz", nullptr, &HardwareProfile::load_clock},
    {"l2_bandwidth", "TB/s", nullptr, &HardwareProfile::l2_bandwidth},
    {"shared_load_bandwidth", "TB/s", nullptr, &HardwareProfile::shared_load_bandwidth},
    {"shared_store_bandwidth", "TB/s", nullptr, &HardwareProfile::shared_store_bandwidth},
    {"ldmatrix_bandwidth", "TB/s", nullptr, &HardwareProfile::ldmatrix_bandwidth},
    {"stmatrix_bandwidth", "TB/s", nullptr, &HardwareProfile::stmatrix_bandwidth},
    {"remote_store_bandwidth", "TB/s", nullptr, &HardwareProfile::remote_store_bandwidth},
    {"mma_f16acc_rate", "TFLOP/s", nullptr, &HardwareProfile::mma_f16acc_rate},
    {"mma_f32acc_rate", "TFLOP/s", nullptr, &HardwareProfile::mma_f32acc_rate},
    {"mma_bf16_rate", "TFLOP/s", nullptr, &HardwareProfile::mma_bf16_rate},
    {"mma_depth8_f16acc_rate", "TFLOP/s", nullptr, &HardwareProfile::mma_depth8_f16acc_rate},
    {"mma_depth8_bf16_rate", "TFLOP/s", nullptr, &HardwareProfile::mma_depth8_bf16_rate},
    {"half2_bf16_rate", "TFLOP/s", nullptr, &HardwareProfile::half2_bf16_rate},
    {"permute_rate", "Top/s", nullptr, &HardwareProfile::permute_rate},
    {"conversion_rate", "Top/s", nullptr, &HardwareProfile::conversion_rate},
    {"conversion_bf16_rate", "Top/s", nullptr, &HardwareProfile::conversion_bf16_rate},
    {"cluster8_sms", "SMs", nullptr, &HardwareProfile::cluster8_sms, true, 65536},
    {"launch_latency", "us", nullptr, &HardwareProfile::launch_latency},
    {"launch_interval", "us", nullptr, &HardwareProfile::launch_interval},
};

bool is_rate(const Field& field) { return field.unit == "TFLOP/s" || field.unit == "TB/s" || field.unit == "Top/s"; }

std::string read_text(const json& object, const std::string& key, std::string_view what) {
  if (!object.contains(key) || !object[key].is_string() || object[key].get<std::string>().empty())
    fail(what, ": '", key, "' is missing, must be a text");
  return object[key];
}

double read_positive(const json& object, const std::string& key, std::string_view what) {
  if (!object.contains(key)) fail(what, ": '", key, "' is missing, must be a positive number");
  if (!object[key].is_number() || !(object[key].get<double>() > 0) || !std::isfinite(object[key].get<double>()))
    fail(what, ": '", key, "' is ", object[key].dump(), ", must be a positive number");
  return object[key];
}

void refuse_unknown(const json& object, std::initializer_list<std::string_view> known, std::string_view what) {
  for (const auto& item : object.items())
    if (std::find(known.begin(), known.end(), item.key()) == known.end())
      fail(what, ": unknown key '", item.key(), "'");
}

Quantity read_quantity(const json& object, const Field& field, const std::string& what) {
  if (!object.is_object()) fail(what, " is ", object.dump(), ", must be an object with value, unit, kind and source");
  refuse_unknown(object, {"value", "unit", "source", "kind", "ceiling", "ceiling_source", "clock", "spread"}, what);
  Quantity q;
  q.value = read_positive(object, "value", what);
  q.unit = read_text(object, "unit", what);
  q.source = read_text(object, "source", what);
  q.kind = read_text(object, "kind", what);
  if (q.unit != field.unit) fail(what, ": unit is '", q.unit, "', must be '", field.unit, "'");
  if (q.kind != "datasheet" && q.kind != "published" && q.kind != "measured")
    fail(what, ": kind is '", q.kind, "', must be datasheet, published or measured");
  if (field.whole && q.value != std::floor(q.value)) fail(what, ": value is ", q.value, ", must be a whole number");
  if (q.value > field.most) fail(what, ": value is ", q.value, ", must be at most ", field.most);
  if (object.contains("clock")) q.clock = read_positive(object, "clock", what);
  if (object.contains("spread")) {
    if (!object["spread"].is_number() || object["spread"].get<double>() < 0)
      fail(what, ": 'spread' is ", object["spread"].dump(), ", must be a number from 0 on");
    q.spread = object["spread"].get<double>();
  }
  if (object.contains("ceiling")) {
    q.ceiling = read_positive(object, "ceiling", what);
    q.ceiling_source = read_text(object, "ceiling_source", what);
    if (q.value > *q.ceiling)
      fail(what, ": ", q.kind, " value ", q.value, " ", q.unit, " is above its ceiling ", *q.ceiling, " (",
           q.ceiling_source, ")");
  } else if (is_rate(field) && q.kind != "datasheet") {
    fail(what, ": a ", q.kind, " rate needs a 'ceiling' to be judged by");
  }
  return q;
}

Quantity derive_sram_bandwidth(const HardwareProfile& profile) {
  constexpr double kBytesPerClock = 128;
  Quantity q;
  q.value = kBytesPerClock * profile.sms.value * profile.clock.value * 1e6 / 1e12;
  q.unit = "TB/s";
  q.kind = profile.clock.kind;
  q.clock = profile.clock.value;
  std::ostringstream source;
  source << "derived: " << kBytesPerClock << " bytes a clock an SM x " << profile.sms.value << " SMs x "
         << profile.clock.value << " MHz";
  q.source = source.str();
  return q;
}

}  // namespace

double at_load_clock(const Quantity& rate, const HardwareProfile& profile) {
  return rate.value * (rate.clock && profile.load_clock ? profile.load_clock->value / *rate.clock : 1);
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const EmbeddedProfile& profile : kEmbedded) names.emplace_back(profile.name);
  std::sort(names.begin(), names.end());
  return names;
}

HardwareProfile load_profile(std::string_view name_or_path) {
  if (has_ending(name_or_path, ".json")) {
    std::ifstream file{std::string(name_or_path)};
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) fail("profile ", name_or_path, ": cannot be read");
    return parse_profile(text.str(), name_or_path);
  }
  for (const EmbeddedProfile& profile : kEmbedded)
    if (profile.name == name_or_path) return parse_profile(profile.text, name_or_path);
  std::string known;
  for (const std::string& name : profile_names()) known += (known.empty() ? "" : ", ") + name;
  fail("profile '", name_or_path, "': unknown, must be one of ", known, " or a path that ends in .json",
       did_you_mean(name_or_path, profile_names()));
}

HardwareProfile parse_profile(std::string_view text, std::string_view origin) {
  const std::string what = "profile " + std::string(origin);
  const json file = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object()) fail(what, ": is no JSON object");
  refuse_unknown(file, {"name", "device", "numbers", "notes"}, what);

  HardwareProfile profile;
  profile.name = read_text(file, "name", what);
  profile.device = read_text(file, "device", what);
  if (file.contains("notes")) {
    if (!file["notes"].is_array()) fail(what, ": 'notes' is ", file["notes"].dump(), ", must be a list of texts");
    for (const json& note : file["notes"]) {
      if (!note.is_string()) fail(what, ": note ", note.dump(), " must be a text");
      profile.notes.push_back(note);
    }
  }
  if (!file.contains("numbers") || !file["numbers"].is_object())
    fail(what, ": 'numbers' is missing, must be an object");
  const json& numbers = file["numbers"];
  for (const auto& item : numbers.items())
    if (std::none_of(std::begin(kFields), std::end(kFields), [&](const Field& f) { return f.key == item.key(); }))
      fail(what, ": unknown number '", item.key(), "'");

  for (const Field& field : kFields) {
    const std::string key(field.key);
    const bool present = numbers.contains(key);
    if (present) {
      const Quantity quantity = read_quantity(numbers[key], field, what + ": " + key);
      if (field.required)
        profile.*field.required = quantity;
      else
        profile.*field.optional = quantity;
    } else if (field.required && key != kSramBandwidth) {
      fail(what, ": '", key, "' is missing");
    }
  }
  if (!numbers.contains(std::string(kSramBandwidth))) profile.sram_bandwidth = derive_sram_bandwidth(profile);
  return profile;
}

}  // namespace danaus
