// Runs a case through a plan and compares it with the truth.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/machine.hpp"
#include "kernels/device/halves.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/plan.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/compare.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/convolution/data.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/convolution/rounding.hpp"
#include "reference/convolution/terms.hpp"
#include "tests/kernels/judged.hpp"

namespace danaus {

// Samples between guards, all NaN at first. `offset` samples from an address that is a multiple of 16 bytes.
class GuardedSamples {
 public:
  static constexpr std::uint16_t kPoison = 0x7fff;  // NaN in f16 and bf16

  GuardedSamples(std::int64_t count, int offset) : words_(2 * kGuard + count + 8, kPoison), count_(count) {
    const auto address = reinterpret_cast<std::uintptr_t>(words_.data() + kGuard);
    begin_ = kGuard + (16 - address % 16) % 16 / 2 + offset;
  }
  GuardedSamples(Dtype dtype, const std::vector<double>& values, int offset)
      : GuardedSamples(std::ssize(values), offset) {
    std::ranges::copy(host::encode(dtype, values), samples().begin());
  }
  std::span<std::uint16_t> words() { return words_; }
  std::int64_t begin() const { return begin_; }  // of the samples among the words
  std::span<std::uint16_t> samples() { return std::span(words_).subspan(begin_, count_); }
  bool guards_are_whole() const {
    const auto poisoned = [](std::uint16_t word) { return word == kPoison; };
    return std::all_of(words_.begin(), words_.begin() + begin_, poisoned) &&
           std::all_of(words_.begin() + begin_ + count_, words_.end(), poisoned);
  }

 private:
  static constexpr int kGuard = 64;
  std::vector<std::uint16_t> words_;
  std::int64_t count_, begin_;
};

// The buffers of a call of execute(), gates where the case has them.
template <class Samples>
std::vector<Buffer> buffers_of(const Convolution& problem, const Samples& u, const Samples& y, const Samples& pregate,
                               const Samples& postgate) {
  std::vector<Buffer> buffers = {{"u", u}, {"y", y}};
  if (problem.pregate) buffers.emplace_back("pregate", pregate);
  if (problem.postgate) buffers.emplace_back("postgate", postgate);
  return buffers;
}

// A GPU with one multiprocessor: launches have few blocks, which take items in turn.
inline ExecutorOptions few_blocks() { return {.device = Device(), .blocks = 2}; }

// y [B, H, L] as a plan on the executor gives it. `offset` samples from 16-byte alignment.
inline std::vector<double> execute_plan(const Convolution& problem, const Inputs& inputs,
                                        const ExecutorOptions& options, int offset = 0) {
  Plan plan(problem, executor_machine(options), marks_of(problem));
  plan.set_filter(host::encode_bytes(filter_dtype(problem), inputs.k));
  GuardedSamples u(problem.dtype, inputs.u, offset), y(std::ssize(inputs.u), offset);
  GuardedSamples pregate(problem.dtype, inputs.pregate, offset), postgate(problem.dtype, inputs.postgate, offset);
  plan.execute(buffers_of(problem, u.samples(), y.samples(), pregate.samples(), postgate.samples()));
  EXPECT_TRUE(y.guards_are_whole()) << token(problem);
  return host::decode(problem.dtype, y.samples());
}

// y as the kernel of this variant, and of a device like an H100 or H200, promises it. `gaussian`: u and k are, at
// scale 1.
inline void expect_right(const Convolution& problem, const Inputs& inputs, const std::vector<double>& y,
                         const Variant& variant, bool gaussian = false) {
  expect_right(problem, values_of(inputs), {{"y", y}}, promise_of(problem, variant, Device()), gaussian);
}

inline void expect_right(const Convolution& problem, const DataSpec& spec, const ExecutorOptions& options,
                         int offset = 0) {
  const Variant& variant = choose(problem, options.device);
  SCOPED_TRACE(testing::Message() << token(problem) << ", scale " << spec.scale << ", " << variant.name << ", sm_"
                                  << options.device.sm << ", blocks " << options.blocks << ", order "
                                  << int(options.order) << ", seed " << options.seed << ", offset " << offset);
  const Inputs inputs = make_inputs(problem, spec);
  const bool gaussian = spec.data == DataKind::gaussian && spec.filter == FilterKind::random && spec.scale == 1;
  expect_right(problem, inputs, execute_plan(problem, inputs, options, offset), variant, gaussian);
}

// The limits of a device of this class.
inline Device device_like(int device_class) {
  Device device;
  device.name = kDeviceClasses[device_class].devices;
  device.block_bytes = kDeviceClasses[device_class].block_bytes;
  device.sm = device_class == 0 ? 90 : device_class == 1 ? 80 : 86;
  return device;
}

// A case that this variant computes, of `length` samples, on a device of the first class that it is for.
inline Convolution problem_for(const Variant& v, std::int64_t batch, std::int64_t channels, std::int64_t length) {
  Convolution p;
  p.dtype = v.dtype;
  p.mode = v.wraps() ? Mode::circular : Mode::causal;
  p.batch = batch, p.channels = channels, p.length = length, p.filter_length = length;
  if (v.size > 0) {
    p.fold = v.fold, p.fft_size = v.size, p.factors = v.factors;
  } else {
    for (p.filter_length = 1; p.filter_length < length && !v.takes(p);) ++p.filter_length;
  }
  p.pregate = p.postgate = v.gated;
  return p;
}

// A length that suits a test of it.
inline std::int64_t full_length(const Variant& v) { return v.size > 0 ? v.size : 1024; }

}  // namespace danaus
