#include "experiments/verify/execution.hpp"

#include <algorithm>
#include <cstring>

#include "experiments/operations/subject.hpp"
#include "kernels/device/halves.hpp"
#include "kernels/plan/plan.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

constexpr std::byte kPoison{0xff};  // NaN in every type
constexpr std::int64_t kGuard = 256;

// An array in memory of the machine, with guards around it.
class GuardedArray {
 public:
  GuardedArray(const Machine& machine, const Array& array, int offset)
      : machine_(machine),
        array_(array),
        begin_(kGuard + offset * bytes(array.dtype)),
        size_(bytes(array.dtype) * array.size()),
        words_(begin_ + size_ + kGuard, kPoison) {}
  void upload(const std::vector<double>& values) {
    std::ranges::copy(host::encode_bytes(array_.dtype, values), words_.begin() + begin_);
    upload();
  }
  void upload() { memory_ = machine_.upload(words_.data(), std::ssize(words_)); }
  Buffer buffer() const {
    return {array_.name, static_cast<std::byte*>(memory_.get()) + begin_, static_cast<std::size_t>(size_)};
  }
  // `guarded`: nothing beside it was written.
  std::vector<double> fetch(bool& guarded) {
    machine_.copy_to_host(words_.data(), memory_.get(), std::ssize(words_));
    const std::span all(words_);
    const auto untouched = [](std::span<const std::byte> part) {
      return std::ranges::all_of(part, [](std::byte b) { return b == kPoison; });
    };
    guarded = guarded && untouched(all.first(begin_)) && untouched(all.subspan(begin_ + size_));
    return decoded_bytes(array_.dtype, all.subspan(begin_, size_));
  }

 private:
  const Machine& machine_;
  Array array_;
  std::int64_t begin_, size_;
  std::vector<std::byte> words_;
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
  Values values = make_values(asked, spec.seed);  // dy, where the case has one
  Inputs inputs = make_inputs(*p, spec);
  values["u"] = std::move(inputs.u), values["k"] = std::move(inputs.k);
  if (p->pregate) values["pregate"] = std::move(inputs.pregate);
  if (p->postgate) values["postgate"] = std::move(inputs.postgate);
  return values;
}

Execution execute(const Case& asked, const Values& values, const std::shared_ptr<const Machine>& machine,
                  std::span<const int> offsets) {
  const std::vector<Array> arrays = asked.arrays();
  std::vector<GuardedArray> memory;
  std::vector<Buffer> filters, others;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const bool is_filter = arrays[i].role == Role::filter;
    GuardedArray& array = memory.emplace_back(*machine, arrays[i], is_filter || offsets.empty() ? 0 : offsets[i]);
    arrays[i].role == Role::output ? array.upload() : array.upload(values.find(arrays[i].name)->second);
    (is_filter ? filters : others).push_back(array.buffer());
  }
  Plan plan(asked, machine, marks_of(asked));
  plan.prepare(filters);
  plan.execute(others);
  machine->synchronize();
  Execution done{{}, true};
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].role == Role::output) done.outputs[std::string(arrays[i].name)] = memory[i].fetch(done.guarded);
  return done;
}

std::vector<OutputBound> output_bounds(const Case& asked, const Values& values, const Device& device) {
  const auto subject = subject_of(asked, "verify");
  return subject->bounds(values, *make_program(asked, device, marks_of(asked)).variant, device);
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
