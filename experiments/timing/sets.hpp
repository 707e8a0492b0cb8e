// What launches rotate among, so that u, gates and y are not found in the L2 cache; spectra and tables may be.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "experiments/operations/subject.hpp"
#include "experiments/operations/work.hpp"
#include "experiments/timing/array_noise.hpp"
#include "experiments/timing/device_kernels.hpp"
#include "experiments/timing/device_memory.hpp"
#include "kernels/device/halves.hpp"

namespace danaus {

// The arrays of a case in device memory: as many sets of inputs and outputs as are together several times the L2, one
// at least.
class Sets {
 public:
  Sets(const Case& asked, std::int64_t l2_bytes, Stream stream) : asked_(asked), arrays_(asked.arrays()) {
    const auto set_bytes = static_cast<std::int64_t>(moved_bytes(asked));
    const Values filters = subject_of(asked, "bench")->filters();
    count_ = std::max<std::int64_t>(1, (kTimesL2 * l2_bytes + set_bytes - 1) / set_bytes);
    for (const Array& array : arrays_) {
      const std::int64_t count = array.role == Role::filter ? 1 : count_;
      auto& buffer = memory_.emplace_back(room_for<std::byte>(step_of(array) * count, array.name.data()));
      if (array.role == Role::output) continue;
      if (const auto made = filters.find(array.name); made != filters.end()) {
        const std::vector<std::byte> words = host::encode_bytes(array.dtype, made->second);
        DANAUS_CUDA(cudaMemcpy(buffer.data(), words.data(), words.size(), cudaMemcpyHostToDevice));
        DANAUS_CUDA(cudaStreamSynchronize(nullptr));  // the copy may still be on its way
        continue;
      }
      fill_noise(array.dtype, buffer.data(), buffer.size() / bytes(array.dtype), array_key(asked, array.name),
                 array_scale(asked, array), stream);
    }
    DANAUS_CUDA(cudaStreamSynchronize(stream));
    filters_in_f32_ = set(0);
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const Array& filter = arrays_[i];
      if (filter.role != Role::filter || filter.dtype == Dtype::f32) continue;
      std::vector<std::uint16_t> bits(static_cast<std::size_t>(filter.size()));
      DANAUS_CUDA(cudaMemcpy(bits.data(), memory_[i].data(), sizeof(bits[0]) * bits.size(), cudaMemcpyDeviceToHost));
      const std::vector<double> values = host::decode(filter.dtype, bits);
      in_f32_.push_back(uploaded(std::vector<float>(values.begin(), values.end())));
      filters_in_f32_[i] = in_f32_.back().data();
    }
  }

  const Case& asked() const { return asked_; }
  const std::vector<Array>& arrays() const { return arrays_; }
  std::int64_t count() const { return count_; }
  DeviceArrays filters() const { return set(0); }
  // The same numbers in fp32.
  const DeviceArrays& filters_in_f32() const { return filters_in_f32_; }
  DeviceArrays set(std::int64_t which) const {
    DeviceArrays at{};
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      at.at(i) = memory_[i].data() + (arrays_[i].role == Role::filter ? 0 : which * step_of(arrays_[i]));
    return at;
  }
  // NaN everywhere in outputs, in any type.
  void poison(Stream stream) const {
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (arrays_[i].role == Role::output)
        DANAUS_CUDA(cudaMemsetAsync(memory_[i].data(), 0xff, memory_[i].bytes(), stream));
  }

 private:
  static constexpr std::int64_t kGrain = 128;  // bytes: sets begin at whole cache lines
  static constexpr std::int64_t kTimesL2 = 4;  // sets together exceed the L2 so many times

  static std::int64_t step_of(const Array& array) {
    return (bytes(array.dtype) * array.size() + kGrain - 1) / kGrain * kGrain;
  }

  Case asked_;
  std::vector<Array> arrays_;
  std::int64_t count_;
  std::vector<DeviceBuffer<std::byte>> memory_;  // of each array all sets
  std::vector<DeviceBuffer<float>> in_f32_;      // of filters of another type
  DeviceArrays filters_in_f32_{};
};

}  // namespace danaus
