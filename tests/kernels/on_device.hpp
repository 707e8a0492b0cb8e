// Tests on a CUDA device, and fields there.
#pragma once

#include <gtest/gtest.h>

#include <set>

#include "kernels/cuda/machine.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/plan/plan.hpp"
#include "tests/kernels/fields.hpp"

namespace danaus {

// Tests that are skipped where there is none.
class OnCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  }
};

// One test a size and type, so that they can be shared out among processes.
using SizeAndDtype = std::pair<int, Dtype>;

template <class List>
std::set<SizeAndDtype> sizes_of(List&& list) {
  std::set<SizeAndDtype> sizes;
  for (const auto& v : list)
    if (v->size > 0) sizes.emplace(v->size, v->dtype);
  return sizes;
}

inline std::string name_of_size(const testing::TestParamInfo<SizeAndDtype>& info) {
  return text('n', info.param.first, '_', name(info.param.second));
}

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

// All of a case's.
class AllOnDevice {
 public:
  explicit AllOnDevice(std::map<std::string, Field>& fields) {
    for (auto& [name, field] : fields) fields_.try_emplace(name, field);
  }
  std::vector<Buffer> buffers() const {
    std::vector<Buffer> list;
    for (const auto& [name, field] : fields_) list.emplace_back(name, field.samples());
    return list;
  }
  void fetch() {
    for (auto& [name, field] : fields_) field.fetch();
  }

 private:
  std::map<std::string, OnDevice> fields_;
};

}  // namespace danaus
