// cuFFT with errors as exceptions and plans that free themselves.
#pragma once

#include <cufftXt.h>

#include <algorithm>

#include "experiments/bench/device_memory.hpp"

namespace danaus {

// Throws unless the call succeeded: DANAUS_CUFFT(cufftCreate(&plan)).
#define DANAUS_CUFFT(call) ::danaus::check_cufft((call), #call, __FILE__, __LINE__)

inline void check_cufft(cufftResult result, const char* call, const char* file, int line) {
  if (result == CUFFT_SUCCESS) return;
  std::ostringstream message;
  message << file << ':' << line << ": " << call << ": cuFFT error " << result;
  throw CudaError(message.str());
}

// `rows` contiguous transforms of n points.
class CufftPlan {
 public:
  CufftPlan(std::int64_t n, std::int64_t rows, cudaDataType from, cudaDataType to, cudaDataType in) {
    DANAUS_CUFFT(cufftCreate(&plan_));
    DANAUS_CUFFT(cufftSetAutoAllocation(plan_, 0));
    long long size = n;
    std::size_t bytes = 0;
    DANAUS_CUFFT(cufftXtMakePlanMany(plan_, 1, &size, nullptr, 1, n, from, nullptr, 1, n, to, rows, &bytes, in));
    work_ = room_for<unsigned char>(std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes)), "cuFFT's work area");
    DANAUS_CUFFT(cufftSetWorkArea(plan_, work_.data()));
  }
  CufftPlan(const CufftPlan&) = delete;
  CufftPlan& operator=(const CufftPlan&) = delete;
  ~CufftPlan() { cufftDestroy(plan_); }

  void execute(void* from, void* to, int direction, cudaStream_t stream) const {
    DANAUS_CUFFT(cufftSetStream(plan_, stream));
    DANAUS_CUFFT(cufftXtExec(plan_, from, to, direction));
  }

 private:
  cufftHandle plan_ = 0;
  DeviceBuffer<unsigned char> work_;
};

}  // namespace danaus
