// On an H200 (B=64, f16), S = 64: 1.80 floors at L=8K, H=768, 2.36 at 64K, H=192, 2.78 at 1M, H=12; S = 16 1.23, 1.83,
// 1.96; S = 256 7.6 at 16K. Chunks of 64, a chunk at a time, take 2.42 and 3.14 where these took 2.06 and 2.69, chunks
// of 128 2.55 and 3.33; copies asked of each piece then whether it is there, without which 2.06 became 1.80, but S = 16
// 1.19 became 1.23 at 16K. A warp issued an instruction in four clocks then (S = 64, 8K). That 64K and more take the
// longer because they have rows for 6 warps an SM or fewer is a guess. Counted: at the rate of a copy an SM has to
// finish 4.6 samples a clock, one in 0.22 clocks. Of a sample, at S=64, with T the chunk:
//   products      T / 2 + 16 of the chunk, 4 S of its states, at 1.5 clocks for 2048 of them: 0.22 clocks for T = 64,
//                 0.21 for 32, which leaves fp32 work 4 S / T
//   shared memory what is read of matrices serves the rows of a warp for so many chunks at once: 0.25 wavefronts of 32
//                 rows and a chunk of 64; of 16 rows 0.20 for three chunks of 32 and 0.16 for four, of which registers
//                 spill. Of more rows their states take the registers
//   issue         0.17 clocks: of 1536 samples 216 products, which take two slots, 402 fp32, 120 conversions, 75 else.
//                 Samples come as ldmatrix orders them: from lanes of 16 bytes, each product moved its four first
//   waiting       a chunk's own chain is some 80 clocks for eight states: pack, product, decay, two products. States go
//                 through it by eights, each through all chunks that are there, so 8 warps an SM keep the products
//                 busy; where y was whole before the state moved, a warp alone took 5000 clocks for 2048 samples
//   blocks        528 at once of 32 rows: 2.9 rounds of 1536 at 8K, where those of 64 rows took two rounds for 1.5; 384
//                 at 64K, where rows are not cut and read twice
//   memory        rows are far apart: 384 bytes of each at a time, where y takes the place of u until it is written
// Beyond 128 states there are no registers for chunks at once.
#pragma once

#include <array>

#include "kernels/families/kinds.hpp"
#include "kernels/families/state/layout.hpp"

namespace danaus::state {

struct Line {
  int states;  // up to so many; 0 for the kernels that products need beside them
  Worth worth;
  Tuning tuning;
};

inline constexpr std::array kLines = std::to_array<Line>({
    {16, kChosen, {32, 4, 128, true, 1, 2, 6}},
    {32, kChosen, {32, 4, 128, true, 1, 2, 4}},
    {64, kChosen, {32, 3, 192, true, 1, 2, 4}},
    // Chunk by chunk, y as it comes.
    {64, kStudied, {64, 1, 64, false, 1, 2, 4}},
    {64, kStudied, {128, 1, 128, false, 1, 4, 2}},
    {128, kChosen, {32, 2, 128, true, 1, 4, 2}},
    {256, kChosen, {64, 1, 64, false, 1, 8, 1}},
    {0, kChosen, {0, 1, 0, false, 0, 8, 2}},
});

// Of so few samples the recurrence takes less than the matrices of a chunk.
inline constexpr std::int64_t kStepLength = 32;
// A row is cut only into parts of at least so many samples, and of as many bytes of samples as its state has four
// times.
inline constexpr std::int64_t kLeastPart = 512;

}  // namespace danaus::state
