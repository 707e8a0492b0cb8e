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

// An array of a call, in memory of the machine, named as in the case's arrays(). Rows of long convolutions, of their
// gradients and steps may have strides; all other arrays are contiguous.
struct Buffer {
  std::string_view name;
  const void* data = nullptr;  // an output is written
  std::size_t bytes = 0;       // from the first sample to behind the last one
  RowStrides strides{};        // in samples; {0, 0}: contiguous

  Buffer(std::string_view name, const void* data, std::size_t bytes, const RowStrides& strides = {})
      : name(name), data(data), bytes(bytes), strides(strides) {}
  template <class T>
  Buffer(std::string_view name, std::span<T> values) : Buffer(name, values.data(), values.size_bytes()) {}
};

// A kernel that this build leaves out.
struct KernelNotBuilt : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Throws where the buffer would end beyond the last address.
void check_range(const char* operation, const Buffer& buffer);
bool overlap(const Buffer& a, const Buffer& b);

// Options of a call. By default it takes the plan's own memory, the batch of the case and the default stream.
struct CallOptions {
  Stream stream = nullptr;
  std::int64_t batch = 0;           // rows of this call, if fewer than those of the case
  void* prepared = nullptr;         // memory of the caller, at 16 bytes: prepare() writes it, execute() reads it
  std::size_t prepared_bytes = 0;   // at least Plan::prepared_bytes()
  std::string_view prepared_for{};  // layout() of the plan that wrote `prepared`, to be checked
  void* workspace = nullptr;        // memory of the caller, at 16 bytes
  std::size_t workspace_bytes = 0;  // at least Plan::workspace_bytes(batch)
  // The caller vouches that memory, arrays, filters and stream are the machine's. The machine is not asked, which saves
  // most of a call's time on the host. All else is checked. A wrong pointer then becomes an error of CUDA.
  bool vouched = false;
};

// A failed call leaves the plan as it was, except after a CudaError. Before any work a call throws
// std::invalid_argument for a wrong argument, and OutOfMemory if memory does not suffice. A CudaError names the refused
// call of CUDA, its file and line.
class Plan {
 public:
  // `kept` [N] are the marks of kept_frequencies(problem) (reference/convolution/mask.hpp) where the case removes
  // frequencies, empty otherwise. Throws where no kernel computes the case on the machine; choice.hpp says which does.
  Plan(Case asked, std::shared_ptr<const Machine> machine, std::span<const std::uint8_t> kept = {});
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;
  ~Plan();

  // Bytes of prepared filters. Memory that the caller gives for them is read fastest from a multiple of 256 bytes on.
  std::int64_t prepared_bytes() const;
  // Bytes of workspace for a call with this batch; 0 means the case's batch. A call without a workspace gets one of the
  // plan's: one for each stream, and one for each call that threads make at the same time.
  std::int64_t workspace_bytes(std::int64_t batch) const;
  // Bytes of tables that the plan keeps on the machine.
  std::int64_t constant_bytes() const;

  // Prepares all filters of the case. Filters in host memory are copied, and ready when this returns; calls on any
  // stream that read the plan's own prepared filters finish first. Filters in the machine's memory are read by kernels
  // on the stream, so streams that execute must be ordered after it. If another thread executes with the plan's own
  // prepared filters, one thread waits until the other has made its launches.
  void prepare(std::span<const Buffer> filters, const CallOptions& options = {});

  // Executes the plan on all inputs and outputs of the case. Arrays are aligned to whole samples; 16 bytes, of each
  // row, are fastest. Outputs share no sample with another array. Asynchronous on a GPU. Any thread may call. Nothing
  // is allocated while the stream is captured. Each capture takes a workspace of the plan's own that an earlier call
  // has left, and keeps it as long as the plan lives. The graph's first launch comes after that call.
  void execute(std::span<const Buffer> arrays, const CallOptions& options = {}) const;
  void execute(std::initializer_list<Buffer> arrays, const CallOptions& options = {}) const {
    execute(std::span(arrays.begin(), arrays.size()), options);
  }

  // prepare() and execute() in one call, for filters that change with every call. `arrays` are all arrays of the case.
  // Errors are thrown before any work.
  void whole_call(std::span<const Buffer> arrays, const CallOptions& options = {});

  // prepare() of a convolution's filter k [H, K], in the type of the case's filter.
  void set_filter(std::span<const float> k, const CallOptions& options = {});
  void set_filter(std::span<const std::byte> k, const CallOptions& options = {});

  const Case& asked() const;
  const Machine& machine() const;
  // The kernel that has most of the work.
  const Variant& variant() const;
  // The layout of prepared filters, one word. Plans of the same layout can read each other's prepared filters.
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
