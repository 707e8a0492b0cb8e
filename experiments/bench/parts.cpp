#include "experiments/bench/parts.hpp"

#include <algorithm>
#include <set>

#include "kernels/plan/arrays.hpp"
#include "kernels/plan/program.hpp"

namespace danaus {
namespace {

// The outputs that some of these launches write, as one word.
std::string outputs_of(std::span<const Launch> launches, const std::vector<Array>& arrays, const DeviceArrays& at) {
  std::string words;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].role != Role::output) continue;
    const auto* const begin = static_cast<const std::byte*>(at[i]);
    const std::int64_t size = bytes(arrays[i].dtype) * arrays[i].size();
    const bool written = std::ranges::any_of(launches, [&](const Launch& launch) {
      return std::ranges::any_of(std::span(launch.regions).first(launch.region_count), [&](const Region& region) {
        const std::int64_t place = static_cast<const std::byte*>(region.data) - begin;
        return region.written && place >= 0 && place < size;
      });
    });
    if (written) words += (words.empty() ? "" : "+") + std::string(arrays[i].name);
  }
  return words;
}

// A step's, one for each family, in the order in which they first come; named by what they write, or where that is
// between launches by what the step does.
std::vector<Part> parts_of(const std::vector<Launch>& launches, const std::vector<Array>& arrays,
                           const DeviceArrays& at) {
  std::vector<Part> parts;
  for (const Launch& launch : launches) {
    const std::string family(launch.kernel.family);
    auto part = std::ranges::find(parts, family, &Part::name);
    if (part == parts.end()) part = parts.insert(parts.end(), {family, {}});
    part->launches.push_back(launch);
  }
  const std::string of_step = outputs_of(launches, arrays, at);
  if (of_step.empty()) throw std::logic_error("parts: a step writes no output");
  for (Part& part : parts) {
    const std::string own = outputs_of(part.launches, arrays, at);
    part.name = parts.size() == 1 ? of_step : (own.empty() ? of_step : own) + ' ' + part.name;
  }
  return parts;
}

}  // namespace

Parts::Parts(const Case& asked, std::shared_ptr<const Machine> machine)
    : machine_(std::move(machine)), arrays_(asked.arrays()), batch_(batch_of(arrays_)) {
  Program program = make_program(asked, machine_->device());
  if (!program.variant->compiled) fail("parts: this build has not the kernel ", program.variant->name);
  const auto take = [&](std::vector<std::unique_ptr<Step>>& steps, std::vector<Bound>& to) {
    for (auto& step : steps) {
      step->fit(*machine_);
      const std::vector<std::uint32_t> words = step->constants();
      to.push_back({std::move(step), machine_->upload(words.data(), 4 * std::ssize(words)), words.size()});
    }
  };
  take(program.prepare, prepare_), take(program.execute, execute_);
  std::int64_t needed = 0;
  for (const auto* steps : {&prepare_, &execute_})
    for (const Bound& each : *steps) needed = std::max(needed, each.step->workspace_bytes(batch_));
  prepared_ = machine_->allocate(program.prepared_bytes);
  if (needed > 0) workspace_ = machine_->allocate(needed);
}

std::vector<Part> Parts::bound_to(const DeviceArrays& arrays) const {
  const Call call{batch_, arrays, prepared_.get(), workspace_.get()};
  const auto launches_of = [&](const Bound& each) {
    std::vector<Launch> launches;
    const std::span words(static_cast<const std::uint32_t*>(each.constants.get()), each.words);
    each.step->bind(call, *machine_, words, [&](const Launch& launch) { launches.push_back(launch); });
    return launches;
  };
  std::vector<Part> parts(1);
  parts.front().name = "filter";
  for (const Bound& each : prepare_) std::ranges::move(launches_of(each), std::back_inserter(parts.front().launches));
  for (const Bound& each : execute_)
    std::ranges::move(parts_of(launches_of(each), arrays_, arrays), std::back_inserter(parts));
  return parts;
}

}  // namespace danaus
