#include <algorithm>
#include <array>

#include "experiments/calibrate/kernels.hpp"
#include "experiments/timing/noise.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/device/warpgroup.hpp"

namespace danaus {
namespace {

using Word = std::uint32_t;

constexpr int kBlocksPerSm = 2;
constexpr int kMostThreads = 512;

__device__ Word random_word(int number) {
  return static_cast<Word>(scrambled(noise_key(blockIdx.x * kMostThreads + threadIdx.x, number)));
}
// Magnitudes from 0.5 to 1.
template <Dtype T>
__device__ Word random_pair(int number) {
  return T == Dtype::f16 ? (random_word(number) & 0x83ff83ffu) | 0x38003800u
                         : (random_word(number) & 0x807f807fu) | 0x3f003f00u;
}
__device__ float random_float(int number) { return __uint_as_float((random_word(number) & 0x807fffffu) | 0x3f000000u); }

// A drill has registers of its own; step() executes kInstructions, some of them independent of each other.

// a b is added and taken away by turns, so that sums stay as large as their terms.
template <class Accumulators, bool deep, class Product>
struct Matrices {
  static constexpr int kThreads = 256, kSteps = 2048, kChains = 8, kInstructions = 2 * kChains;
  static constexpr Dtype T = Product::kType;
  static constexpr int kA = deep ? 4 : 2;
  Word plus[kA], minus[kA], b[kChains][2];
  Accumulators sum[kChains] = {};

