// kernels/device/operations.hpp on the CPU. Every function stands for one instruction of the calling thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <source_location>

#include "kernels/device/cache.hpp"
#include "kernels/device/halves.hpp"
#include "kernels/device/tensor_map.hpp"
#include "kernels/executor/executor.hpp"
#include "reference/basics.hpp"

#define DANAUS_DEVICE inline
#define DANAUS_CALLED inline
#define DANAUS_UNROLL
#define DANAUS_UNROLL_BY(times)

#define DANAUS_BACKEND host_backend

namespace danaus::inline DANAUS_BACKEND {

using u32 = std::uint32_t;
using std::max;
using std::min;
using SharedAddress = std::uint32_t;

// Rank of the block in its cluster above, offset into its shared memory below.
struct RemoteAddress {
  std::uint32_t value;
  friend RemoteAddress operator+(RemoteAddress a, std::uint32_t bytes) { return {a.value + bytes}; }
};

template <int count>
struct Words {
  u32 word[count];
  u32& operator[](int i) { return word[i]; }
  u32 operator[](int i) const { return word[i]; }
};

namespace device {

using host::Counters;
using Site = std::source_location;

namespace detail {

// What lanes wait for.
enum class Kind : std::uint8_t {
  // All lanes of the warp.
  load_matrices,
  store_matrices,
  mma_f16acc,
  mma_f32acc,
  mma_tf32,
  group_multiply,
  group_commit,
  group_wait,
  shuffle,
  max_of_warp,
  sync_warp,
  // Until released.
  sync_block,
  barrier_wait,
  wait_cluster,
  wait_until_at_least,
};

struct MatrixAccess {
  SharedAddress row;
  int count;
  bool transposed;
  u32* words;
};
struct Mma {
  const u32* a;
  const u32* b;
  void* accumulators;  // u32[2] or float[4], read and written
  bool bf16;
  int depth;  // points that are contracted: 16, or 8 with the rest zero; of TF32 8
};
struct Shuffle {
  u32 value;
  int source;
};
// Of threads that arrive: those of the block, all of the cluster, or of other blocks only that they have read.
enum class Scope : std::uint8_t { block, cluster, reads };
struct BarrierWait {
  SharedAddress barrier;
  u32 parity;
  Scope scope;
};
struct FlagWait {
  const u32* flag;
  u32 value;
};

// Which thread runs.
struct Place {
  int thread, block, block_count, rank, cluster_size;
  Counters* counters;
};
extern constinit thread_local Place* running;
[[noreturn]] void refuse_outside();
inline Place& here() {
  if (!running) refuse_outside();
  return *running;
}

void rendezvous(Kind kind, void* request, Site site);

void load_shared(SharedAddress from, int bytes, void* words, Site site);
void store_shared(SharedAddress to, int bytes, const void* words, Site site);
void load_global(const void* from, int bytes, bool constant, void* words, Site site);
void store_global(void* to, int bytes, const void* words, Site site);

void copy_async(SharedAddress to, const void* from, int copied, Site site);
void copy_async_commit();
void copy_async_wait(int pending);

void tensor_load(SharedAddress to, const TensorMap& map, const int (&at)[5], SharedAddress barrier, Site site);
void tensor_store(const TensorMap& map, const int (&at)[5], SharedAddress from, Site site);
void bulk_load(SharedAddress to, const void* from, u32 bytes, SharedAddress barrier, Site site);
void bulk_store(void* to, SharedAddress from, u32 bytes, Site site);
void store_commit();
void store_wait(int pending, bool written);
void fence_async();
void fence_async_global();
void fence_barrier_init();
int warp_index(Site site);

void barrier_init(SharedAddress barrier, u32 arrivals, Site site);
void barrier_arrive(SharedAddress barrier, Site site);
void barrier_expect(SharedAddress barrier, u32 bytes, Site site);
void barrier_wait(SharedAddress barrier, u32 parity, Scope scope, Site site);

RemoteAddress remote_address(SharedAddress address, int rank, Site site);
void load_remote(RemoteAddress from, int bytes, void* words, Site site);
void store_remote(RemoteAddress to, int bytes, const void* words, Site site);
void store_remote_async(RemoteAddress to, int bytes, const void* words, RemoteAddress barrier, Site site);
void copy_remote(RemoteAddress to, SharedAddress from, u32 bytes, RemoteAddress barrier, Site site);
void barrier_arrive_remote(RemoteAddress barrier, bool only_reads, Site site);
void arrive_cluster(bool relaxed, Site site);
void wait_cluster(Site site);

void wait_for_previous_grid();
u32 load_acquire(const u32* flag, Site site);
void store_release(u32* flag, u32 value, bool add, Site site);
void wait_until_at_least(const u32* flag, u32 value, Site site);

}  // namespace detail

inline int thread_index() { return detail::here().thread; }
inline int block_index() { return detail::here().block; }
inline int block_count() { return detail::here().block_count; }
inline int lane_index() { return thread_index() % 32; }
inline int warp_index(const Site site = Site::current()) { return detail::warp_index(site); }

inline void settle(u32&) {}
inline u32 held(u32 a) { return a; }
inline u32 shift_left(u32 a, u32 bits) { return bits < 32 ? a << bits : 0; }
inline u32 permute_bytes(u32 a, u32 b, u32 selector) {
  ++detail::here().counters->byte_permutes;
  const std::uint64_t bytes = (std::uint64_t{b} << 32) | a;
  u32 result = 0;
  for (int i = 0; i < 4; ++i) result |= u32((bytes >> (8 * ((selector >> (4 * i)) & 7))) & 0xff) << (8 * i);
  return result;
}

namespace detail {
template <Dtype T, class Operation>
u32 packed(Operation operation) {
  ++here().counters->packed_operations;
  return host::encode<T>(operation(0)) | (u32{host::encode<T>(operation(1))} << 16);
}
template <Dtype T>
double half_of(u32 pair, int which) {
  return host::decode<T>(std::uint16_t(pair >> (16 * which)));
}
// A sum that is no double is rounded to odd, so that the rounding to a half that follows is the only one. Halves and
// their products are doubles.
inline double odd_sum(double a, double b) {
  const double sum = a + b, part = sum - a, error = (a - (sum - part)) + (b - part);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (!(error != 0) || bits % 2 != 0 || !std::isfinite(sum)) return sum;
  return std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}
template <Dtype T>
void count_unpack() {
  ++(here().counters->*(T == Dtype::f16 ? &host::Counters::half_unpacks : &host::Counters::bf16_unpacks));
}
}  // namespace detail

template <Dtype T = Dtype::f16>
u32 add2(u32 a, u32 b) {
  return detail::packed<T>([=](int i) { return detail::odd_sum(detail::half_of<T>(a, i), detail::half_of<T>(b, i)); });
}
template <Dtype T = Dtype::f16>
u32 sub2(u32 a, u32 b) {
  return detail::packed<T>([=](int i) { return detail::odd_sum(detail::half_of<T>(a, i), -detail::half_of<T>(b, i)); });
}
template <Dtype T = Dtype::f16>
u32 mul2(u32 a, u32 b) {
  return detail::packed<T>([=](int i) { return detail::half_of<T>(a, i) * detail::half_of<T>(b, i); });
}
template <Dtype T = Dtype::f16>
u32 fma2(u32 a, u32 b, u32 c) {
  return detail::packed<T>([=](int i) {
    return detail::odd_sum(detail::half_of<T>(a, i) * detail::half_of<T>(b, i), detail::half_of<T>(c, i));
  });
}
template <Dtype T = Dtype::f16>
u32 fms2(u32 a, u32 b, u32 c) {
  return detail::packed<T>([=](int i) {
    return detail::odd_sum(detail::half_of<T>(a, i) * detail::half_of<T>(b, i), -detail::half_of<T>(c, i));
  });
}
template <Dtype T = Dtype::f16>
u32 pack2(float low, float high) {
  ++detail::here().counters->conversions;
  return host::encode<T>(low) | (u32{host::encode<T>(high)} << 16);
}
template <Dtype T = Dtype::f16>
float lower_float(u32 pair) {
  detail::count_unpack<T>();
  return host::decode<T>(std::uint16_t(pair));
}
template <Dtype T = Dtype::f16>
float upper_float(u32 pair) {
  detail::count_unpack<T>();
  return host::decode<T>(std::uint16_t(pair >> 16));
}
template <Dtype T = Dtype::f16>
u32 max2(u32 a, u32 b) {
  return detail::packed<T>([=](int i) {
    const double x = detail::half_of<T>(a, i), y = detail::half_of<T>(b, i);
    return x == y ? (std::signbit(x) ? y : x) : std::fmax(x, y);  // +0 is greater than -0
  });
}
inline u32 negate2(u32 a) { return a ^ 0x80008000u; }

inline void mma_f16acc(u32 (&d)[2], const u32 (&a)[4], const u32 (&b)[2], const Site site = Site::current()) {
  detail::Mma request{a, b, d, false, 16};
  detail::rendezvous(detail::Kind::mma_f16acc, &request, site);
}
template <Dtype T>
void mma_f32acc(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2], const Site site = Site::current()) {
  detail::Mma request{a, b, d, T == Dtype::bf16, 16};
  detail::rendezvous(detail::Kind::mma_f32acc, &request, site);
}

// m16n8k8: a[0] (g, 2t+e), a[1] (g+8, 2t+e); b (2t+e, g).
inline void mma_f16acc(u32 (&d)[2], const u32 (&a)[2], u32 b, const Site site = Site::current()) {
  const u32 wide[4] = {a[0], a[1], 0, 0}, tall[2] = {b, 0};
  detail::Mma request{wide, tall, d, false, 8};
  detail::rendezvous(detail::Kind::mma_f16acc, &request, site);
}
template <Dtype T>
void mma_f32acc(float (&d)[4], const u32 (&a)[2], u32 b, const Site site = Site::current()) {
  const u32 wide[4] = {a[0], a[1], 0, 0}, tall[2] = {b, 0};
  detail::Mma request{wide, tall, d, T == Dtype::bf16, 8};
  detail::rendezvous(detail::Kind::mma_f32acc, &request, site);
}

// m16n8k8 of TF32, whose operands are fp32 without their lowest 13 bits: a[0] (g, t), a[1] (g+8, t), a[2] (g, t+4),
// a[3] (g+8, t+4); b[0] (t, g), b[1] (t+4, g).
inline void mma_tf32(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2], const Site site = Site::current()) {
  detail::Mma request{a, b, d, false, 8};
  detail::rendezvous(detail::Kind::mma_tf32, &request, site);
}
// The nearest number of TF32, ties away from zero.
inline u32 round_tf32(float value) {
  ++detail::here().counters->conversions;
  const u32 bits = std::bit_cast<u32>(value);
  return std::isfinite(value) ? (bits + 0x1000u) & ~0x1fffu : bits;
}
// The same in the bits that mma_tf32 reads; below them is anything.
inline u32 operand_tf32(float value) {
  ++detail::here().counters->conversions;
  const u32 bits = std::bit_cast<u32>(value);
  return std::isfinite(value) ? bits + 0x1000u : bits;
}

