// How N is split into factors and where each step leaves its intermediate: what Eq. 2 needs and the paper leaves open.
//
// The rule, for N points of two 16-bit values transformed in place (4 N bytes):
//
//   order p    4 N bytes fit in one block's shared memory   they do not fit
//   1, 2, 3    balanced factors, every step in SRAM         balanced factors, every step in HBM
//   4 and up   balanced factors, every step in SRAM         the outermost step in HBM, then the rule for N/N1 and p - 1
//
// Balanced: powers of two that differ by at most a factor of two, the larger ones outermost. Where order 4 goes through
// HBM, N1 is raised until the order-3 rest fits in SRAM, if it does not already.
//
// It is what Fu et al. 2023 describe: orders up to 3 are one kernel, which holds a whole sequence in one SM or nothing,
// and order 4 is an outer step through HBM around the order-3 kernel. Where their code states its factors it agrees up
// to the order of the factors, for example 2M = 64 x 32 x 32 x 32 and 4M = 128 x 32 x 32 x 32.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/profile.hpp"

namespace danaus {

enum class Memory { sram, hbm };

std::string_view name(Memory memory);

// Bytes of `points` complex values, each two 16-bit numbers.
std::int64_t half_complex_bytes(std::int64_t points);

bool fits_in_sram(std::int64_t points, const HardwareProfile& profile);

// Factors of a transform of `points`, outermost first, by the rule above. Throws unless `points` is a power of two and
// at least 2^order, and the order from 1 to 5.
std::vector<int> choose_factors(std::int64_t points, int order, const HardwareProfile& profile);

// Where one step's intermediate is stored, and the points whose size decided it: N, or what outer steps left of it.
struct Place {
  Memory memory;
  std::int64_t points;
};

// One place for each step, outermost first, by the rule above, for any list of factors.
std::vector<Place> places(const std::vector<int>& factors, const HardwareProfile& profile);

}  // namespace danaus
