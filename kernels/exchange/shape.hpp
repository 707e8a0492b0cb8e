// What fused_exchange computes with: sizes, places in memory, and which of its constants stay in registers.
#pragma once

#include <algorithm>

#include "kernels/transfer.hpp"

namespace danaus::inline DANAUS_BACKEND {

// How a block goes through the steps of its items; | is a barrier of the block.
enum class Order {
  in_turn,     // A(n) | B(n) | A back(n) |         the ring has room for one item beside those that are on their way
  overlapped,  // A back(n - 1), A(n) | B(n) |      for two, or for those two alone where it is refilled during B
  pipelined,   // A back(n - 2), A(n), B(n - 1) |   for three
};

template <Dtype type, Fold fold, bool gated, int radix, int columns, int warps, int ring, int gate_ring,
          bool spectrum_in_shared = false, bool table_in_shared = true>
struct FusedExchange {
  static constexpr Dtype kType = type;
  static constexpr bool kPair = fold == Fold::pair;
  static constexpr bool kGated = gated;
  static constexpr int kRadix = radix, kColumns = columns, kWarps = warps, kRing = ring;
  static constexpr int kGateRing = gate_ring;
  static constexpr int kThreads = 32 * warps;
  static constexpr int kSize = 64 * radix * columns;
  static_assert(columns == 8 || columns == 16 || columns == 32 || columns % 64 == 0);

  // Long rows would evict the spectra, which a channel's items share, from L2.
  static constexpr Cache kCache = kSize >= 8192 ? Cache::stream : Cache::normal;

  static constexpr int kSlabs = columns <= 64 ? 1 : columns / 64;
  static constexpr int kSlabColumns = columns / kSlabs, kSlabOffset = 64;
  static constexpr int kColumnChunks = kSlabColumns / 8;        // 16-byte chunks of one row n_hi in a slab
  static constexpr int kRowsPerLine = 8 / kColumnChunks;        // rows n2 that share a line of 128 bytes
  static constexpr int kRowBytes = 128 * radix * kSlabColumns;  // 64 r rows of kSlabColumns samples
  static constexpr int kSlabBytes = 2 * kRowBytes, kLoadBytes = kPair ? kSlabBytes : kRowBytes;  // of one tensor copy
  static constexpr int kChunks = kRowBytes / 16;
  static_assert(kSlabBytes % 1024 == 0);

  static constexpr int kUnits = kSlabs * kColumnChunks;  // of step A
  static constexpr int kUnitsPerWarp = kUnits / warps;
  static_assert(kUnits % warps == 0, "every warp takes the same number of columns, always the same ones");
  static constexpr int kLines = kSlabBytes / 256;  // of step B: lines of a slab, two rows (re, im) each
  static constexpr int kLinePairsPerWarp = kLines / 2 / warps;
  static_assert(kLines % (2 * warps) == 0);

  // 16-byte chunk number (line, chunk of the line) <-> first sample; the line is 8 nr + n1 + 8 r (n2 / kRowsPerLine).
  static DANAUS_DEVICE int sample_of(int chunk) {
    const int line = chunk / 8, c = chunk % 8;
    const int row = line % (8 * radix) * 8 + line / (8 * radix) * kRowsPerLine + c / kColumnChunks;
    return row * columns + c % kColumnChunks * 8;
  }
  static DANAUS_DEVICE void locate(int chunk_of_row, int& slab, int& chunk) {
    const int row = chunk_of_row / (columns / 8), column = chunk_of_row % (columns / 8);
    slab = column / kColumnChunks;
    const int line = row / 8 + 8 * radix * (row % 8 / kRowsPerLine);
    chunk = 8 * line + row % 8 % kRowsPerLine * kColumnChunks + column % kColumnChunks;
  }
  static DANAUS_DEVICE void tensor_at(Item item, int slab, int (&at)[5]) {
    at[0] = 64 * slab, at[1] = at[2] = 0, at[3] = item.channel, at[4] = item.row;
  }

  static constexpr bool kRows16 = radix == 2;              // nr and n1 are one digit of 16
  static constexpr bool kRealRows = !kPair && radix <= 3;  // real data: nr and n1 are one digit of 8 r
  static constexpr bool kColumns16 = kSlabs % 2 == 0;      // the lowest bit of ns and n3 are one digit of 16

