// A plan, in the manner of FFTW and cuFFT: made once for a case and a machine, given a filter, executed any number of
// times.
//
//   Plan plan(parse_case("fftconv_f16_causal_l1024_b64_h768"), cuda_machine());
//   plan.set_filter(k);
//   plan.execute({{"u", u}, {"y", y}}, {.stream = stream});
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/plan/machine.hpp"
#include "kernels/plan/program.hpp"
#include "reference/operation.hpp"

namespace danaus {

// An array of a call: of the machine's memory, by the name that the case's arrays() give it.
struct Buffer {
  std::string_view name;
  const void* data = nullptr;  // outputs are written
  std::size_t bytes = 0;

  Buffer(std::string_view name, const void* data, std::size_t bytes) : name(name), data(data), bytes(bytes) {}
  template <class T>
  Buffer(std::string_view name, std::span<T> values) : Buffer(name, values.data(), values.size_bytes()) {}
};

// What may come with a call; by default the plan's own memory, the case's batch and the default stream.
struct CallOptions {
  Stream stream = nullptr;
  std::int64_t batch = 0;           // rows of this call, where they are not those of the case
  void* prepared = nullptr;         // of the caller, at 16 bytes: what prepare() writes and execute() reads
  std::size_t prepared_bytes = 0;   // Plan::prepared_bytes() at least
  std::string_view prepared_for{};  // layout() of the plan that prepared it, where the caller keeps it: checked
  void* workspace = nullptr;        // of the caller, at 16 bytes
  std::size_t workspace_bytes = 0;  // Plan::workspace_bytes(batch) at least
  // That all of this memory and the arrays, filters too, are the machine's, and the stream: the machine is not asked,
  // which takes most of a call's time on the host. All else is checked. What is not so is an error of CUDA's then.
  bool vouched = false;
};

// After an error that is not CUDA's own a plan is as it was before the call. Errors: std::invalid_argument for what the
// caller gave, and OutOfMemory for what does not fit, before any work; CudaError with call, file and line for what CUDA
// refused.
class Plan {
 public:
  // `kept` [N] are the marks of kept_frequencies(problem) (reference/convolution/mask.hpp) where the case removes
  // frequencies, empty otherwise. Throws where no kernel computes the case on the machine; choice.hpp says which does.
  Plan(Case asked, std::shared_ptr<const Machine> machine, std::span<const std::uint8_t> kept = {});
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;
  ~Plan();

  // Of what prepare() makes of the filters; from a multiple of 256 bytes on it is read fastest.
  std::int64_t prepared_bytes() const;
  // Between the launches of a call of so many rows; 0: of the case's. The plan makes its own for calls that give none:
  // one for each stream, and one for each call that threads make at the same time.
  std::int64_t workspace_bytes(std::int64_t batch) const;
  // Constants that the plan keeps on the machine.
  std::int64_t constant_bytes() const;

  // Filters, each of the case's. Of the host: copied, and ready when this returns; earlier calls on any stream that
  // read the plan's own are waited for. Of the machine: read by kernels on the stream, to which other streams that
  // execute have to be ordered. Into the plan's own memory while another thread executes: one waits for the other to
  // make its launches.
  void prepare(std::span<const Buffer> filters, const CallOptions& options = {});

  // Inputs and outputs, each of the case's: contiguous, aligned to whole samples; 16 bytes are fastest. Outputs overlap
  // nothing else. Asynchronous on a GPU. From any thread and on any stream, any number at once. Nothing is allocated
  // while the stream is captured. Each capture takes a workspace of the plan's own that an earlier call has left, and
  // keeps it as long as the plan lives. The graph's first launch comes after that call.
  void execute(std::span<const Buffer> arrays, const CallOptions& options = {}) const;
  void execute(std::initializer_list<Buffer> arrays, const CallOptions& options = {}) const {
    execute(std::span(arrays.begin(), arrays.size()), options);
  }

  // prepare() and execute() of one batch, for filters that are others at every call: all arrays of the case. What is
  // wrong is found before any work.
  void whole_call(std::span<const Buffer> arrays, const CallOptions& options = {});

  // prepare() of a convolution: k [H, K], of the type that the case's filter has.
  void set_filter(std::span<const float> k, const CallOptions& options = {});
  void set_filter(std::span<const std::byte> k, const CallOptions& options = {});

  const Case& asked() const;
  const Machine& machine() const;
  // The kernel that has most of the work.
  const Variant& variant() const;
  // How what it prepares is laid out, a word: what a plan has prepared, another with the same word can read.
  const std::string& layout() const;

  // One line: kernel, N and its factors, fold, threads, shared memory, what a mask leaves to compute, device.
  std::string description() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Memory of the device that a plan for the case keeps, beside u, y and gates, which are the caller's. Throws where no
// kernel computes the case on the device.
struct PlanBytes {
  std::int64_t spectrum;  // [H, N] complex numbers of 16 bits, or what is live of them, of bf16 samples a factor [H] in
                          // fp32 too; arrays.hpp
  std::int64_t tables;    // constants of the kernel and of the filter's transform
};
PlanBytes plan_bytes(const Case& asked, const Device& device);

// The case with the fold, N and factors that the variant computes it by; as it is where that needs no FFT.
Convolution planned(const Convolution& problem, const Variant& variant);

}  // namespace danaus
