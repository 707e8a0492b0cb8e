// A hardware profile: what one device can do, every number with its unit, its source and how it is known.
//
// Profiles are data files, model/profiles/*.json, compiled into the library. A file names each number as the members of
// HardwareProfile are named here. A number is refused, by name, when it is missing, not positive, in another unit,
// without a source, above its ceiling, or more than any device has.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace danaus {

// Rates are in tera-units a second, times in microseconds.
inline constexpr double kTera = 1e12, kMicro = 1e-6;

struct Quantity {
  double value = 0;
  std::string unit;
  std::string source;
  std::string kind;  // "datasheet", "published" (by someone else) or "measured" (by us)
  std::optional<double>
      ceiling;  // datasheet or derived limit in the same unit; a rate that is no datasheet peak has one
  std::string ceiling_source;
  std::optional<double> clock;   // MHz of the SMs as it was measured
  std::optional<double> spread;  // half the distance of the quartiles over the median, where it was measured often
};

// Symbols in brackets are those of Fu et al. 2023, Eq. 2. "Rate" and "bandwidth" are what can be achieved, where known.
struct HardwareProfile {
  std::string name;
  std::string device;                   // which device, in words, its name first
  Quantity matrix_side;                 // elements, side of the matrix unit [mu]
  Quantity matrix_rate;                 // TFLOP/s, fp16 matrix multiply [tau_M]
  Quantity general_rate;                // TFLOP/s, arithmetic outside the matrix unit [tau_G]
  Quantity hbm_bandwidth;               // TB/s (10^12 bytes), read and written bytes together [sigma_H]
  Quantity sram_bandwidth;              // TB/s, shared memory of all SMs [sigma_S]; derived where a file has none
  Quantity shared_memory_per_block;     // KiB, the most that one thread block can have
  Quantity sms;                         // streaming multiprocessors
  Quantity clock;                       // MHz
  std::optional<Quantity> l2_size;      // MiB
  std::optional<Quantity> memory_size;  // GB (10^9 bytes)
  std::optional<Quantity> wgmma_rate;   // TFLOP/s, matrix multiply by warp groups
  std::optional<Quantity> half2_rate;   // TFLOP/s, packed fp16 arithmetic outside the matrix unit

  // What danaus calibrate measures beyond these, for the roofline over counted work.
  std::optional<Quantity> load_clock;             // MHz, in short bursts of matrix products of random numbers
  std::optional<Quantity> l2_bandwidth;           // TB/s, read from L2 by all SMs
  std::optional<Quantity> shared_load_bandwidth;  // TB/s, of all SMs, 16 bytes a thread; likewise:
  std::optional<Quantity> shared_store_bandwidth;
  std::optional<Quantity> ldmatrix_bandwidth;
  std::optional<Quantity> stmatrix_bandwidth;
  std::optional<Quantity> remote_store_bandwidth;  // into the shared memory of another block of the cluster
  std::optional<Quantity> mma_f16acc_rate;         // TFLOP/s, mma.sync m16n8k16 of fp16 with fp16 accumulators
  std::optional<Quantity> mma_f32acc_rate;         // of fp16 with fp32 accumulators
  std::optional<Quantity> mma_bf16_rate;           // of bf16 with fp32 accumulators
  std::optional<Quantity> mma_depth8_f16acc_rate;  // the same of m16n8k8
  std::optional<Quantity> mma_depth8_bf16_rate;
  std::optional<Quantity> half2_bf16_rate;  // TFLOP/s, packed bf16 multiply-add
  std::optional<Quantity> permute_rate;     // Top/s (10^12 operations of a thread): prmt
  std::optional<Quantity> conversion_rate;  // Top/s: two fp32 to a pair of fp16
  std::optional<Quantity> conversion_bf16_rate;
  std::optional<Quantity> cluster8_sms;    // SMs that clusters of 8 blocks have a place on, one block each
  std::optional<Quantity> launch_latency;  // us, from the host's call of an empty kernel to its end as the host sees it
  std::optional<Quantity> launch_interval;  // us, from one empty kernel to the next in a stream

  std::vector<std::string> notes;  // on what may have disturbed the measurements
};

// A rate that goes with the SM clock, at the profile's load clock: as measured where either clock is not known.
double at_load_clock(const Quantity& rate, const HardwareProfile& profile);

// Names that load_profile() knows, in alphabetical order.
std::vector<std::string> profile_names();

// A profile by name, or from a file: a path is whatever ends in ".json". Throws std::invalid_argument.
HardwareProfile load_profile(std::string_view name_or_path);

// A profile from the text of such a file; `origin` begins each error message.
//
// sram_bandwidth that a file leaves out is derived: 128 bytes a clock from each SM's shared memory (32 banks of 4
// bytes), times SMs and clock. Its source says so, and its kind is that of the clock.
HardwareProfile parse_profile(std::string_view json, std::string_view origin);

}  // namespace danaus
