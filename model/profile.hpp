// A hardware profile: what one device can do, every number with its unit, its source and how it is known.
//
// Profiles are data files, model/profiles/*.json, compiled into the library. A file names each number as the members of
// HardwareProfile are named here. A number is refused, by name, when it is missing, not positive, in another unit,
// without a source, or above its ceiling.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace danaus {

struct Quantity {
  double value = 0;
  std::string unit;
  std::string source;
  std::string kind;  // "datasheet", "published" (by someone else) or "measured" (by us)
  std::optional<double>
      ceiling;  // datasheet or derived limit in the same unit; a rate that is no datasheet peak has one
  std::string ceiling_source;
};

// Symbols in brackets are those of Fu et al. 2023, Eq. 2. "Rate" and "bandwidth" are what can be achieved, where known.
struct HardwareProfile {
  std::string name;
  std::string device;                  // which device, in words
  Quantity matrix_side;                // elements, side of the matrix unit [mu]
  Quantity matrix_rate;                // TFLOP/s, fp16 matrix multiply [tau_M]
  Quantity general_rate;               // TFLOP/s, arithmetic outside the matrix unit [tau_G]
  Quantity hbm_bandwidth;              // TB/s (10^12 bytes), read and written bytes together [sigma_H]
  Quantity sram_bandwidth;             // TB/s, shared memory of all SMs [sigma_S]; derived where a file has none
  Quantity shared_memory_per_block;    // KiB, the most that one thread block can have
  Quantity sms;                        // streaming multiprocessors
  Quantity clock;                      // MHz
  std::optional<Quantity> l2_size;     // MiB
  std::optional<Quantity> wgmma_rate;  // TFLOP/s, matrix multiply by warp groups
  std::optional<Quantity> half2_rate;  // TFLOP/s, packed fp16 arithmetic outside the matrix unit
};

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
