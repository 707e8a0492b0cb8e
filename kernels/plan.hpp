// A plan, in the manner of FFTW and cuFFT: made once for a case and a device, given a filter, executed any number of
// times.
//
//   Plan plan(parse_convolution("fftconv_f16_causal_l1024_b64_h768"), Device::cuda());
//   plan.set_filter(k);
//   plan.execute(u, y, {}, {}, stream);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernels/choice.hpp"
#include "kernels/device.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

class Backend;

// f16 or bf16 values as bits: [B, H, L] contiguous. On a CUDA device the memory is the device's.
using Samples = std::span<const std::uint16_t>;
using OutputSamples = std::span<std::uint16_t>;

// After an error that is not CUDA's own a plan is as it was before the call. Errors: std::invalid_argument for what the
// caller gave, before any work; std::runtime_error with call, file and line for what CUDA refused.
class Plan {
 public:
  // `kept` [N] are the marks of kept_frequencies(problem) (reference/convolution/mask.hpp) where the case removes
  // frequencies, empty otherwise. Throws where no kernel computes the case on the device; kernels/choice.hpp says which
  // one does.
  explicit Plan(const Convolution& problem, const Device& device = Device::executor(),
                std::span<const std::uint8_t> kept = {});
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;
  ~Plan();

  // k [H, K]. Host memory is copied and the call returns when its transform is done; memory of the device is read by a
  // kernel on `stream`, to which executions on other streams have to be ordered. Not while another thread executes.
  // Returns what the executor counted, nothing from a GPU; execute() likewise.
  std::optional<host::Counters> set_filter(std::span<const float> k, Stream stream = nullptr);

  // y = postgate * conv(pregate * u, k), with exactly the gates that the case has. y overlaps none of the others. Any
  // alignment to whole samples; 16 bytes are fastest. Asynchronous on a GPU. From any thread, any number at once.
  std::optional<host::Counters> execute(Samples u, OutputSamples y, Samples pregate = {}, Samples postgate = {},
                                        Stream stream = nullptr) const;

  const Convolution& problem() const { return problem_; }
  const Device& device() const { return device_; }
  const Variant& variant() const { return *choice_.variant; }

  // One line: kernel, N and its factors, fold, threads, shared memory, device.
  std::string description() const;

 private:
  Convolution problem_;
  Device device_;
  Choice choice_;
  std::unique_ptr<Backend> backend_;
  bool has_filter_ = false;
};

// Memory of the device that a plan for the case keeps, beside u, y and gates, which are the caller's. Throws where no
// kernel computes the case on the device.
struct PlanBytes {
  std::int64_t spectrum;  // [H, N] complex numbers of 16 bits
  std::int64_t tables;    // constants of the kernel and of the filter's transform
};
PlanBytes plan_bytes(const Convolution& problem, const Device& device);

}  // namespace danaus
