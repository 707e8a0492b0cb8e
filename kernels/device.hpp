// Where a plan runs: a GPU, or the executor in its place.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/executor/executor.hpp"

// The CUDA runtime's stream, so that a cudaStream_t is one without its headers.
struct CUstream_st;

namespace danaus {

using Stream = CUstream_st*;

struct Device {
  enum class Kind { executor, cuda };

  Kind kind = Kind::executor;
  std::string name = "executor";
  int ordinal = 0;               // of a CUDA device
  int sm = 90;                   // compute capability, 10 major + minor
  int block_bytes = 227 * 1024;  // shared memory that a block can have
  int multiprocessors = 1;

  // Of the executor: blocks that a launch makes, and in which order their threads get to run.
  int blocks = 2;
  host::Order order = host::Order::ascending;
  std::uint64_t seed = 0;

  // The CPU, with the limits of an H200; give it those of another device to run what that one would.
  static Device executor() { return {}; }

  // Throws where there is no such device, or the build has no CUDA.
  static Device cuda(int ordinal = 0);

  // How many CUDA devices there are; 0 without CUDA or a driver.
  static int cuda_count();

  bool has_tensor_copies() const { return sm >= 90; }
};

}  // namespace danaus
