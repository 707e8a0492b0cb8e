// Kernels that do one thing, as often as they can, on random operands. All asynchronous on the stream.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "experiments/calibrate/calibration.hpp"

namespace danaus {

// One instruction of the kernels, over and over in every warp.
struct Drill {
  std::string_view key;   // of the profile
  std::string_view what;  // the instruction
  Limit limit;
  double units;            // a warp's instruction is worth: bytes, flops or operations
  double units_of_thread;  // what ceiling_of() is asked for
  int least_sm;
  std::int64_t (*launch)(int multiprocessors, std::uint32_t* sink, Stream stream);  // returns instructions of warps
  int most_sm = std::numeric_limits<int>::max();
};
std::span<const Drill> drills();

// Words that a drill's sink must have for a device.
std::int64_t sink_words(int multiprocessors);

// Reads a buffer again and again, past L1; returns the bytes read.
std::int64_t read_again(const void* from, std::int64_t bytes, int multiprocessors, std::uint32_t* sink, Stream stream);

void do_nothing(Stream stream);

}  // namespace danaus
