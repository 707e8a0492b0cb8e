// A method made ready for a case on a device.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/operations/subject.hpp"
#include "kernels/plan/machine.hpp"
#include "reference/promise.hpp"

namespace danaus {

struct Method;

// Everything that it needs is allocated. Both calls are asynchronous.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual void set_filters(const DeviceArrays& arrays, Stream stream) = 0;  // of these those of that role
  virtual void launch(const DeviceArrays& arrays, Stream stream) = 0;

  virtual std::string variant() const = 0;                 // one word
  virtual std::int64_t fft_size() const = 0;               // 0 without an FFT
  virtual std::vector<int> factors() const { return {}; }  // of it, where they are known
  // On the L2 error that it adds to an output, relative to what was summed to it; and what plans promise beside. Rows
  // of baselines are judged by themselves: they are as loud as each other.
  virtual double bound(std::string_view output) const = 0;
  virtual Promise promise() const { return {}; }
  virtual bool computes() const { return true; }             // otherwise y is to be u
  virtual std::int64_t prepared_bytes() const { return 0; }  // that each launch reads of what was made of the filter
  virtual std::int64_t kept_bytes() const { return 0; }      // beside the case's arrays, all in all
};

// Of a plan, on any machine.
std::unique_ptr<Runner> make_plan_runner(const Case& asked, std::shared_ptr<const Machine> machine);

// In builds with CUDA. Throws where there is an obstacle, or too little memory on the device.
std::unique_ptr<Runner> make_runner(const Method& method, const Case& asked, const Device& device);

// What the code of baselines asks. It calls them by this enumeration: by another name its rows would be stale.
enum class Baseline { cufft_f32, cufft_pairs, cufft_cublas_f32, cufft_cublas_tf32 };

// FFT size of a cuFFT baseline: L where the case is circular; else the linear convolution padded with zeros, to a size
// with small prime factors (f32) or a power of two (pairs).
std::int64_t baseline_fft_size(Baseline baseline, const Convolution& problem);

// Bound on the L2 error that a baseline adds to an output, relative to what was summed to it.
double baseline_bound(Baseline baseline, const Case& by, std::string_view output);

}  // namespace danaus
