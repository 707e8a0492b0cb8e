// Decoding by a convolution: y of a prompt by the long kernel, then of one position after the other, exactly, where the
// next sample of u is known only once y is.
//
//   Decoding decoding(parse_convolution("fftconv_f16_causal_l32768_b1_h4096"), cuda_machine());
//   decoding.set_filter(k);
//   decoding.prefill(u, y, 1000, stream);
//   decoding.next(u_of_one, y_of_one, stream);
//
// What a position has of samples far before it comes from tiles of doubling size, which are convolutions by the kernels
// of plan.hpp; a launch a position adds what the newest samples give. Where the filter is a state-space model, a plan
// of one sample (reference/state/state.hpp, "ssmconv_..._l1_..._initial_final") is the recurrence, which needs none of
// this.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/plan/plan.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

// How positions are computed after the prompt.
enum class DecodeBy {
  tiles,
  dot,  // products with every sample before, O(L) a position: what tiles are to be compared with
};

// One sequence at a time, by one thread: calls change what it keeps. All of a sequence's calls are on one stream, or
// ordered as if they were.
class Decoding {
 public:
  // L of the causal case, without gates, is how many positions there can be. Throws where a kernel is missing.
  Decoding(const Convolution& whole, std::shared_ptr<const Machine> machine, DecodeBy by = DecodeBy::tiles);
  Decoding(Decoding&&) noexcept;
  Decoding& operator=(Decoding&&) noexcept;
  ~Decoding();

  // k [H, K] of the host; read when this returns.
  void set_filter(std::span<const float> k);

  // Begins a sequence: u and y [B, H, length] of the machine, length from 0 on, where both may be null.
  void prefill(const void* u, void* y, std::int64_t length, Stream stream = nullptr);

  // The next position's u and y, [B, H] of the machine. Throws where the sequence has reached L.
  void next(const void* u, void* y, Stream stream = nullptr);

  std::int64_t position() const;  // of the sample that next() takes
  // Of the machine: samples, sums, spectra and what tiles need.
  std::int64_t memory_bytes() const;
  // How often a number is rounded on its way, for bound_l2_of_kernel().
  int roundings() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace danaus
