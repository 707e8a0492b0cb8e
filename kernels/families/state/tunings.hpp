// On an H200 (B=64, f16), S = 64, a warp by itself: 1.82 floors at L=8K, H=768, 2.30 at 64K, H=192, 2.77 at 128K,
// H=96, 2.64 at 256K, H=48, 2.60 at 1M, H=12; S = 16 1.23 at 16K, 1.44 at 64K, S = 32 1.26; S = 256 7.6 at 16K.
// Counted: at the rate of a copy an SM has to finish 4.6 samples a clock, one in 0.22 clocks. Of a sample, at S=64,
// with T the chunk:
//   products      T / 2 + 16 of the chunk, 4 S of its states, at 1.5 clocks for 2048 of them: 0.22 clocks for T = 64,
//                 0.21 for 32, which leaves fp32 work 4 S / T
//   shared memory what is read of matrices serves the rows of a warp for so many chunks at once: of 16 rows 0.20
//                 wavefronts for three chunks of 32, 0.22 for two of 64
//   issue         of 2048 samples 304 products, 256 fp32, 96 conversions, 64 of y's scale, 93 loads of matrices, some
//                 110 else; for three chunks of 32, as many samples, 288, 512, 160, 64, 73, 70
// A scheduler has 2343 clocks for 1536 samples at T = 32, where its products take 1274 and all else is 664
// instructions: the two hardly overlap. More for a scheduler to choose from does not help: 12 warps an SM of two chunks
// of 32 took 1.91 floors, not 1.82; products of samples that do not wait for the state 1.92. Fewer instructions do: two
// chunks of 64 against three of 32 took 1.82 and 1.85 at 8K, 2.30 and 2.39 at 64K, 2.64 and 2.83 at 256K, 2.60 and 2.80
// at 1M. One at a time, with y as it comes, chunks of 64 took 2.42 where three of 32 took 2.06, chunks of 128 2.55.
// Of 32 and 16 states two of 64 are no better than four of 32 (1.262 and 1.259, 1.232 and 1.227).
//   blocks        528 at once of 32 rows. At 64K 384: of the schedulers of an SM two have two warps and two have one,
//                 1.4 times as long as when all have two. Cut into four parts it is 1.87, but their ends take 0.81
//   memory        rows are far apart: 256 bytes of each at a time, where y takes the place of u until it is written
//
// By groups of four warps, of 64 states, an H200 takes 1.32 floors at 8K, 1.51 at 64K and 1.91 at 1M, at 1600 to 1760
// MHz: power holds it back. Products take 640 clocks for a chunk of 64 rows and 64 samples, which a copy takes 890 for;
// a warp issues 400 instructions beside them, of which 130 are the decay.
//   order         fp32 work that the compiler puts between products delays them: 1.44 at 8K, 1.49 where it may
//   registers     two blocks an SM; of three (168 registers) each product waits for the one before, 1.67
//   memory        a ring of 8 chunks a warp, by bulk copies of 16 rows; of 4 it takes 1.38. By cp.async and by stores
//                 of threads 1.41, a quarter of all instructions; by a bulk copy a row 1.49: one thread after another
//                 issues it
//   32 states     1.28 at 8K and 1.40 at 64K, where warps by themselves take 1.17 and 1.42
//   parts         1M in 22, which fill the device once, 1440 us; in 33 1773, in 44 1461, in 88 1499. 64K whole 1138, in
//                 2 1523, in 4 1466
//
// Beyond 128 states there are no registers for chunks at once; two of 64 with 64 states leave one word that does not
// change without a register.
#pragma once

#include <array>

#include "kernels/families/kinds.hpp"
#include "kernels/families/state/layout.hpp"

namespace danaus::state {

// Of ends of many rows, or parts of rows; none where registers are too few.
struct Wide {
  int row_tiles = 0, warps = 0, blocks = 0;
};

struct Line {
  int states;  // up to so many; 0 for the kernels that products need beside them
  Worth worth;
  Tuning tuning;
  Wide wide = {};
  bool group = false;  // of four warps (group.hpp)
};

// Their chunk is a pass, so that the state decays as rarely as samples come: matrices that are read for more rows.
constexpr Tuning wide_tuning(const Line& line) {
  const Tuning& t = line.tuning;
  return {t.chunk * t.at_once, 1, t.stage, false, line.wide.row_tiles, line.wide.warps, line.wide.blocks};
}

inline constexpr std::array kLines = std::to_array<Line>({
    {16, kChosen, {32, 4, 128, true, 1, 2, 6}, {2, 4, 3}},
    {32, kChosen, {32, 4, 128, true, 1, 2, 4}, {2, 4, 2}},
    {64, kChosen, {64, 1, 512, false, 1, 4, 2}, {}, true},
    {64, kChosen, {64, 2, 128, true, 1, 2, 4}, {2, 4, 2}},
    {64, kStudied, {32, 3, 192, true, 1, 2, 4}},
    // Chunk by chunk, y as it comes.
    {64, kStudied, {128, 1, 128, false, 1, 4, 2}},
    {128, kChosen, {32, 2, 128, true, 1, 4, 2}},
    {256, kChosen, {64, 1, 64, false, 1, 8, 1}},
    {0, kChosen, {0, 1, 0, false, 0, 8, 2}},
});

// A group takes as long for one row as for 64: of 64 rows three quarters of what two warps of 16 take, of 32 (8K) 470
// us where they take 346.
constexpr bool fills_groups(std::int64_t batch) { return 4 * batch >= 3 * 64 * ((batch + 63) / 64); }
// Of so few samples the recurrence takes less than the matrices of a chunk.
inline constexpr std::int64_t kStepLength = 32;
// Into how many parts a row is cut is what takes least, of as many as are blocks of kMostRounds rounds. A round takes
// as long as a row's samples and kBlock more, which are what a block begins and ends with; one of half the blocks or
// fewer kHalfRound of that, one of ends kEnds of the samples; cutting at all as long as kCut samples; carrying a state
// over a part as kCarry, and its way through memory, four times, as kStates for each of the device's blocks at once. On
// an H100, us, against what the rule expects: S = 64, B=1, H=4096: 4K in 4 parts 379 (393), 8 249 (261), 16 220 (229),
// 32 261 (269); 16K in 16 415 (438), 32 384 (374), 64 507 (585); 1K whole 222 (222), in 4 190 (172), 8 169 (156). B=64:
// 64K, H=192 whole 1709 (1544), in 2 1822 (1640), 4 1955 (1707), 8 2021 (1820).
inline constexpr double kBlock = 160, kHalfRound = 0.6, kEnds = 0.45, kCut = 1000, kCarry = 16, kStates = 0.4;
inline constexpr std::int64_t kMostRounds = 4;

}  // namespace danaus::state
