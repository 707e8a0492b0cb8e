// Random samples by place, the same on the GPU and on the host: arrays of gigabytes are filled where they are, and the
// rows that are checked are made again on the host without reading them back.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define DANAUS_BOTH_SIDES __host__ __device__
#else
#define DANAUS_BOTH_SIDES
#endif

namespace danaus {

// The last step of SplitMix64 (Steele et al. 2014).
DANAUS_BOTH_SIDES inline std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The key of one array: `number` tells the arrays of a seed apart.
DANAUS_BOTH_SIDES inline std::uint64_t noise_key(std::uint64_t seed, std::uint64_t number) {
  return scrambled(seed + 0x9e3779b97f4a7c15u * (number + 1));
}

// Zero mean, unit variance, nearly Gaussian: the sum of eight uniform 16-bit numbers. It is exact in integers and
// rounded once, by one product, so that no two processors disagree. At most 4.9.
DANAUS_BOTH_SIDES inline float noise(std::uint64_t key, std::int64_t index) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;
  const std::uint64_t place = 2 * static_cast<std::uint64_t>(index);
  const std::uint64_t words[] = {scrambled(key + kGolden * (place + 1)), scrambled(key + kGolden * (place + 2))};
  constexpr int kMean = 4 * 0xffff;
  constexpr float kOverDeviation = 1.86881237e-5f;  // sqrt(12 / (8 (2^32 - 1)))
  int sum = 0;
  for (std::uint64_t word : words)
    for (int shift = 0; shift < 64; shift += 16) sum += static_cast<int>(word >> shift & 0xffff);
  return kOverDeviation * static_cast<float>(sum - kMean);
}

}  // namespace danaus