  // Tables, in vectors of four words a lane unless said otherwise; kernels/geometry.cpp makes them.
  static constexpr int kEightAt = 0;               // DFT8 n1, DFT n3
  static constexpr int kSixteenAt = 2;             // DFT16: even, odd, odd transposed
  static constexpr int kOuterAt = 5;               // w_{64 r}^(kr (8 n1 + n2)), two kr a vector
  static constexpr int kSlabAt = kOuterAt + 3;     // before n3, two slabs a vector
  static constexpr int kWeightedAt = kSlabAt + 4;  // right angle: first matrix there, and back
  static constexpr int kWeightedVectors = kRealRows ? (radix * radix + 1) / 2 : 1;
  static constexpr int kLineAt = kWeightedAt + 2 * kWeightedVectors;  // per line of a group: step B's twiddles;
  static constexpr int kLineVectors = kColumns16 ? 2 : 1;             // for even S a vector each
  static constexpr int kGroupLines = 8 * radix, kGroups = kLines / kGroupLines;
  static constexpr int kGroupAt = kLineAt + kGroupLines * kLineVectors;  // per group: DFT8 n4 there, back
  // Per unit, there and back: DFT8 n2; twiddles, two kr a vector.
  static constexpr int kUnitAt = kGroupAt + 2 * kGroups;
  static constexpr int kUnitVectors = 1 + (radix + 1) / 2;
  static constexpr int kTableWords = 128 * (kUnitAt + 2 * kUnits * kUnitVectors);

  static_assert(kRowBytes % 1024 == 0, "both rows are swizzled alike");
  // What stays in registers, where it is little: constants of a warp's only unit, twiddles of its lines, their
  // spectrum. What the compiler has room for within 128 registers decides, so the rules below are measured ones.
  static constexpr bool kUnitInRegisters = kUnitsPerWarp == 1 && (radix == 1 || warps <= 8);
  static constexpr int kLinesPerWarp = 2 * kLinePairsPerWarp;
  // A warp has lines of one group, whose matrices registers hold; or, where that is faster, the same few lines of each
  // of several groups, whose twiddles they hold (16K causal 1552 -> 1514 us, 32K bf16 2646 -> 2540; but 8K 474 -> 492).
  static constexpr bool kGroupsPay = radix > 1 && (kSlabs == 4 || (type == Dtype::f16 && !kPair));
  static constexpr int kHeldLines = 4 / kLineVectors, kHeldGroups = kLinesPerWarp / kHeldLines;
  static constexpr bool kSeveralGroups =
      kGroupsPay && kLinesPerWarp % kHeldLines == 0 && kHeldGroups > 1 && kGroups % kHeldGroups == 0;
  // Or it has lines of two groups, and takes the same ones of both at once, with one load of their twiddles: 6K causal
  // 546 -> 514 us, 8K bf16 causal 841 -> 802. It costs registers, of which radix 3 in eight warps has none to spare
  // (12K causal 1144 -> 1165), and gains nothing where f16 of radix 2 or gates wait for memory.
  static constexpr int kMostTiles = radix <= 2 && type == Dtype::f16 ? 4 : 2;  // of step B at once, four registers each
  static constexpr bool kTwoGroupsPay = kPair ? !gated : radix == 2 || warps < 8;
  static constexpr bool kTwoGroups = (radix > 2 || (radix == 2 && type == Dtype::bf16)) && kTwoGroupsPay &&
                                     !kSeveralGroups && kGroups % 2 == 0 && kLinesPerWarp % 4 == 0 &&
                                     kGroupLines % (kLinesPerWarp / 2) == 0 && kMostTiles / kSlabs >= 2;
  static constexpr int kBatchGroups = kTwoGroups ? 2 : 1;
  static constexpr int kWarpGroups = kSeveralGroups ? kHeldGroups : kBatchGroups;
  static constexpr int kWarpLines = kLinesPerWarp / kWarpGroups;
  static_assert(kGroupLines % kWarpLines == 0);
  static constexpr bool kLinesInRegisters = kSeveralGroups || (radix == 1 && kLinesPerWarp * kLineVectors <= 8);
  static constexpr bool kSpectrumInRegisters =
      !spectrum_in_shared && !kSeveralGroups && kLinePairsPerWarp * kSlabs <= 4;

  // Shared memory: barriers, a table for step B, a channel's spectrum, the ring of slabs, the ring of gates. What the
  // table leaves room for may be worth more, as a seventh slab of 32K (2412 -> 2313 us) or a fifth block of 3K (causal,
  // 282 -> 268); L1 holds it then.
  static constexpr int kTableBegin = 1024;
  static constexpr bool kTableInShared = table_in_shared && (kSeveralGroups || !kLinesInRegisters);
  static constexpr int kTableAt = kSeveralGroups ? kGroupAt : kLineAt;
  static constexpr int kTableBytes = !kTableInShared  ? 0
                                     : kSeveralGroups ? 1024 * kGroups
                                                      : 512 * kGroupLines * kLineVectors;
  static constexpr bool kSpectrumInShared = spectrum_in_shared;
  static constexpr int kSpectrumBegin = kTableBegin + kTableBytes;
  static constexpr int kImaginaryBegin = kSpectrumBegin + (spectrum_in_shared ? 4 * kSize : 0);
  // Where one item at a time is between A and A back, the imaginary rows of the right angle have one place for all
  // items, and a place of the ring holds real ones alone.
  static constexpr bool kApart = !kPair && (radix > 1 || kSlabs > 1);
  static constexpr int kPlaceBytes = kApart ? kRowBytes : kSlabBytes;
  static constexpr int kSlabsBegin = kImaginaryBegin + (kApart ? kSlabs * kRowBytes : 0);
  static constexpr int kGatesBegin = kSlabsBegin + ring * kPlaceBytes;
  static constexpr int kSharedBytes = kGatesBegin + gate_ring * kLoadBytes;
  static_assert(kSlabsBegin % 1024 == 0, "slabs are swizzled by their addresses");

