// A roofline over counted work: the time that each resource of a GPU needs for what a kernel does, and one time of
// them.
//
//   T = (t_hbm^q + t_l2^q + s^q)^(1/q) + waits + launch,   s = (t_1^p + t_2^p + ...)^(1/p),   q = 2p - 1
//
// where s is the time of what SMs do. Five numbers here are neither counted nor properties of the device;
// plots/evaluation.py fits all but the second and the third to measured times.
//   overlap    p: how far resources work at the same time. With 1 never, as Eq. 2 has it; with infinity always, as the
//              usual roofline has it. Real kernels are between: warps of a block fill each other's gaps, and wait for
//              each other at its barriers. Memory is further apart from all that, q: copies bring rows ahead while SMs
//              compute. With q = p kernels that memory limits are foretold too long, others too short, and p differs
//              from GPU to GPU (2.44 on an H200, 2.54 on an H100; with q 2.00 and 2.04).
//   phased     p of kernels whose blocks load, compute and store one after another, and bring nothing ahead.
//              Transforms of filters have no bias at 1.22 on an H200, at 1.27 on an H100.
//   ahead      p of such kernels where what a block computes next is on its way meanwhile: layers of neural operators
//              by teams of warps have no bias at 1.35 (256 points) to 1.45 (128) on an H200.
//   warp rate  instructions, of those that are counted, that one warp can issue in a clock: each waits for what it
//              needs of those before it. So few warps on an SM do not reach the rate of its schedulers.
//   wait       microseconds that a worker waits each time that nothing was brought ahead for it. Work says how often.
#pragma once

#include <string>
#include <vector>

#include "model/profile.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

// What one launch of a kernel does.
struct KernelWork {
  Dtype dtype = Dtype::f16;      // of products of matrices and packed arithmetic
  double mma_f16acc = 0;         // m16n8k16 with fp16 accumulators: instructions of warps, here and below
  double mma_f32acc = 0;         // with fp32 accumulators
  double mma_depth8 = 0;         // m16n8k8, accumulators as the type has them
  double mma_tf32 = 0;           // m16n8k8 of TF32
  double mma_group = 0;          // m16n8k16 that a warp has of products of its group
  double packed_operations = 0;  // of threads, here and below
  double fp32_operations = 0;    // multiply-adds count as one
  double byte_permutes = 0;
  double conversions = 0;        // two floats to a pair
  double warp_instructions = 0;  // all that are counted
  double resident_warps = 64;    // on an SM at once
  double l1_wavefronts = 0;      // of 128 bytes through the data path of L1 and shared memory
  double local_accesses = 0;     // of warps to their local memory, where registers do not suffice; in none of the above
  bool local_is_known = true;    // else no report of the compiler says what there is of them
  double remote_bytes = 0;       // between the shared memories of a cluster's blocks
  double l2_bytes = 0;           // between L2 and the SMs
  double hbm_bytes = 0;          // read and written
  double imbalance = 1;          // work of the SM that has most, over the average of all of the device
  bool phased = false;           // blocks go from phase to phase
  bool ahead = false;            // of those, what a block computes next is on its way meanwhile
  double waits = 0;              // for memory, of the worker that has most of them, one after another
};

inline constexpr const char* kIssue = "issue";

struct ResourceTime {
  std::string name;  // "hbm", "l2", "l1", "cluster", "tensor", "fma", "alu", kIssue
  double us = 0;
  std::string what;  // work and rate, in words
};

// By default as fitted to kernels on an H100 (experiments/results/h100_predictions.jsonl).
struct Concurrency {
  double overlap = 2.04;
  double warp_rate = 0.41;
  double wait_us = 0.5;
  std::string fitted_to = "H100";  // the profile of the GPU; empty where the numbers are a user's
  double phased_overlap = 1.25;    // where `overlap` is not less, here and below
  double ahead_overlap = 1.4;
};

struct RooflinePrediction {
  std::string profile;
  std::vector<ResourceTime> resources;
  Concurrency concurrency;
  double schedulers_us = 0, warps_us = 0;  // of kIssue: as schedulers limit it, and as warps do at a rate of 1
  double waits = 0;                        // each of them of concurrency.wait_us
  double launch_us = 0;
  double total_us = 0;
  std::string limit;               // the resource that needs most
  std::vector<std::string> notes;  // which rates the profile has not, and what stands for them
};

// Rates that depend on the SM clock are taken at the profile's load clock, where it has one. Notes say which, and where
// the fit is of another GPU. Throws unless the overlap is at least 1, the warp rate positive and the wait not negative.
RooflinePrediction predict_roofline(const KernelWork& work, const HardwareProfile& profile,
                                    const Concurrency& concurrency = {});

// Launches one after the other.
struct RepeatedWork {
  KernelWork work;
  double times = 1;
};
// Times are sums over the launches, each with its own launch_us; the limit is the resource whose sum is largest.
RooflinePrediction predict_launches(const std::vector<RepeatedWork>& launches, const HardwareProfile& profile,
                                    const Concurrency& concurrency = {});

}  // namespace danaus
