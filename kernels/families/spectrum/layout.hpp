// Of the filter's transform: what its kernel is compiled for and given, and the sizes and places that follow.
#pragma once

#include <cstdint>

#include "kernels/memory/division.hpp"
#include "reference/basics.hpp"

namespace danaus::spectrum {

struct Key {
  int points;            // M: of the complex transform
  bool columns = false;  // the outer pass of a long filter's
  constexpr int size() const { return points; }
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int radix0 = 1, radix1 = 1, radix2 = 1, radix3 = 1;  // of the stages, outermost first; 1 for one that there is not
  int threads = 32;                                    // of a transform
  int transforms = 1;                                  // of a block
  int blocks = 1;                                      // on an SM at once, at least
  bool operator==(const Tuning&) const = default;
};

// Shared memory has the points of each transform, in place: point p = n0 S0 + n1 S1 + n2 S2 + n3 becomes frequency
// n0 + r0 (n1 + r1 (n2 + r2 n3)), where stage i replaces digit i of the point by one of the frequency.
struct Layout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t) : key(k), tuning(t) {}

  int points = key.points;
  int threads = tuning.threads * tuning.transforms;
  int step0 = points / tuning.radix0, step1 = step0 / tuning.radix1, step2 = step1 / tuning.radix2;
  int transform_bytes = 8 * (points + points / 16 + tuning.radix0 + 1) / 16 * 16 + 16;
  int warps = tuning.threads / 32;                       // of a transform
  int sums_begin = transform_bytes * tuning.transforms;  // two of each of its warps' taps
  int shared_bytes = sums_begin + 8 * warps * tuning.transforms;

  constexpr const char* broken_rule() const {
    const Tuning& t = tuning;
    if (t.radix0 * t.radix1 * t.radix2 * t.radix3 != points) return "radices: their product is the number of points";
    if ((key.columns ? threads : tuning.threads) % 32 != 0) return "threads: whole warps";
    if (key.columns && threads % tuning.transforms != 0) return "transforms: a column a thread at a time";
    return nullptr;
  }
};

// Where point p is, in 8 bytes: lanes that are 16 points apart, or a step of the first stage, shall not meet in a bank.
DANAUS_HOST_AND_DEVICE constexpr int place_of(int p, int step0) { return p + p / 16 + p / step0; }

// An entry of the table: two places, each with this bit where the frequency is the conjugate's.
inline constexpr int kMirrored = 0x8000;

struct Arguments {
  const void* k;  // [H, K]
  float* rows;    // [H, N1, N2] complex fp32: made by the outer pass, transformed by the inner one; or null
  const std::uint32_t* entries;  // [parts, entries, 2]: what two pairs of slots of a part are gathered from
  const std::uint32_t* numbers;  // [parts, entries]: which ones of the channel; null: in order
  const std::uint32_t* roots;    // [M / 2] exp(-2 pi i j / M), complex fp32
  const std::uint32_t* marks;    // [M + 1] fp32 by which frequencies are multiplied, or null
  float* factors;                // [H]: what each channel's spectrum is divided by, or null: nothing
  float* ranges;                 // [H, parts, 2]: least and greatest energy of f16 items, with factors; or null
  std::uint32_t* spectrum;       // [H, N] complex numbers: pairs of real parts, then of imaginary parts
  std::uint32_t* conjugate;      // the same of the conjugate; either may be null
  long long filter_length;       // K
  int channels, period;          // H, of the inner pass H N1; L
  int size;                      // N, of the inner pass N2
  int parts;                     // R: N = R M; of real pairs 1, where N = 2 M
  float scale;
  Dtype k_dtype;  // of the taps
  bool circular, right_angle;
  bool real_pairs;  // pair fold, two taps a point
  // [H, sums_of_channel, 2] of the outer pass, over taps: of magnitudes, of squares. The inner pass then has factors of
  // channels, not of their N1 rows, and ranges [H, 2] without a greatest energy. Or null.
  float* sums;
  int sums_of_channel, rows_of_channel;
};

}  // namespace danaus::spectrum
