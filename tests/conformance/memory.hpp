// The arrays of a case as a caller of a plan has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "experiments/methods/execution.hpp"
#include "kernels/device/halves.hpp"
#include "kernels/plan/plan.hpp"

namespace danaus::conformance {

// Bytes between guards. All of them are 0xff at first, which is NaN in every type.
class Guarded {
 public:
  explicit Guarded(std::int64_t bytes) : words_(2 * kGuard + kAlignment + static_cast<std::size_t>(bytes), kPoison) {
    const auto address = reinterpret_cast<std::uintptr_t>(words_.data() + kGuard);
    begin_ = kGuard + (kAlignment - address % kAlignment) % kAlignment;
    size_ = static_cast<std::size_t>(bytes);
  }
  Guarded(Guarded&&) = default;  // the words stay where they are

  std::span<std::byte> bytes() { return std::span(words_).subspan(begin_, size_); }
  bool guards_are_whole() const {
    const auto poisoned = [](std::byte word) { return word == kPoison; };
    return std::all_of(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(begin_), poisoned) &&
           std::all_of(words_.begin() + static_cast<std::ptrdiff_t>(begin_ + size_), words_.end(), poisoned);
  }

 private:
  static constexpr std::size_t kGuard = 256, kAlignment = 256;
  static constexpr std::byte kPoison{0xff};
  std::vector<std::byte> words_;
  std::size_t begin_, size_;
};

class CaseMemory {
 public:
  CaseMemory(const Case& asked, const Values& inputs) : arrays_(asked.arrays()) {
    for (const Array& array : arrays_) {
      Guarded& memory = memory_.emplace_back(danaus::bytes(array.dtype) * array.size());
      if (array.role != Role::output)
        std::ranges::copy(host::encode_bytes(array.dtype, inputs.at(std::string(array.name))), memory.bytes().begin());
    }
  }

  std::vector<Buffer> buffers(std::initializer_list<Role> roles) {
    std::vector<Buffer> buffers;
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (std::ranges::find(roles, arrays_[i].role) != roles.end())
        buffers.emplace_back(arrays_[i].name, std::span(memory_[i].bytes()));
    return buffers;
  }
  Values outputs() {
    Values values;
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (arrays_[i].role == Role::output)
        values[std::string(arrays_[i].name)] = decoded_bytes(arrays_[i].dtype, memory_[i].bytes());
    return values;
  }
  bool guards_are_whole() const { return std::ranges::all_of(memory_, &Guarded::guards_are_whole); }
  // Inputs and filters are as they were given.
  bool inputs_are_whole(const Values& inputs) {
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (arrays_[i].role != Role::output &&
          !std::ranges::equal(host::encode_bytes(arrays_[i].dtype, inputs.at(std::string(arrays_[i].name))),
                              memory_[i].bytes()))
        return false;
    return true;
  }

 private:
  std::vector<Array> arrays_;
  std::vector<Guarded> memory_;
};

// Rows of a call; 0, which are all of the batch, where channels come first.
inline std::int64_t batch_of(const Case& asked) {
  for (const Array& array : asked.arrays())
    if (array.batched) return array.extents.front();
  return 0;
}

// The first rows of the batch of every array that has them.
inline Values first_of_batch(const Case& asked, Values values, std::int64_t batch) {
  for (const Array& array : asked.arrays())
    if (const auto found = values.find(array.name); found != values.end() && array.batched)
      found->second.resize(static_cast<std::size_t>(array.size() / array.extents.front() * batch));
  return values;
}

}  // namespace danaus::conformance
