#include "experiments/predict/measured_kernels.hpp"

#include <algorithm>
#include <fstream>

#include "experiments/cli/table.hpp"
#include "experiments/code/row_code.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/io/result_file.hpp"
#include "kernels/cpu/program_work.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/chunks.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/plan.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/convolution/mask.hpp"

namespace danaus {
namespace {

// Whether a value is of a type, which is "a ..." in words.
template <class T>
struct Type;
template <>
struct Type<std::string> {
  static constexpr const char* kName = "a string";
  static bool has(const Json& value) { return value.is_string(); }
};
template <>
struct Type<double> {
  static constexpr const char* kName = "a number";
  static bool has(const Json& value) { return value.is_number(); }
};
template <>
struct Type<int> {
  static constexpr const char* kName = "a whole number";
  static bool has(const Json& value) { return value.is_number_integer(); }
};
template <>
struct Type<std::vector<std::string>> {
  static constexpr const char* kName = "a list of strings";
  static bool has(const Json& value) {
    return value.is_array() && std::all_of(value.begin(), value.end(), Type<std::string>::has);
  }
};

// A line of a result file.
struct Line {
  std::string where;
  Json row;

  // The field at a JSON pointer; nothing where it is absent or null. Throws where it is of another type.
  template <class T>
  std::optional<T> find(const char* pointer) const {
    const Json::json_pointer path(pointer);
    if (!row.contains(path) || row.at(path).is_null()) return std::nullopt;
    const Json& value = row.at(path);
    if (!Type<T>::has(value)) fail("model: ", where, ": ", pointer, " is ", value.dump(), ", must be ", Type<T>::kName);
    return value.get<T>();
  }
  template <class T>
  T get(const char* pointer) const {
    const std::optional<T> found = find<T>(pointer);
    if (!found) fail("model: ", where, ": lacks ", pointer, ", ", Type<T>::kName);
    return *found;
  }
};

Case asked_by(const Line& line) {
  const auto token = line.get<std::string>("/case");
  try {
    return parse_case(token);
  } catch (const std::invalid_argument& error) {
    fail("model: ", line.where, ": ", error.what());
  }
}

const Variant* kernel_named(std::string_view name) {
  for (const auto& list : {variants(), sparse_variants(), filtered_variants()})
    for (const auto& v : list)
      if (v->name == name) return v.get();
  return nullptr;
}

// Whether a row names kernels that compute a convolution together.
bool is_of_several_launches(const Line& line) {
  const auto name = line.get<std::string>("/variant");
  const auto has_name = [&](const auto& v) { return v->name == name; };
  return std::ranges::any_of(long_variants(), has_name) || std::ranges::any_of(chunk_variants(), has_name);
}

// The kernel that a row names. Throws where a row names one that could not have computed its case.
const Variant* kernel_of(const Line& line, const Convolution& asked) {
  const auto name = line.get<std::string>("/variant");
  const Variant* const found = kernel_named(name);
  if (!found) return nullptr;
  const Variant& v = *found;
  const bool gated = asked.pregate || asked.postgate;
  if (v.dtype != asked.dtype || v.gated != gated || (!asked.factors.empty() && v.factors != asked.factors))
    fail("model: ", line.where, ": /variant is ", name, ", which does not compute ", token(asked));
  return &v;
}

// What a plan is asked for so that it takes this kernel; nothing where it takes another one whatever it is asked.
std::optional<Convolution> asking_for(const Variant& variant, const Convolution& asked, const Device& device) {
  const Convolution problem = planned(asked, variant);
  return has_kernel(problem, device) && &choose(problem, device, marks_of(problem)) == &variant ? std::optional(problem)
                                                                                                : std::nullopt;
}

bool is_stale(const Line& line) {
  line.get<std::string>("/code"), line.get<int>("/device/sm");
  return standing_of(line.row) == Standing::stale;
}

MeasuredKernel measured_kernel(const Line& line, double us, const Case& asked, const Case& counted,
                               const Variant* variant) {
  if (!(us > 0)) fail("model: ", line.where, ": a median of ", us, " us, must be positive");
  const Convolution* convolution = asked.as<Convolution>();
  return {line.get<std::string>("/case"),
          line.get<std::string>("/variant"),
          counted,
          variant ? *counted.as<Convolution>() : Convolution(),
          variant,
          convolution && !convolution->factors.empty(),
          us,
          line.find<double>("/time_us/burst_cold/clock_mhz"),
          line.find<double>("/filter_us/median"),
          line.find<double>("/call_us/graph/median"),
          is_stale(line),
          line.find<std::vector<std::string>>("/notes").value_or(std::vector<std::string>())};
}

// Name of the GPU, with which a profile's words about its device begin.
std::string gpu_of(const HardwareProfile& profile) {
  return profile.device.substr(0, profile.device.find_first_of(",;"));
}

void require_device(const Line& line, const HardwareProfile& profile) {
  const auto name = line.get<std::string>("/device/name");
  const int multiprocessors = line.get<int>("/device/multiprocessors");
  if (name != gpu_of(profile))
    fail("model: ", line.where, ": measured on ", name, ", profile ", profile.name, " is of ", gpu_of(profile),
         "; predict one device at a time, by its own profile");
  if (multiprocessors != profile.sms.value)
    fail("model: ", line.where, ": measured on ", name, " with ", multiprocessors, " multiprocessors, profile ",
         profile.name, " has ", profile.sms.value);
}

// Calls visit(line, us, case) for each row that counts.
template <class Visit>
void read_files(const std::vector<std::string>& paths, const HardwareProfile& profile, const Visit& visit) {
  for (const std::string& path : paths) {
    std::ifstream file(path);
    if (!file) fail("model: cannot read ", path);
    std::string text_of_line;
    for (int number = 1; std::getline(file, text_of_line); ++number) {
      const Line line{text(path, ", line ", number), Json::parse(text_of_line, nullptr, false)};
      if (!line.row.is_object() || line.row.value("schema", Json()) != kSchema ||
          line.row.value("kind", Json()) != "bench")
        fail("model: ", line.where, ": is no row of danaus bench");
      const bool passed = line.get<std::string>("/verify/status") == "passed";
      const auto us = line.find<double>("/time_us/burst_cold/median");
      if (line.get<std::string>("/method") != "kernel" || !passed || !us) continue;
      require_device(line, profile);
      visit(line, *us, asked_by(line));
    }
  }
}

// What a plan computes a row's case by, where that is no convolution in one launch and has the kernel that the row
// names.
std::optional<MeasuredKernel> of_program(const Line& line, double us, const Case& asked, const Device& device,
                                         MeasuredKernels& measured) {
  if (!is_counted(asked, device)) {
    ++measured.without_kernel;
    return std::nullopt;
  }
  if (measure_program(asked, device).variant != line.get<std::string>("/variant")) {
    ++measured.of_other_kernel;
    return std::nullopt;
  }
  return measured_kernel(line, us, asked, asked, nullptr);
}

std::optional<MeasuredKernel> of_one_launch(const Line& line, double us, const Convolution& asked, const Device& device,
                                            MeasuredKernels& measured) {
  const Variant* variant = kernel_of(line, asked);
  const auto problem = variant ? asking_for(*variant, asked, device) : std::nullopt;
  if (problem) return measured_kernel(line, us, asked, *problem, variant);
  ++(variant && variant->compiled ? measured.of_other_kernel : measured.without_kernel);
  return std::nullopt;
}

void add(MeasuredKernels& measured, const Line& line, double us, const Case& any, const Device& device) {
  const Convolution* asked = any.as<Convolution>();
  const auto found = asked && !is_of_several_launches(line) ? of_one_launch(line, us, *asked, device, measured)
                                                            : of_program(line, us, any, device, measured);
  if (!found) return;
  const MeasuredKernel& kernel = *found;
  const auto again = std::find_if(measured.kernels.begin(), measured.kernels.end(),
                                  [&](const MeasuredKernel& known) { return known.token == kernel.token; });
  if (again == measured.kernels.end())
    measured.kernels.push_back(kernel);
  else
    *again = kernel;
}

}  // namespace

MeasuredKernels read_measured_kernels(const std::vector<std::string>& paths, const HardwareProfile& profile) {
  MeasuredKernels measured;
  measured.device = gpu_of(profile);
  const Device device = imitation(profile);
  read_files(paths, profile,
             [&](const Line& line, double us, const Case& any) { add(measured, line, us, any, device); });
  if (measured.kernels.empty())
    fail("model: ", join(paths),
         measured.without_kernel + measured.of_other_kernel > 0 ? ": rows of kernels that this build has not"
                                                                : ": no kernel that passed and was timed");
  return measured;
}

std::map<std::string, double> read_measured_times(const std::vector<std::string>& paths,
                                                  const HardwareProfile& profile) {
  std::map<std::string, double> times;
  read_files(paths, profile, [&](const Line& line, double us, const Case& any) {
    if (any.as<Convolution>()) times[line.get<std::string>("/case")] = us;
  });
  if (times.empty()) fail("model: ", join(paths), ": no kernel that passed and was timed");
  return times;
}

}  // namespace danaus
