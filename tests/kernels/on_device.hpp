// Fields on a CUDA device.
#pragma once

#include "kernels/cuda/runtime.hpp"
#include "tests/kernels/layer_support.hpp"

namespace danaus {

// Bytes of a field on the device, guards among them, from there and back.
class OnDevice {
 public:
  explicit OnDevice(Field& field) : host_(field), bytes_(uploaded(field.storage())) {}
  std::span<std::byte> samples() const { return {bytes_.data() + host_.begin(), host_.samples().size()}; }
  void fetch() {
    DANAUS_CUDA(cudaMemcpy(host_.storage().data(), bytes_.data(), bytes_.bytes(), cudaMemcpyDeviceToHost));
  }

 private:
  Field& host_;
  DeviceBuffer<std::byte> bytes_;
};

}  // namespace danaus
