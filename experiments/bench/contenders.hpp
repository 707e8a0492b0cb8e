// What is timed: the fused kernels, and the baselines that they are measured against. --method names one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernels/plan/machine.hpp"
#include "reference/convolution/convolution.hpp"
#include "reference/names.hpp"

namespace danaus {

enum class Contender { kernel, copy, cufft_f32, cufft_pairs };

inline constexpr std::array kContenders = {
    Named{Contender::kernel, "kernel", "the fused kernel that the plan chooses"},
    Named{Contender::copy, "copy", "a plain copy of u to y: what reading and writing once costs"},
    Named{Contender::cufft_f32, "cufft_f32", "cuFFT in fp32, R2C and C2R, with conversions from and to 16 bits"},
    Named{Contender::cufft_pairs, "cufft_pairs",
          "cuFFT in 16 bits, C2C, two batch rows as one complex sequence, packing included; powers of two"},
};

// Why a contender does not compute a case on a device; nothing where it does. What only the kernels understand (N,
// fold, factors, masks) keeps a case from the others.
std::optional<std::string> obstacle(Contender contender, const Convolution& problem, const Device& device);

// FFT size of a cuFFT baseline: L where the case is circular; else the linear convolution padded with zeros, to a size
// with small prime factors (f32) or a power of two (pairs).
std::int64_t baseline_fft_size(Contender contender, const Convolution& problem);

// Bound on the relative L2 error that a cuFFT baseline adds.
double baseline_bound(Contender contender, const Convolution& problem);

// Memory of the device, [B, H, L] each; gates null where the case has none.
struct DeviceArrays {
  const std::uint16_t* u;
  std::uint16_t* y;
  const std::uint16_t* pregate;
  const std::uint16_t* postgate;
};

// A contender made ready for a case on a device; everything that it needs is allocated. Both calls are asynchronous.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual void set_filter(const void* k, Stream stream) = 0;  // k [H, K] of filter_dtype() on the device
  virtual void launch(const DeviceArrays& arrays, Stream stream) = 0;

  virtual std::string variant() const = 0;         // one word
  virtual std::int64_t fft_size() const = 0;       // 0 without an FFT
  virtual double bound() const = 0;                // on the relative L2 error that it adds
  virtual bool convolves() const { return true; }  // otherwise y is to be u
};

// In builds with CUDA. Throws where there is an obstacle, or too little memory on the device.
std::unique_ptr<Runner> make_runner(Contender contender, const Convolution& problem, const Device& device);

}  // namespace danaus
