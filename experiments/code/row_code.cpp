#include "experiments/code/row_code.hpp"

#include <algorithm>

#include "experiments/code/machine_code.hpp"
#include "experiments/operations/study.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/program_work.hpp"
#include "kernels/plan/named_kernel.hpp"

namespace danaus {
namespace {

// The launches of a plan, in words without what depends on names and places.
Code code_of_plan(const Case& asked, const Device& device) {
  std::string machine, sources;
  bool known = true;
  visit_launches(asked, device, [&](const Launch& launch, std::span<const std::uint32_t> constants) {
    const std::string bytes(reinterpret_cast<const char*>(constants.data()), constants.size_bytes());
    const std::string given = text(' ', launch.blocks, ' ', launch.threads, ' ', launch.shared_bytes, ' ',
                                   launch.cluster, ' ', launch.overlapping, ' ', digest_of(bytes), '\n');
    const KernelId& kernel = launch.kernel;
    const auto compiled = machine_code().of(kernel, launch.path, device.sm);
    const std::string digest = compiled ? compiled->digest : "";
    known = known && !digest.empty();
    machine += digest + given;
    sources +=
        text(sources_of_family(kernel.family), ' ', kernel.line, '.', kernel.instance, '.', int(launch.path), given);
  });
  return {known ? digest_of(machine) : "", digest_of(sources)};
}

}  // namespace

std::string Code::words(std::string_view compiler) const {
  const bool known = !machine.empty() && (machine == sources || machine_code().is_made_by(compiler));
  return known ? machine : "sources:" + sources;
}

std::string Code::words() const {
  if (DANAUS_CUDA_PARTS != std::string_view("none")) return words(compiler_in_words());
  return machine.empty() ? "sources:" + sources : machine;
}

Code code_of(const Method& method, const Case& asked, const Device& device) try {
  if (method.runs_plan) return code_of_plan(method.by(method, asked, device), device);
  const std::string code = code_of_baseline(method.name);
  return {code, code};
} catch (const std::invalid_argument&) {
  return {"no kernel", "no kernel"};
}

Code code_of_families(const std::set<std::string>& families, int sm) {
  std::string sources;
  for (const std::string& family : families) sources += sources_of_family(family);
  return {machine_code().of(families, sm).value_or(""), digest_of(sources)};
}

Code code_of_operation(std::string_view word, const Device& device) {
  if (device.name == Device().name) return {kRevision.kernels, kRevision.kernels};
  const StudiedOperation* operation = find_studied_operation(word);
  if (!operation) return {"no kernel", "no kernel"};
  return code_of_families(operation->families(), device.sm);
}

Code code_of_all_kernels(const Device& device) {
  if (device.name == Device().name) return {kRevision.kernels, kRevision.kernels};
  std::set<std::string> families;
  for (const KernelId& kernel : host_kernels()) families.emplace(kernel.family);
  return code_of_families(families, device.sm);
}

Device device_of(const Json& fields) {
  Device device;
  device.name = fields.at("name"), device.sm = fields.at("sm"), device.multiprocessors = fields.at("multiprocessors");
  device.cache_bytes = fields.value("l2_bytes", device.cache_bytes);
  const bool has_most = device.sm >= 90 && device.sm < 120, has_least = !has_most && device.sm % 10 != 0;
  device.block_bytes = kDeviceClasses[has_most ? 0 : has_least ? 2 : 1].block_bytes;
  return device;
}

std::optional<Code> code_of(const Json& row) {
  const std::string kind = row.at("kind");
  if (!row.contains("code") || kind == "forecast") return std::nullopt;
  const Device device = device_of(row.at("device"));
  if (kind == "check") return code_of_all_kernels(device);
  if (kind == "random") return code_of_operation(row.value("operation", "fftconv"), device);
  std::optional<NamedKernel> named;
  if (row.contains("asked_kernel")) try {
      named.emplace(row.at("asked_kernel").get<std::string>());
    } catch (const std::invalid_argument&) {
      return Code{"no kernel", "no kernel"};
    }
  if (kind == "decode") return code_of_families(row.at("families").get<std::set<std::string>>(), device.sm);
  return code_of(timed_method(row.at("method").get<std::string>(), "rows: method"),
                 parse_case(row.at("case").get<std::string>()), device);
}

Standing standing_of(const Json& row, const Code& now) {
  if (row.value("stopwatch", kRevision.stopwatch) != kRevision.stopwatch) return Standing::stale;
  const std::string said = row.at("code");
  if (said == now.machine || said == "sources:" + now.sources) return Standing::current;
  return now.machine.empty() && !said.starts_with("sources:") ? Standing::unknown : Standing::stale;
}

std::optional<Standing> standing_of(const Json& row) {
  const std::optional<Code> now = code_of(row);
  return now ? std::optional(standing_of(row, *now)) : std::nullopt;
}

}  // namespace danaus
