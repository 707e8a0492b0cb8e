#include "experiments/verify/bits.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>
#include <span>
#include <vector>

#include "experiments/methods/execution.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/device/halves.hpp"
#include "kernels/plan/forwarding_machine.hpp"
#include "kernels/plan/plan.hpp"
#include "kernels/plan/selftest.hpp"
#include "reference/convolution/mask.hpp"

namespace danaus {
namespace {

struct LaunchBits {
  std::string words;
  std::uint64_t digest;  // of all memory that it may write, when it is over
};

// A machine whose memory begins as NaN, and that looks at it after each launch.
class Watched final : public ForwardingMachine {
 public:
  Watched(std::shared_ptr<const Machine> machine, std::vector<LaunchBits>& launches)
      : ForwardingMachine(std::move(machine)), launches_(launches) {}

  std::shared_ptr<void> allocate(std::int64_t bytes) const override {
    auto memory = ForwardingMachine::allocate(bytes);
    const std::vector<std::byte> poison(static_cast<std::size_t>(bytes), std::byte{0xff});
    copy_from_host(memory.get(), poison.data(), bytes);
    return memory;
  }
  void launch(const Launch& launch, Stream stream) const override {
    ForwardingMachine::launch(launch, stream);
    synchronize();
    std::uint64_t digest = kNoDigest;
    for (const Region& region : std::span(launch.regions).first(static_cast<std::size_t>(launch.region_count))) {
      if (!region.written) continue;
      std::vector<std::byte> bytes(static_cast<std::size_t>(region.bytes));
      copy_to_host(bytes.data(), region.data, region.bytes);
      digest = digest_of(bytes, digest);
    }
    launches_.push_back({text(launch.kernel.family, ' ', launch.kernel.line, '.', launch.kernel.instance, ", ",
                              launch.blocks, " blocks, of ", launch.description),
                         digest});
  }

 private:
  std::vector<LaunchBits>& launches_;
};

struct TracedRun {
  std::vector<std::vector<std::byte>> outputs;
  std::vector<LaunchBits> launches;
};

TracedRun traced_run(const Case& asked, const Values& values, const std::shared_ptr<const Machine>& on) {
  TracedRun done;
  const auto machine = std::make_shared<Watched>(on, done.launches);
  Plan plan(asked, machine, marks_of(asked));
  std::vector<std::shared_ptr<void>> memory;
  std::vector<Buffer> filters, others, outputs;
  for (const Array& array : asked.arrays()) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(array.size()) * danaus::bytes(array.dtype), std::byte{0xff});
    if (array.role != Role::output) bytes = host::encode_bytes(array.dtype, values.find(array.name)->second);
    memory.push_back(machine->upload(bytes.data(), std::ssize(bytes)));
    const Buffer buffer(array.name, memory.back().get(), bytes.size());
    (array.role == Role::filter ? filters : others).push_back(buffer);
    if (array.role == Role::output) outputs.push_back(buffer);
  }
  plan.prepare(filters);
  plan.execute(others);
  machine->synchronize();
  for (const Buffer& output : outputs) {
    done.outputs.emplace_back(output.bytes);
    machine->copy_to_host(done.outputs.back().data(), output.data, static_cast<std::int64_t>(output.bytes));
  }
  return done;
}

// Of a number of so many bytes, as a place on the line of all numbers of its type: neighbours are 1 apart, both zeros
// 0.
std::int64_t place_of(std::span<const std::byte> number) {
  std::uint32_t word = 0;
  std::memcpy(&word, number.data(), number.size());
  const std::uint32_t sign = 1u << (8 * number.size() - 1);
  return word & sign ? -static_cast<std::int64_t>(word & ~sign) : static_cast<std::int64_t>(word);
}

Json number_of(double value) { return std::isfinite(value) ? Json(value) : Json(text(value)); }

}  // namespace

std::shared_ptr<const Machine> executor_like(const Device& device, std::int64_t whole_blocks) {
  ExecutorOptions options{.device = device, .whole_blocks = whole_blocks};
  options.device.name = "executor (" + device.name + ")";
  return executor_machine(options);
}

Json compared_bits(const Case& asked, const Values& values, const std::shared_ptr<const Machine>& device,
                   const std::shared_ptr<const Machine>& executor) {
  const TracedRun there = traced_run(asked, values, device), here = traced_run(asked, values, executor);
  std::int64_t numbers = 0, differing = 0;
  Json first;
  std::size_t output = 0;
  for (const Array& array : asked.arrays()) {
    if (array.role != Role::output) continue;
    const std::span a(there.outputs[output]), b(here.outputs[output]);
    ++output;
    const auto size = static_cast<std::size_t>(bytes(array.dtype));
    for (std::int64_t i = 0; i < array.size(); ++i) {
      const auto of = [&](auto all) { return all.subspan(static_cast<std::size_t>(i) * size, size); };
      ++numbers;
      if (std::ranges::equal(of(a), of(b))) continue;
      ++differing;
      if (!first.is_null()) continue;
      const std::int64_t samples = array.extents.back();
      first = {{"output", array.name},
               {"row", i / samples},
               {"sample", i % samples},
               {"on_device", number_of(decoded_bytes(array.dtype, of(a))[0])},
               {"on_executor", number_of(decoded_bytes(array.dtype, of(b))[0])},
               {"ulps", std::abs(place_of(of(a)) - place_of(of(b)))}};
    }
  }
  Json fields = {{"status", differing == 0 ? "same" : "different"}, {"numbers", numbers}};
  if (differing == 0) return fields;
  fields["differing"] = differing, fields["first"] = first;
  std::size_t launch = 0;
  const std::size_t common = std::min(there.launches.size(), here.launches.size());
  while (launch < common && there.launches[launch].digest == here.launches[launch].digest) ++launch;
  if (launch == common) {
    fields["launch"] = text(there.launches.size(), " launches, and ", here.launches.size(), " of the executor");
    return fields;
  }
  const std::string words = there.launches[launch].words, of_executor = here.launches[launch].words;
  fields["launch"] = text(launch + 1, " of ", there.launches.size(), ": ", words,
                          words == of_executor ? "" : "; the executor's: " + of_executor);
  return fields;
}

Json bits_of(const Trial& trial) {
  if (trial.data.data == DataKind::recording) return {{"status", "skipped"}, {"reason", "recorded data"}};
  const Values values = make_values(trial.asked, trial.data);
  const auto machine = trial.method.machine();
  return compared_bits(trial.asked, values, machine, executor_like(machine->device()));
}

void BitVerdicts::add(const Json& row) {
  const auto bits = row.find("bits");
  if (bits == row.end()) return;
  same_ += bits->at("status") == "same";
  if (bits->at("status") != "different" || different_++ > 0) return;
  const Json& first = bits->at("first");
  first_ = text(row.at("case").get<std::string>(), ": ", bits->at("differing"), " of ", bits->at("numbers"),
                " numbers differ, the first ", first.at("output").get<std::string>(), " row ", first.at("row"),
                " sample ", first.at("sample"), " (", first.at("on_device"), " for ", first.at("on_executor"), ", ",
                first.at("ulps"), " ulps), from launch ", bits->at("launch").get<std::string>());
}

void BitVerdicts::print(std::ostream& out) const {
  out << "\nbits: " << same_ << " rows are the executor's in every bit, " << different_ << " are not\n";
  if (different_ > 0) out << first_ << '\n';
}

}  // namespace danaus
