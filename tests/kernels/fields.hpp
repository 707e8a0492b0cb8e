// Arrays between guards, in memory of the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/device/halves.hpp"
#include "reference/truth.hpp"

namespace danaus {

// What host::encode_bytes() was given, as far as the type has it.
inline std::vector<double> decode_bytes(Dtype dtype, std::span<const std::byte> encoded) {
  const auto copied = [&](auto numbers) {
    std::ranges::copy(encoded, std::as_writable_bytes(std::span(numbers)).begin());
    return numbers;
  };
  const std::size_t count = encoded.size() / bytes(dtype);
  if (dtype != Dtype::f32) return host::decode(dtype, copied(std::vector<std::uint16_t>(count)));
  const std::vector<float> values = copied(std::vector<float>(count));
  return {values.begin(), values.end()};
}

// Numbers of any type between guards, all NaN at first.
class Field {
 public:
  Field(Dtype dtype, std::int64_t count, int offset) : dtype_(dtype), count_(count) {
    storage_.assign(static_cast<std::size_t>(bytes(dtype) * (count + 2 * kGuard) + 160), std::byte{0xff});
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    begin_ = (128 - address % 128) % 128 + bytes(dtype) * (kGuard + offset);
  }
  void set(const std::vector<double>& values) {
    const std::vector<std::byte> encoded = host::encode_bytes(dtype_, values);
    std::ranges::copy(encoded, storage_.begin() + begin_);
  }
  std::span<std::byte> storage() { return storage_; }
  std::int64_t begin() const { return begin_; }  // of the samples in there, in bytes
  std::span<std::byte> samples() { return std::span(storage_).subspan(begin_, bytes(dtype_) * count_); }
  std::vector<double> values() { return decode_bytes(dtype_, samples()); }
  bool guards_are_whole() const {
    const auto is_poison = [](std::byte b) { return b == std::byte{0xff}; };
    const auto end = storage_.begin() + begin_ + bytes(dtype_) * count_;
    return std::all_of(storage_.begin(), storage_.begin() + begin_, is_poison) &&
           std::all_of(end, storage_.end(), is_poison);
  }

 private:
  static constexpr int kGuard = 64;
  Dtype dtype_;
  std::int64_t count_, begin_;
  std::vector<std::byte> storage_;
};

// The arrays of a case between guards; those that the case reads have values. `offset` in samples from an aligned
// address, of y, and of gradients, perhaps another one.
inline std::map<std::string, Field> fields_of(const Case& asked, const Values& values, int offset, int offset_of_y) {
  std::map<std::string, Field> fields;
  for (const Array& array : asked.arrays()) {
    const bool written = array.role == Role::output;
    const auto [field, added] =
        fields.try_emplace(std::string(array.name), array.dtype, array.size(), written ? offset_of_y : offset);
    if (!written) field->second.set(values.find(array.name)->second);
  }
  return fields;
}

// What outputs have become.
inline Values outputs_of(const Case& asked, std::map<std::string, Field>& fields) {
  Values outputs;
  for (const Array& array : asked.arrays())
    if (array.role == Role::output) outputs.emplace(array.name, fields.at(std::string(array.name)).values());
  return outputs;
}

}  // namespace danaus