  __device__ Matrices() {
    for (int i = 0; i < kA; ++i) plus[i] = random_pair<T>(i), minus[i] = device::negate2(plus[i]);
    for (int i = 0; i < kChains; ++i) b[i][0] = random_pair<T>(4 + 2 * i), b[i][1] = random_pair<T>(5 + 2 * i);
  }
  __device__ void step() {
    DANAUS_UNROLL
    for (int i = 0; i < kChains; ++i) Product::add(sum[i].value, plus, b[i]);
    DANAUS_UNROLL
    for (int i = 0; i < kChains; ++i) Product::add(sum[i].value, minus, b[i]);
  }
  __device__ Word result() const {
    Word word = 0;
    for (const Accumulators& each : sum)
      for (const auto& value : each.value) word ^= static_cast<Word>(value);
    return word;
  }
};
struct HalfSums {
  Word value[2];
};
struct FloatSums {
  float value[4];
};
struct ProductF16 {
  static constexpr Dtype kType = Dtype::f16;
  static __device__ void add(Word (&sum)[2], const Word (&a)[4], const Word (&b)[2]) { device::mma_f16acc(sum, a, b); }
  static __device__ void add(Word (&sum)[2], const Word (&a)[2], const Word (&b)[2]) {
    device::mma_f16acc(sum, a, b[0]);
  }
};
template <Dtype T>
struct ProductF32 {
  static constexpr Dtype kType = T;
  static __device__ void add(float (&sum)[4], const Word (&a)[4], const Word (&b)[2]) {
    device::mma_f32acc<T>(sum, a, b);
  }
  static __device__ void add(float (&sum)[4], const Word (&a)[2], const Word (&b)[2]) {
    device::mma_f32acc<T>(sum, a, b[0]);
  }
};

// The same of groups of four warps, of 128 columns in shared memory. sm_90 alone.
template <Dtype T>
struct GroupProducts {
  static constexpr int kThreads = 256, kSteps = 512, kTiles = 16, kProducts = 4, kInstructions = kTiles * kProducts;
  static constexpr int kSharedBytes = 128 * 8 * kTiles;
  Word plus[4], minus[4];
  float sum[kTiles][4] = {};
  __device__ GroupProducts() {
    for (int i = 0; i < 4; ++i) plus[i] = random_pair<T>(i), minus[i] = device::negate2(plus[i]);
    for (int at = 4 * threadIdx.x; at < kSharedBytes; at += 4 * kThreads)
      device::store_shared<4>(at, {random_pair<T>(4 + at)});
    device::fence_async();
    __syncthreads();
  }
  __device__ void step() {
    device::group_fence(sum);
    DANAUS_UNROLL
    for (int i = 0; i < kProducts; ++i) device::group_multiply<T, true>(sum, i % 2 == 0 ? plus : minus, i / 2 * 32);
    device::group_commit();
    device::group_wait<0>(sum);
  }
  __device__ Word result() const {
    Word word = 0;
    for (const auto& tile : sum)
      for (float value : tile) word ^= static_cast<Word>(value);
    return word;
  }
};

// x = d - x, by a factor of -1 that the compiler does not know. One register of each chain: where an instruction reads
// two or three that no other shares, the register file limits it (41 and 36 TFLOP/s on an H200).
struct Floats {
  static constexpr int kThreads = 512, kSteps = 8192, kChains = 8, kInstructions = 2 * kChains;
  float x[kChains], factor = static_cast<float>(gridDim.y) - 2, d = random_float(0);
  __device__ Floats() {
    for (int i = 0; i < kChains; ++i) x[i] = random_float(i + 1);
  }
  __device__ void step() {
    DANAUS_UNROLL
    for (int i = 0; i < kInstructions; ++i) x[i % kChains] = fmaf(x[i % kChains], factor, d);
  }
  __device__ Word result() const {
    float sum = 0;
    for (int i = 0; i < kChains; ++i) sum += x[i];
    return __float_as_uint(sum);
  }
};

// Three registers an instruction, as the twiddles of kernels have them. Where all share a factor and a summand 1.4
// times as many pass.
template <Dtype T>
struct Halves {
  static constexpr int kThreads = 512, kSteps = 4096, kChains = 8, kInstructions = 2 * kChains;
  Word x[kChains], y[kChains], c[kChains], minus[kChains];
  __device__ Halves() {
    for (int i = 0; i < kChains; ++i) {
      x[i] = random_pair<T>(3 * i), y[i] = random_pair<T>(3 * i + 1), c[i] = random_pair<T>(3 * i + 2);
      minus[i] = device::negate2(c[i]);
    }
  }
  __device__ void step() {
    DANAUS_UNROLL
    for (int i = 0; i < kChains; ++i) x[i] = device::fma2<T>(c[i], y[i], x[i]);
    DANAUS_UNROLL
    for (int i = 0; i < kChains; ++i) y[i] = device::fma2<T>(minus[i], x[i], y[i]);
  }
  __device__ Word result() const {
    Word word = 0;
    for (int i = 0; i < kChains; ++i) word ^= x[i] ^ y[i];
    return word;
  }
};

// Bytes go round in a word; the compiler does not know the selector.
struct Permutes {
  static constexpr int kThreads = 512, kSteps = 4096, kChains = 8, kInstructions = 2 * kChains;
  Word x[kChains], selector = 0x0321 + (gridDim.y - 1);
  __device__ Permutes() {
    for (int i = 0; i < kChains; ++i) x[i] = random_word(i);
  }
  __device__ void step() {
    DANAUS_UNROLL
    for (int i = 0; i < kInstructions; ++i)
      x[i % kChains] = device::permute_bytes(x[i % kChains], x[(i + 1) % kChains], selector);
  }
  __device__ Word result() const {
    Word word = 0;
    for (Word each : x) word ^= each;
    return word;
  }
};

// The pair that comes out is read as a float, whose upper half is that of c: it stays among the numbers of both types.
template <Dtype T>
struct Conversions {
  static constexpr int kThreads = 512, kSteps = 4096, kChains = 8, kInstructions = 2 * kChains;
  Word x[kChains];
  float c[kChains];
  __device__ Conversions() {
    for (int i = 0; i < kChains; ++i) c[i] = 2 + fabsf(random_float(i)), x[i] = random_word(kChains + i) & 0xffff;
  }
  __device__ void step() {
    DANAUS_UNROLL
    for (int i = 0; i < kInstructions; ++i)
      x[i % kChains] = device::pack2<T>(__uint_as_float(x[i % kChains]), c[i % kChains]);
  }
  __device__ Word result() const {
    Word word = 0;
    for (Word each : x) word ^= each;
    return word;
  }
};

enum class Access { load, store, load_matrices, store_matrices };

// 16 bytes a thread, side by side: four wavefronts a warp. The compiler does not know that the address stays where it
// is, so that no access can stand for another.
template <Access access>
struct Shared {
  static constexpr int kThreads = 256, kSteps = 1024, kInstructions = 8;
  static constexpr int kPlaceBytes = 16 * kThreads, kSharedBytes = kInstructions * kPlaceBytes;
  Words<4> words;
  SharedAddress address = 16 * threadIdx.x, stride = gridDim.y - 1;
  __device__ Shared() {
    for (int i = 0; i < 4; ++i) words[i] = random_word(i);
    for (int i = 0; i < kInstructions; ++i) device::store_shared<16>(address + i * kPlaceBytes, words);
    __syncthreads();
  }
  __device__ void step() {
    address += stride;
    DANAUS_UNROLL
    for (int i = 0; i < kInstructions; i += 2) {
      const SharedAddress first = address + i * kPlaceBytes, second = first + kPlaceBytes;
      if constexpr (access == Access::load) take(device::load_shared<16>(first), device::load_shared<16>(second));
      if constexpr (access == Access::load_matrices)
        take(device::load_matrices<4, false>(first), device::load_matrices<4, false>(second));
      if constexpr (access == Access::store)
        device::store_shared<16>(first, words), device::store_shared<16>(second, words);
      if constexpr (access == Access::store_matrices)
        device::store_matrices<4, false>(first, words), device::store_matrices<4, false>(second, words);
    }
  }
  __device__ void take(const Words<4>& a, const Words<4>& b) {
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) words[i] ^= a[i] ^ b[i];
  }
  __device__ Word result() const { return words[0] ^ words[1] ^ words[2] ^ words[3]; }
};

// The same into the shared memory of the next block of a cluster, whose barrier counts the bytes. sm_90 on.
struct RemoteStores {
  static constexpr int kThreads = 256, kSteps = 32, kPlaces = 8, kInstructions = 64, kClusterBlocks = 4;
  static constexpr int kPlaceBytes = 16 * kThreads, kBarrier = kPlaces * kPlaceBytes, kSharedBytes = kBarrier + 8;
  Words<4> words;
  u32 rank = (device::cluster_rank() + 1) % kClusterBlocks, parity = 0;
  RemoteAddress address = device::remote_address(16 * threadIdx.x, rank),
                arrived = device::remote_address(kBarrier, rank);
  __device__ RemoteStores() {
    for (int i = 0; i < 4; ++i) words[i] = random_word(i);
    if (threadIdx.x == 0) device::barrier_init(kBarrier, 1);
    device::fence_async();
    device::sync_cluster();
  }
  // Blocks go from step to step together: a barrier takes no more than a megabyte that it has not been told of.
  __device__ void step() {
    if (threadIdx.x == 0) device::barrier_expect(kBarrier, kInstructions * kPlaceBytes);
    DANAUS_UNROLL
    for (int i = 0; i < kInstructions; ++i)
      device::store_remote_async<16>(address + i % kPlaces * kPlaceBytes, words, arrived);
    device::barrier_wait_cluster(kBarrier, parity);
    parity ^= 1;
    device::sync_cluster();
  }
  __device__ Word result() const { return words[0] ^ words[1] ^ words[2] ^ words[3]; }
};

template <class Drilled>
__global__ void __launch_bounds__(Drilled::kThreads, kBlocksPerSm) drill_kernel(Word* sink) {
  Drilled drilled;
#pragma unroll 2
  for (int i = 0; i < Drilled::kSteps; ++i) drilled.step();
  sink[blockIdx.x * Drilled::kThreads + threadIdx.x] = drilled.result();
}

template <class Drilled>
std::int64_t launch(int multiprocessors, Word* sink, Stream stream) {
  int blocks = kBlocksPerSm * multiprocessors;
  cudaLaunchConfig_t config{};
  if constexpr (requires { Drilled::kSharedBytes; }) config.dynamicSmemBytes = Drilled::kSharedBytes;
  cudaLaunchAttribute cluster{};
  if constexpr (requires { Drilled::kClusterBlocks; }) {
    blocks -= blocks % Drilled::kClusterBlocks;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {Drilled::kClusterBlocks, 1, 1};
    config.attrs = &cluster, config.numAttrs = 1;
  }
  config.gridDim = blocks, config.blockDim = Drilled::kThreads, config.stream = stream;
  DANAUS_CUDA(cudaLaunchKernelEx(&config, drill_kernel<Drilled>, sink));
  return std::int64_t{blocks} * (Drilled::kThreads / 32) * Drilled::kSteps * Drilled::kInstructions;
}

constexpr double kDeepFlops = 2. * 16 * 8 * 16, kShallowFlops = 2. * 16 * 8 * 8;  // of a warp's mma
constexpr double kBytes = 16 * 32;

const std::array kDrills = {
    Drill{"mma_f16acc_rate", "mma.sync m16n8k16, fp16, fp16 accumulators", Limit::matrix_flops, kDeepFlops, 0, 80,
          &launch<Matrices<HalfSums, true, ProductF16>>},
    Drill{"mma_f32acc_rate", "mma.sync m16n8k16, fp16, fp32 accumulators", Limit::matrix_flops, kDeepFlops, 0, 80,
          &launch<Matrices<FloatSums, true, ProductF32<Dtype::f16>>>},
    Drill{"mma_bf16_rate", "mma.sync m16n8k16, bf16, fp32 accumulators", Limit::matrix_flops, kDeepFlops, 0, 80,
          &launch<Matrices<FloatSums, true, ProductF32<Dtype::bf16>>>},
    Drill{"mma_depth8_f16acc_rate", "mma.sync m16n8k8, fp16, fp16 accumulators", Limit::matrix_flops, kShallowFlops, 0,
          80, &launch<Matrices<HalfSums, false, ProductF16>>},
    Drill{"mma_depth8_bf16_rate", "mma.sync m16n8k8, bf16, fp32 accumulators", Limit::matrix_flops, kShallowFlops, 0,
          80, &launch<Matrices<FloatSums, false, ProductF32<Dtype::bf16>>>},
    Drill{"wgmma_rate", "wgmma m64n128k16, fp16, fp32 accumulators, first operand in registers", Limit::matrix_flops,
          kDeepFlops, 0, 90, &launch<GroupProducts<Dtype::f16>>, 90},
    Drill{"general_rate", "fp32 multiply-add of one register", Limit::instructions, 2 * 32, 2, 80, &launch<Floats>},
    Drill{"half2_rate", "packed fp16 multiply-add of three registers", Limit::instructions, 4 * 32, 4, 80,
          &launch<Halves<Dtype::f16>>},
    Drill{"half2_bf16_rate", "packed bf16 multiply-add of three registers", Limit::instructions, 4 * 32, 4, 80,
          &launch<Halves<Dtype::bf16>>},
    Drill{"permute_rate", "prmt", Limit::instructions, 32, 1, 80, &launch<Permutes>},
    Drill{"conversion_rate", "cvt.rn.f16x2.f32", Limit::instructions, 32, 1, 80, &launch<Conversions<Dtype::f16>>},
    Drill{"conversion_bf16_rate", "cvt.rn.bf16x2.f32", Limit::instructions, 32, 1, 80,
          &launch<Conversions<Dtype::bf16>>},
    Drill{"shared_load_bandwidth", "ld.shared, 16 bytes a thread", Limit::shared_bytes, kBytes, 0, 80,
          &launch<Shared<Access::load>>},
    Drill{"shared_store_bandwidth", "st.shared, 16 bytes a thread", Limit::shared_bytes, kBytes, 0, 80,
          &launch<Shared<Access::store>>},
    Drill{"remote_store_bandwidth", "st.async.shared::cluster, 16 bytes a thread, to the next block of four",
          Limit::shared_bytes, kBytes, 0, 90, &launch<RemoteStores>},
    Drill{"ldmatrix_bandwidth", "ldmatrix, four matrices", Limit::shared_bytes, kBytes, 0, 80,
          &launch<Shared<Access::load_matrices>>},
    Drill{"stmatrix_bandwidth", "stmatrix, four matrices", Limit::shared_bytes, kBytes, 0, 90,
          &launch<Shared<Access::store_matrices>>},
};

constexpr int kMemoryThreads = 512, kInFlight = 8;

constexpr int kRounds = 64;

// Blocks go through the buffer in chunks, each beginning at another.
__global__ void __launch_bounds__(kMemoryThreads, kBlocksPerSm)
    read_again_kernel(const uint4* from, int chunks, Word* sink) {
  Word word = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int chunk = static_cast<int>((blockIdx.x + std::int64_t{round} * gridDim.x) % chunks);
    const uint4* at = from + std::int64_t{chunk} * kInFlight * kMemoryThreads + threadIdx.x;
    DANAUS_UNROLL
    for (int j = 0; j < kInFlight; ++j) {
      const uint4 value = __ldcg(at + j * kMemoryThreads);
      word ^= value.x ^ value.y ^ value.z ^ value.w;
    }
  }
  sink[blockIdx.x * kMemoryThreads + threadIdx.x] = word;
}

__global__ void empty_kernel() {}

}  // namespace

std::span<const Drill> drills() { return kDrills; }

std::int64_t sink_words(int multiprocessors) {
  return std::int64_t{kBlocksPerSm} * multiprocessors * std::max(kMostThreads, kMemoryThreads);
}

std::int64_t read_again(const void* from, std::int64_t bytes, int multiprocessors, Word* sink, Stream stream) {
  constexpr int kChunkBytes = 16 * kInFlight * kMemoryThreads;
  const int blocks = kBlocksPerSm * multiprocessors;
  read_again_kernel<<<blocks, kMemoryThreads, 0, stream>>>(static_cast<const uint4*>(from),
                                                           static_cast<int>(bytes / kChunkBytes), sink);
  DANAUS_CUDA(cudaGetLastError());
  return std::int64_t{blocks} * kRounds * kChunkBytes;
}

void do_nothing(Stream stream) {
  empty_kernel<<<1, 32, 0, stream>>>();
  DANAUS_CUDA(cudaGetLastError());
}

}  // namespace danaus