template <int bytes>
Words<(bytes + 3) / 4> load_shared(SharedAddress from, const Site site = Site::current()) {
  static_assert(bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
  Words<(bytes + 3) / 4> words{};
  detail::load_shared(from, bytes, &words, site);
  return words;
}
template <int bytes>
void store_shared(SharedAddress to, Words<(bytes + 3) / 4> words, const Site site = Site::current()) {
  static_assert(bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
  detail::store_shared(to, bytes, &words, site);
}
template <int bytes>
Words<(bytes + 3) / 4> load_constant(const void* from, const Site site = Site::current()) {
  static_assert(bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
  Words<(bytes + 3) / 4> words{};
  detail::load_global(from, bytes, true, &words, site);
  return words;
}
template <int bytes>
Words<(bytes + 3) / 4> load_global(const void* from, const Site site = Site::current()) {
  static_assert(bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
  Words<(bytes + 3) / 4> words{};
  detail::load_global(from, bytes, false, &words, site);
  return words;
}
template <Cache>
Words<4> load_global_once(const void* from, const Site site = Site::current()) {
  return load_global<16>(from, site);
}
template <int bytes>
void store_global(void* to, Words<(bytes + 3) / 4> words, const Site site = Site::current()) {
  static_assert(bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
  detail::store_global(to, bytes, &words, site);
}

template <int count, bool transposed>
Words<count> load_matrices(SharedAddress row, const Site site = Site::current()) {
  Words<count> words{};
  detail::MatrixAccess request{row, count, transposed, words.word};
  detail::rendezvous(detail::Kind::load_matrices, &request, site);
  return words;
}
template <int count, bool transposed>
void store_matrices(SharedAddress row, Words<count> words, const Site site = Site::current()) {
  detail::MatrixAccess request{row, count, transposed, words.word};
  detail::rendezvous(detail::Kind::store_matrices, &request, site);
}

inline void copy_async(SharedAddress to, const void* from, int copied, const Site site = Site::current()) {
  detail::copy_async(to, from, copied, site);
}
inline void copy_async_commit() { detail::copy_async_commit(); }
template <int pending>
void copy_async_wait() {
  detail::copy_async_wait(pending);
}

inline void tensor_load(SharedAddress to, const TensorMap& map, const int (&at)[5], SharedAddress barrier, Cache,
                        const Site site = Site::current()) {
  detail::tensor_load(to, map, at, barrier, site);
}
inline void tensor_store(const TensorMap& map, const int (&at)[5], SharedAddress from, Cache,
                         const Site site = Site::current()) {
  detail::tensor_store(map, at, from, site);
}
inline void tensor_prefetch(const TensorMap&, const int (&)[5]) {}
inline void bulk_load(SharedAddress to, const void* from, u32 bytes, SharedAddress barrier, Cache,
                      const Site site = Site::current()) {
  detail::bulk_load(to, from, bytes, barrier, site);
}
inline void bulk_store(void* to, SharedAddress from, u32 bytes, Cache, const Site site = Site::current()) {
  detail::bulk_store(to, from, bytes, site);
}
inline void bulk_prefetch(const void*, u32) {}
inline void store_commit() { detail::store_commit(); }
template <int pending>
void store_wait_read() {
  detail::store_wait(pending, false);
}
template <int pending>
void store_wait() {
  detail::store_wait(pending, true);
}
inline void fence_async() { detail::fence_async(); }
inline void fence_async_global() { detail::fence_async_global(); }

inline void barrier_init(SharedAddress barrier, u32 arrivals, const Site site = Site::current()) {
  detail::barrier_init(barrier, arrivals, site);
}
inline void barrier_arrive(SharedAddress barrier, const Site site = Site::current()) {
  detail::barrier_arrive(barrier, site);
}
inline void barrier_expect(SharedAddress barrier, u32 bytes, const Site site = Site::current()) {
  detail::barrier_expect(barrier, bytes, site);
}
inline void barrier_wait(SharedAddress barrier, u32 parity, const Site site = Site::current()) {
  detail::barrier_wait(barrier, parity, detail::Scope::block, site);
}

inline u32 shuffle(u32 value, int source, const Site site = Site::current()) {
  detail::Shuffle request{value, source};
  detail::rendezvous(detail::Kind::shuffle, &request, site);
  return request.value;
}
inline u32 shuffle_xor(u32 value, int mask, const Site site = Site::current()) {
  return shuffle(value, lane_index() ^ mask, site);
}
inline u32 max_of_warp(u32 value, const Site site = Site::current()) {
  detail::rendezvous(detail::Kind::max_of_warp, &value, site);
  return value;
}
inline bool any_of_warp(bool value, const Site site = Site::current()) { return max_of_warp(value, site) != 0; }
inline void sync_warp(const Site site = Site::current()) { detail::rendezvous(detail::Kind::sync_warp, nullptr, site); }
inline void sync_block(const Site site = Site::current()) {
  detail::rendezvous(detail::Kind::sync_block, nullptr, site);
}

inline int cluster_rank() { return detail::here().rank; }
inline int cluster_size() { return detail::here().cluster_size; }
inline void arrive_cluster(const Site site = Site::current()) { detail::arrive_cluster(false, site); }
inline void wait_cluster(const Site site = Site::current()) { detail::wait_cluster(site); }
inline void sync_cluster(const Site site = Site::current()) {
  detail::arrive_cluster(false, site);
  detail::wait_cluster(site);
}
inline RemoteAddress remote_address(SharedAddress address, int rank, const Site site = Site::current()) {
  return detail::remote_address(address, rank, site);
}
template <int bytes>
Words<bytes / 4> load_remote(RemoteAddress from, const Site site = Site::current()) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16);
  Words<bytes / 4> words{};
  detail::load_remote(from, bytes, &words, site);
  return words;
}
template <int bytes>
void store_remote(RemoteAddress to, Words<bytes / 4> words, const Site site = Site::current()) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16);
  detail::store_remote(to, bytes, &words, site);
}
template <int bytes>
void store_remote_async(RemoteAddress to, Words<bytes / 4> words, RemoteAddress barrier,
                        const Site site = Site::current()) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16);
  detail::store_remote_async(to, bytes, &words, barrier, site);
}
inline void copy_remote(RemoteAddress to, SharedAddress from, u32 bytes, RemoteAddress barrier,
                        const Site site = Site::current()) {
  detail::copy_remote(to, from, bytes, barrier, site);
}
inline void barrier_arrive_remote(RemoteAddress barrier, const Site site = Site::current()) {
  detail::barrier_arrive_remote(barrier, false, site);
}
inline void barrier_wait_cluster(SharedAddress barrier, u32 parity, const Site site = Site::current()) {
  detail::barrier_wait(barrier, parity, detail::Scope::cluster, site);
}
inline void barrier_release_remote(RemoteAddress barrier, u32, const Site site = Site::current()) {
  detail::barrier_arrive_remote(barrier, true, site);
}
inline void barrier_wait_released(SharedAddress barrier, u32 parity, const Site site = Site::current()) {
  detail::barrier_wait(barrier, parity, detail::Scope::reads, site);
}

inline void let_next_grid_begin() {}
inline void wait_for_previous_grid() { detail::wait_for_previous_grid(); }

inline u32 load_acquire(const u32* flag, const Site site = Site::current()) { return detail::load_acquire(flag, site); }
inline void store_release(u32* flag, u32 value, const Site site = Site::current()) {
  detail::store_release(flag, value, false, site);
}
inline void add_release(u32* flag, u32 value, const Site site = Site::current()) {
  detail::store_release(flag, value, true, site);
}
inline void wait_until_at_least(const u32* flag, u32 value, const Site site = Site::current()) {
  detail::wait_until_at_least(flag, value, site);
}

inline float fma(float a, float b, float c) { return std::fma(a, b, c); }
inline double fma(double a, double b, double c) { return std::fma(a, b, c); }
inline float nearest(float x) { return std::nearbyint(x); }

// Other arithmetic of fp32 is ordinary C++; a kernel that wants it counted says how many operations it does.
inline void count_fp32(int operations) { detail::here().counters->fp32_operations += std::uint64_t(operations); }

}  // namespace device
}  // namespace danaus::inline DANAUS_BACKEND
