#include "experiments/methods/execution.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/machine.hpp"
#include "kernels/device/halves.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/plan.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/convolution/terms.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

constexpr std::byte kPoison{0xff};  // NaN in every type
constexpr std::int64_t kGuard = 256;

// Where the numbers of an array stand in memory, one after the other or as rows [B, H, L] with strides.
class NumberPlaces {
 public:
  NumberPlaces(const Array& array, const RowStrides& strides) : count_(array.size()), strides_(strides) {
    if (strides == RowStrides{}) return;
    channels_ = array.extents[1], length_ = array.extents[2];
    reach_ = reach_of(strides, array.extents[0], channels_, length_) / 2;
  }
  std::int64_t reach() const { return strides_ == RowStrides{} ? count_ : reach_; }
  std::int64_t operator()(std::int64_t number) const {
    if (strides_ == RowStrides{}) return number;
    const std::int64_t row = number / length_;
    return row / channels_ * strides_.row + row % channels_ * strides_.channel + number % length_;
  }
  std::int64_t count() const { return count_; }
  // So many follow one another.
  std::int64_t run() const { return strides_ == RowStrides{} ? count_ : length_; }

 private:
  std::int64_t count_;
  RowStrides strides_;
  std::int64_t channels_ = 1, length_ = 1, reach_ = 0;
};

// Memory of the machine between guards, which say when something beside it was written.
class GuardedMemory {
 public:
  GuardedMemory(const Machine& machine, std::string name, std::int64_t bytes, std::int64_t offset = 0)
      : machine_(machine),
        name_(std::move(name)),
        begin_(kGuard + offset),
        size_(bytes),
        bytes_(begin_ + size_ + kGuard, kPoison) {}
  void put(const NumberPlaces& places, int number_bytes, std::span<const std::byte> numbers) {
    for (std::int64_t i = 0; i < places.count(); i += places.run())
      std::ranges::copy(numbers.subspan(i * number_bytes, places.run() * number_bytes),
                        run_at(places, i, number_bytes).begin());
  }
  // Takes the numbers out, so that what is left is poison where nothing else was written.
  std::vector<std::byte> take(const NumberPlaces& places, int number_bytes) {
    std::vector<std::byte> numbers(places.count() * number_bytes);
    for (std::int64_t i = 0; i < places.count(); i += places.run()) {
      const std::span<std::byte> from = run_at(places, i, number_bytes);
      std::ranges::copy(from, numbers.begin() + i * number_bytes);
      std::ranges::fill(from, kPoison);
    }
    return numbers;
  }
  bool is_poison() const {
    return std::ranges::all_of(std::span(bytes_).subspan(begin_, size_), [](std::byte b) { return b == kPoison; });
  }
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
  std::span<std::byte> run_at(const NumberPlaces& places, std::int64_t number, int number_bytes) {
    return std::span(bytes_).subspan(begin_ + places(number) * number_bytes, places.run() * number_bytes);
  }

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
                  std::span<const int> offsets, std::span<const RowStrides> strides) {
  const std::vector<Array> arrays = asked.arrays();
  std::vector<GuardedMemory> memory;
  std::vector<NumberPlaces> places;
  std::vector<Buffer> filters, others;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array& array = arrays[i];
    const bool is_filter = array.role == Role::filter;
    const std::int64_t offset = is_filter || offsets.empty() ? 0 : offsets[i];
    const RowStrides of_rows = strides.empty() ? RowStrides{} : strides[i];
    places.emplace_back(array, of_rows);
    GuardedMemory& of_array = memory.emplace_back(*machine, std::string(array.name),
                                                  bytes(array.dtype) * places[i].reach(), bytes(array.dtype) * offset);
    if (array.role != Role::output)
      of_array.put(places[i], static_cast<int>(bytes(array.dtype)),
                   host::encode_bytes(array.dtype, values.find(array.name)->second));
    of_array.upload();
    (is_filter ? filters : others)
        .emplace_back(array.name, of_array.data(), static_cast<std::size_t>(of_array.size()), of_rows);
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
    const std::vector<bool> known =
        known_numbers(*machine, memory[i].data(), places[i].reach(), static_cast<int>(bytes(array.dtype)));
    std::vector<bool> known_in_order;
    for (std::int64_t number = 0; !known.empty() && number < array.size(); ++number)
      known_in_order.push_back(known[places[i](number)]);
    if (!known.empty()) done.known[std::string(array.name)] = std::move(known_in_order);
    done.outputs[std::string(array.name)] =
        decoded_bytes(array.dtype, memory[i].take(places[i], static_cast<int>(bytes(array.dtype))));
    if (done.violation.empty() && !memory[i].is_poison())
      done.violation = text("memory between rows of ", array.name, " was written");
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
