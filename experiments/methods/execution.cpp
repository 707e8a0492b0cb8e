#include "experiments/methods/execution.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/machine.hpp"
#include "kernels/device/halves.hpp"
#include "kernels/plan/plan.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/convolution/terms.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

constexpr std::byte kPoison{0xff};  // NaN in every type
constexpr std::int64_t kGuard = 256;

// Memory of the machine between guards, which say when something beside it was written.
class GuardedMemory {
 public:
  GuardedMemory(const Machine& machine, std::string name, std::int64_t bytes, std::int64_t offset = 0)
      : machine_(machine),
        name_(std::move(name)),
        begin_(kGuard + offset),
        size_(bytes),
        bytes_(begin_ + size_ + kGuard, kPoison) {}
  std::span<std::byte> contents() { return std::span(bytes_).subspan(begin_, size_); }
  void upload() { memory_ = machine_.upload(bytes_.data(), std::ssize(bytes_)); }
  std::byte* data() const { return static_cast<std::byte*>(memory_.get()) + begin_; }
  std::int64_t size() const { return size_; }
  // What is in the contents then; or what was written that may not be.
  std::string fetch(bool is_written) {
    const std::vector<std::byte> before = bytes_;
    machine_.copy_to_host(bytes_.data(), memory_.get(), std::ssize(bytes_));
    const auto same = [&](std::int64_t first, std::int64_t last) {
      return std::equal(bytes_.begin() + first, bytes_.begin() + last, before.begin() + first);
    };
    if (!same(0, begin_) || !same(begin_ + size_, std::ssize(bytes_)))
      return text("memory beside ", name_, " was written");
    return is_written || same(begin_, begin_ + size_) ? "" : text(name_, " was written");
  }

 private:
  const Machine& machine_;
  std::string name_;
  std::int64_t begin_, size_;
  std::vector<std::byte> bytes_;
  std::shared_ptr<void> memory_;
};

}  // namespace

std::vector<double> decoded_bytes(Dtype dtype, std::span<const std::byte> memory) {
  const std::size_t count = memory.size() / static_cast<std::size_t>(bytes(dtype));
  if (dtype == Dtype::f32) {
    std::vector<float> values(count);
    std::memcpy(values.data(), memory.data(), memory.size());
    return {values.begin(), values.end()};
  }
  std::vector<std::uint16_t> bits(count);
  std::memcpy(bits.data(), memory.data(), memory.size());
  return host::decode(dtype, bits);
}

Values make_values(const Case& asked, const DataSpec& spec) {
  const Convolution* p = convolution_of(asked);
  if (!p) {
    if (spec.data != DataKind::gaussian || spec.filter != FilterKind::random || spec.scale != 1)
      fail("verify: ", asked.token(), " has Gaussian data alone; leave --data, --filter and --scale out");
    return make_values(asked, spec.seed);
  }
  Values values;
  if (!asked.as<Convolution>()) values = make_values(asked, spec.seed);  // dy
  for (auto& [name, numbers] : values_of(make_inputs(*p, spec))) values[name] = std::move(numbers);
  return values;
}

Execution execute(const Case& asked, const Values& values, const std::shared_ptr<const Machine>& machine,
                  std::span<const int> offsets) {
  const std::vector<Array> arrays = asked.arrays();
  std::vector<GuardedMemory> memory;
  std::vector<Buffer> filters, others;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array& array = arrays[i];
    const bool is_filter = array.role == Role::filter;
    const std::int64_t offset = is_filter || offsets.empty() ? 0 : offsets[i];
    GuardedMemory& of_array = memory.emplace_back(*machine, std::string(array.name), bytes(array.dtype) * array.size(),
                                                  bytes(array.dtype) * offset);
    if (array.role != Role::output)
      std::ranges::copy(host::encode_bytes(array.dtype, values.find(array.name)->second), of_array.contents().begin());
    of_array.upload();
    (is_filter ? filters : others).emplace_back(array.name, of_array.data(), static_cast<std::size_t>(of_array.size()));
  }
  Plan plan(asked, machine, marks_of(asked));
  GuardedMemory prepared(*machine, "the prepared filters", plan.prepared_bytes());
  GuardedMemory workspace(*machine, "the workspace", plan.workspace_bytes(0));
  prepared.upload(), workspace.upload();
  CallOptions options;
  options.prepared = prepared.data(), options.prepared_bytes = static_cast<std::size_t>(prepared.size());
  options.workspace = workspace.data(), options.workspace_bytes = static_cast<std::size_t>(workspace.size());
  plan.prepare(filters, options);
  plan.execute(others, options);
  machine->synchronize();
  Execution done;
  const auto fetch = [&](GuardedMemory& from, bool is_written) {
    const std::string violation = from.fetch(is_written);
    if (done.violation.empty()) done.violation = violation;
  };
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array& array = arrays[i];
    const bool is_output = array.role == Role::output;
    fetch(memory[i], is_output);
    if (!is_output) continue;
    done.outputs[std::string(array.name)] = decoded_bytes(array.dtype, memory[i].contents());
    auto known = known_numbers(*machine, memory[i].data(), array.size(), bytes(array.dtype));
    if (!known.empty()) done.known[std::string(array.name)] = std::move(known);
  }
  fetch(prepared, true), fetch(workspace, true);
  return done;
}

bool has_plan(const Case& asked, const std::shared_ptr<const Machine>& machine) {
  try {
    Plan(asked, machine, marks_of(asked));
    return true;
  } catch (const std::logic_error&) {  // what the build has not is no bad input to the executor
    return false;
  }
}

std::string planned_mask(const Case& asked, const Device& device) {
  return make_program(asked, device, marks_of(asked)).live_words;
}

std::vector<int> planned_factors(const Case& asked, const Device& device) {
  return make_program(asked, device, marks_of(asked)).variant->factors;
}

}  // namespace danaus
