// A roofline over counted work: the time that each resource of a GPU needs for what a kernel does, and one time of
// them.
//
//   T = tail (t_hbm^q + t_l2^q + s^q)^(1/q) + t_cluster + latencies + launch,   s = (t_1^p + t_2^p + ...)^(1/p)
//
// where s is the time of what SMs do. Concurrency holds the numbers that are neither counts nor properties of the
// device; plots/evaluation.py fits all of them to measured times. Each has a cause, and a count that it belongs to.
//   overlap     p: how far resources work at the same time. 1 is never, as Eq. 2 has it; infinity is always, as the
//               usual roofline has it. Warps fill each other's gaps. Memory is further apart, q = 2p - 1, since copies
//               bring rows ahead while SMs compute. Blocks that bring nothing ahead have q = p.
//   half        Warps that meet at a barrier use the same resource at the same time. Other blocks of the SM use the
//               others. So p - 1 is multiplied by B / (B + half), B the resident blocks. `half` depends on where the
//               next rows are at the barrier: in shared memory, in L2, or not asked for yet.
//   warp rate   counted instructions that one warp can issue in a clock. Each waits for results of earlier ones. Few
//               warps on an SM do not reach the rate of its schedulers.
//   last wave   The blocks of the last wave do not fill the device. This is the share of the idle time that counts.
//   wait        microseconds. A worker waits for rows that its own threads move, and for the spectrum of a new channel.
//   start       microseconds. A block without prefetch waits for its first rows. In a turn with many barriers it also
//               waits behind each of them. Other blocks of the SM fill in.
//   fill        microseconds from the start of a launch until all resources are busy, and from there to its end.
//               `phase_fill` is added without prefetch, and `follow` after another launch of the program.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "model/profile.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

// Where the rows of the next turn are when a worker asks for them.
enum class Prefetch { shared, l2, none };

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
  double resident_blocks = 1;    // likewise
  double imbalance = 1;          // work of the SM that has most, over the average of all of the device
  double last_wave = 1;          // time of whole waves of blocks, over that of the blocks that there are
  int cluster = 1;               // blocks of a cluster
  bool meets = false;            // warps of a block meet at its barriers in each turn
  Prefetch prefetch = Prefetch::shared;
  bool follows = false;  // another launch of its program
  double waits = 0;      // for memory, of the worker that has most of them, one after another
  double starts = 0;     // of blocks without prefetch, one after another, over the blocks of an SM

  bool in_phases() const { return meets && prefetch != Prefetch::shared; }
};

inline constexpr const char* kIssue = "issue";

struct ResourceTime {
  std::string name;  // "hbm", "l2", "l1", "cluster", "tensor", "fma", "alu", kIssue
  double us = 0;
  std::string what;  // work and rate, in words
};

// By default as fitted to kernels on an H200 (experiments/results/h200_predictions.jsonl).
struct Concurrency {
  double overlap = 2.2;
  std::array<double, 3> half = {0.15, 0.84, 2.6};  // blocks, by Prefetch
  double warp_rate = 0.5;
  double last_wave = 0.5;
  double wait_us = 0.43;
  double start_us = 2.4;
  double fill_us = 0.54;
  double phase_fill_us = 1.5;
  double follow_us = 3.5;
  std::string fitted_to = "H200";  // the profile of the GPU; empty where numbers are a user's

  double overlap_of(const KernelWork& work) const;
  // On top of what resources need, without the launch.
  double latencies_us(const KernelWork& work) const;
};

struct RooflinePrediction {
  std::string profile;
  std::vector<ResourceTime> resources;
  Concurrency concurrency;
  double schedulers_us = 0, warps_us = 0;  // of kIssue: as schedulers limit it, and as warps do at a rate of 1
  double waits = 0;                        // each of them of concurrency.wait_us
  double latencies_us = 0;                 // those among them
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
