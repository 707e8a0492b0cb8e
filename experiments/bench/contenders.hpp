// What is timed: the kernels of plans, and the baselines that they are measured against. --method names one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/plan/machine.hpp"
#include "reference/convolution/convolution.hpp"
#include "reference/names.hpp"
#include "reference/promise.hpp"

namespace danaus {

enum class Contender {
  kernel,
  full_fft,
  chunked_fft,
  copy,
  cufft_f32,
  cufft_pairs,
  cufft_cublas_f32,
  cufft_cublas_tf32,
};

inline constexpr std::array kContenders = {
    Named{Contender::kernel, "kernel", "the kernels that the plan chooses"},
    Named{Contender::full_fft, "full_fft",
          "of short convolutions and state-space models, our convolution by FFTs of whole rows, with all taps"},
    Named{Contender::chunked_fft, "chunked_fft", "of short convolutions, our convolution by FFTs of pieces of rows"},
    Named{Contender::copy, "copy", "a plain copy of u to y: what reading and writing once costs"},
    Named{Contender::cufft_f32, "cufft_f32",
          "cuFFT in fp32, R2C and C2R, with conversions from and to 16 bits; of a step the spectrum of u serves both "
          "passes"},
    Named{Contender::cufft_pairs, "cufft_pairs",
          "cuFFT in 16 bits, C2C, two batch rows as one complex sequence, packing included; powers of two; likewise"},
    Named{Contender::cufft_cublas_f32, "cufft_cublas_f32",
          "spectral layers by cuFFT and cuBLAS in fp32, truncation and padding as kernels of their own"},
    Named{Contender::cufft_cublas_tf32, "cufft_cublas_tf32", "the same with products in TF32"},
};

// Whether the kernels of a plan are what it times, and no baseline.
inline bool is_of_plans(Contender contender) {
  return contender == Contender::kernel || contender == Contender::full_fft || contender == Contender::chunked_fft;
}

// Why a contender does not compute a case on a device; nothing where it does. What only the kernels understand (N,
// fold, factors, masks) keeps a case from the others.
std::optional<std::string> obstacle(Contender contender, const Case& asked, const Device& device);

// FFT size of a cuFFT baseline: L where the case is circular; else the linear convolution padded with zeros, to a size
// with small prime factors (f32) or a power of two (pairs).
std::int64_t baseline_fft_size(Contender contender, const Convolution& problem);

// The convolution that one of our two FFT contenders computes, or its gradients: that which has the same outputs as the
// case, with the way said. Throws std::invalid_argument where it computes none.
Case by_fft(Contender contender, const Case& asked, const Device& device);

// Bound on the L2 error that a baseline adds to an output, relative to what was summed to it.
double baseline_bound(Contender contender, const Case& asked, std::string_view output);

// Memory of the device, in the order of the case's arrays().
using DeviceArrays = std::array<void*, 12>;

// A contender made ready for a case on a device; everything that it needs is allocated. Both calls are asynchronous.
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
std::unique_ptr<Runner> make_runner(Contender contender, const Case& asked, const Device& device);

}  // namespace danaus
