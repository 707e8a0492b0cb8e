// What launches rotate among, so that nothing is found in the L2 cache.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/bench/checked_rows.hpp"
#include "experiments/bench/contenders.hpp"
#include "experiments/bench/device_kernels.hpp"
#include "experiments/bench/device_memory.hpp"
#include "experiments/bench/work.hpp"
#include "kernels/device/halves.hpp"
#include "reference/half.hpp"

namespace danaus {

// The arrays of a case in device memory: as many sets of u, y and gates as are together several times the L2.
class Sets {
 public:
  Sets(const Convolution& p, std::int64_t l2_bytes, Stream stream)
      : problem_(p), samples_(p.batch * p.channels * p.length), step_((samples_ + kGrain - 1) / kGrain * kGrain) {
    const auto set_bytes = static_cast<std::int64_t>(moved_bytes(p));
    count_ = (kTimesL2 * l2_bytes + set_bytes - 1) / set_bytes;
    const auto filled = [&](BenchArray array, const char* what) {
      auto buffer = room_for<std::uint16_t>(step_ * count_, what);
      fill_noise(p.dtype, buffer.data(), buffer.size(), array_key(p, array), stream);
      return buffer;
    };
    fill_filter(stream);
    u_ = filled(BenchArray::u, "u");
    if (p.pregate) pregate_ = filled(BenchArray::pregate, "pregate");
    if (p.postgate) postgate_ = filled(BenchArray::postgate, "postgate");
    y_ = room_for<std::uint16_t>(step_ * count_, "y");
  }

  const Convolution& problem() const { return problem_; }
  std::int64_t count() const { return count_; }
  std::int64_t samples() const { return samples_; }
  const void* k() const { return k_.data(); }
  // The same numbers in fp32.
  const float* k_in_f32() const { return k_f32_.data() ? k_f32_.data() : reinterpret_cast<const float*>(k_.data()); }
  DeviceArrays set(std::int64_t which) const {
    const auto at = [&](const DeviceBuffer<std::uint16_t>& buffer) {
      return buffer.data() ? buffer.data() + which * step_ : nullptr;
    };
    return {at(u_), at(y_), at(pregate_), at(postgate_)};
  }
  // NaN everywhere in y, in either type.
  void poison(Stream stream) const { DANAUS_CUDA(cudaMemsetAsync(y_.data(), 0xff, y_.bytes(), stream)); }

 private:
  static constexpr std::int64_t kGrain = 64;   // samples: sets begin at whole cache lines
  static constexpr std::int64_t kTimesL2 = 4;  // sets together exceed the L2 so many times

  void fill_filter(Stream stream) {
    const Convolution& p = problem_;
    const std::int64_t count = p.channels * p.filter_length;
    k_ = room_for<std::byte>(bytes(Dtype::f32) * count, "k");
    fill_noise(reinterpret_cast<float*>(k_.data()), count, array_key(p, BenchArray::k), filter_scale(p), stream);
    if (filter_dtype(p) == Dtype::f32) return;
    std::vector<float> values(static_cast<std::size_t>(count));
    DANAUS_CUDA(cudaStreamSynchronize(stream));
    DANAUS_CUDA(cudaMemcpy(values.data(), k_.data(), k_.bytes(), cudaMemcpyDeviceToHost));
    const auto encoded = host::encode_bytes(filter_dtype(p), std::vector<double>(values.begin(), values.end()));
    k_ = room_for<std::byte>(std::ssize(encoded), "k");
    DANAUS_CUDA(cudaMemcpy(k_.data(), encoded.data(), encoded.size(), cudaMemcpyHostToDevice));
    for (float& value : values) value = static_cast<float>(round_to(filter_dtype(p), double{value}));
    k_f32_ = uploaded(values);
  }

  Convolution problem_;
  std::int64_t samples_, step_, count_;
  DeviceBuffer<std::byte> k_;
  DeviceBuffer<float> k_f32_;  // where k is of another type
  DeviceBuffer<std::uint16_t> u_, pregate_, postgate_, y_;
};

}  // namespace danaus