  // Of tensor copies; threads do their items in turn. Overlapping costs what is neither long nor gated more registers
  // than it is worth.
  static constexpr bool kOverlaps = ring >= 3 * kSlabs && (gated ? gate_ring >= 2 * kSlabs : kSlabs > 1);
  // A ring of two items is enough to overlap them if it is refilled during step B: when the stores of the item before
  // have been read, early enough for the next one (32K causal 3380 -> 3140 us, 12K 737 -> 720). Some spill then: in
  // turn, 24K takes 1864 us and not 1992, 16K f16 983 and not 1093, 24K bf16 causal 3371 and not 3497.
  static constexpr bool kLateSpills = kSlabs == 6 || (type == Dtype::f16 ? kPair && radix == 2 : !kPair && kSlabs == 3);
  static constexpr bool kRefillsLate = !gated && ring >= 2 * kSlabs && (kApart || ring < 3 * kSlabs) &&
                                       (kSlabs > 1 || (kApart && radix > 2)) && !kLateSpills;
  static constexpr Order kOrder = kRefillsLate                   ? Order::overlapped
                                  : kApart                       ? Order::in_turn
                                  : ring >= 5 * kSlabs && !gated ? Order::pipelined
                                  : kOverlaps                    ? Order::overlapped
                                                                 : Order::in_turn;
  // In turn: where the ring has room for three items, it is refilled one item behind the stores, so that nobody waits
  // for them; where it has not room for two, stores go out as slabs are finished, and their places are refilled as they
  // become free.
  static constexpr int kLag = ring >= 3 * kSlabs ? 1 : 0;
  static constexpr int kStoresAnItem = (gated && gate_ring == 0) || ring >= 2 * kSlabs ? 1
                                       : kUnitsPerWarp % kSlabs == 0                   ? kSlabs
                                       : kUnitsPerWarp % 2 == 0 && kSlabs % 2 == 0     ? 2
                                                                                       : 1;
  // Slabs that a refill asks for without a branch, and whether a warp's units are a loop: what makes the compiler spill
  // least (32K bf16 causal, 1 and a loop: 4202 us, 2: 4353, 2 and no loop: 4569; f16 3226 with a loop, 3139 without).
  static constexpr int kFetchesAtOnce = kOrder != Order::in_turn || kSlabs == 1 || kSlabs == 4 ? 1
                                        : kSlabs % 2 == 0                                      ? 2
                                                                                               : 3;
  static constexpr bool kUnitsRolled = kSlabs == 4 && !(kRefillsLate && type == Dtype::f16);
  // Where threads apply a gate they need all slabs of an item at once, also those that the ring had no room for before.
  static constexpr bool kRefillFirst = gated && gate_ring == 0 && ring < 2 * kSlabs;
  // Where the ring of gates cannot hold those of an item, the pregate's places are filled again as they become free.
  static constexpr int kGateGroups = gate_ring >= kSlabs ? 1 : kUnitsPerWarp;
  static_assert(gate_ring == 0 || (gate_ring * kGateGroups >= kSlabs && gate_ring * kStoresAnItem >= kSlabs));
  static_assert(gate_ring == 0 || kStoresAnItem == 1 || kGateGroups == 1 || kGateGroups == kStoresAnItem);
  // Line pairs of step B in flight: up to 16 registers of data, as in step A. They are a batch, of which each of its
  // groups has as many.
  static constexpr int kMostPairs = std::clamp(kMostTiles / kSlabs, 1, kWarpLines / 2 * kBatchGroups);
  static constexpr int kLinePairsAtOnce = kLinePairsPerWarp % kMostPairs == 0 ? kMostPairs : 1;
  static constexpr int kBatchPairs = kLinePairsAtOnce / kBatchGroups;
  static_assert(kBatchPairs > 0 && kWarpLines % (2 * kBatchPairs) == 0);
};

}  // namespace danaus::inline DANAUS_BACKEND
