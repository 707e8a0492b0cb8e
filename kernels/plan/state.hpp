// Convolutions by state-space models: one launch, or three where rows are cut into parts; another one prepares the
// matrices of the channels.
#pragma once

#include "kernels/plan/program.hpp"
#include "reference/state/state.hpp"

namespace danaus {

// How rows are cut: so that a device has as many as it computes at once and products have all of their rows, where that
// is worth the reading of u again that it costs.
struct StateParts {
  std::int64_t count, length;  // of each but the last, whole chunks, as many as the kernel has at once
};
StateParts state_parts(const StateSpace& problem, const Device& device);
// Samples at a time of the kernel that computes what each part leaves; 1 where there is one part.
int ends_chunk(const StateSpace& problem, const Device& device);

// Throws where no kernel computes the case on the device: of f32 or f64 samples, of a chunk that no kernel has, of rows
// of 2^31 samples and more, or where the matrices of a channel do not fit into a block's shared memory. prepare() reads
// the poles back and throws where one has |A| > 1, unless the case says that it may; so it waits for the device.
Program make_state_program(const Case& asked, const Device& device);

}  // namespace danaus
