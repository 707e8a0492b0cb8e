#include "experiments/bench/parts.hpp"

#include <algorithm>
#include <set>

#include "kernels/plan/program.hpp"

namespace danaus {
namespace {

// The output that some of these launches write.
std::string output_of(const std::vector<Launch>& launches, const std::vector<Array>& arrays, const DeviceArrays& at) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].role != Role::output) continue;
    const auto* const begin = static_cast<const std::byte*>(at[i]);
    const std::int64_t size = bytes(arrays[i].dtype) * arrays[i].size();
    for (const Launch& launch : launches)
      for (const Region& region : std::span(launch.regions).first(launch.region_count)) {
        const std::int64_t place = static_cast<const std::byte*>(region.data) - begin;
        if (region.written && place >= 0 && place < size) return std::string(arrays[i].name);
      }
  }
  throw std::logic_error("parts: a step writes no output");
}

// One for each family, in the order in which they first come.
std::vector<Part> by_family(const std::string& name, const std::vector<Launch>& launches) {
  std::vector<Part> parts;
  for (const Launch& launch : launches) {
    const std::string of_family = name + ' ' + std::string(launch.kernel.family);
    auto part = std::ranges::find(parts, of_family, &Part::name);
    if (part == parts.end()) part = parts.insert(parts.end(), {of_family, {}});
    part->launches.push_back(launch);
  }
  if (parts.size() == 1) parts.front().name = name;
  return parts;
}

}  // namespace

Parts::Parts(const Case& asked, std::shared_ptr<const Machine> machine)
    : machine_(std::move(machine)), arrays_(asked.arrays()) {
  Program program = make_program(asked, machine_->device());
  if (!program.variant->compiled) fail("parts: this build has not the kernel ", program.variant->name);
  for (const Array& array : arrays_)
    if (array.batched) batch_ = array.extents.front();
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
  for (const Bound& each : execute_) {
    const std::vector<Launch> launches = launches_of(each);
    std::ranges::move(by_family(output_of(launches, arrays_, arrays), launches), std::back_inserter(parts));
  }
  return parts;
}

}  // namespace danaus
