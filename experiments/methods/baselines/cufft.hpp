// cuFFT with errors as exceptions and plans that free themselves.
#pragma once

#include <cufftXt.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "experiments/timing/device_memory.hpp"

namespace danaus {

// Throws unless the call succeeded: DANAUS_CUFFT(cufftCreate(&plan)).
#define DANAUS_CUFFT(call) ::danaus::check_cufft((call), #call, __FILE__, __LINE__)

inline void check_cufft(cufftResult result, const char* call, const char* file, int line) {
  if (result == CUFFT_SUCCESS) return;
  if (result == CUFFT_ALLOC_FAILED) fail("bench: a plan of cuFFT's needs more device memory than is left");
  std::ostringstream message;
  message << file << ':' << line << ": " << call << ": cuFFT error " << result;
  throw CudaError(message.str());
}

// `rows` contiguous transforms of these extents, one or two. Needs a work area before it is executed.
class CufftPlan {
 public:
  CufftPlan(std::vector<long long> extents, std::int64_t rows, cudaDataType from, cudaDataType to, cudaDataType in) {
    DANAUS_CUFFT(cufftCreate(&plan_));
    DANAUS_CUFFT(cufftSetAutoAllocation(plan_, 0));
    long long points = 1;
    for (long long extent : extents) points *= extent;
    DANAUS_CUFFT(cufftXtMakePlanMany(plan_, static_cast<int>(extents.size()), extents.data(), nullptr, 1, points, from,
                                     nullptr, 1, points, to, rows, &work_bytes_, in));
  }
  CufftPlan(std::int64_t n, std::int64_t rows, cudaDataType from, cudaDataType to, cudaDataType in)
      : CufftPlan(std::vector<long long>{n}, rows, from, to, in) {}
  CufftPlan(const CufftPlan&) = delete;
  CufftPlan& operator=(const CufftPlan&) = delete;
  ~CufftPlan() { cufftDestroy(plan_); }

  std::size_t work_bytes() const { return work_bytes_; }
  void set_work_area(void* area) { DANAUS_CUFFT(cufftSetWorkArea(plan_, area)); }

  void execute(void* from, void* to, int direction, cudaStream_t stream) const {
    DANAUS_CUFFT(cufftSetStream(plan_, stream));
    DANAUS_CUFFT(cufftXtExec(plan_, from, to, direction));
  }

 private:
  cufftHandle plan_ = 0;
  std::size_t work_bytes_ = 0;
};

// One work area for plans that run one after the other.
inline DeviceBuffer<std::byte> shared_work_area(std::initializer_list<CufftPlan*> plans) {
  std::size_t most = 1;
  for (const CufftPlan* plan : plans) most = std::max(most, plan->work_bytes());
  auto area = room_for<std::byte>(static_cast<std::int64_t>(most), "cuFFT's work area");
  for (CufftPlan* plan : plans) plan->set_work_area(area.data());
  return area;
}

}  // namespace danaus
