// kernels/device/operations.hpp on the CPU. Every function stands for one instruction of the calling thread.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <source_location>

#include "kernels/device/cache.hpp"
#include "kernels/device/tensor_map.hpp"
#include "kernels/executor/executor.hpp"
#include "kernels/executor/halves.hpp"
#include "reference/basics.hpp"

#define DANAUS_DEVICE inline
#define DANAUS_UNROLL
#define DANAUS_UNROLL_BY(times)

#define DANAUS_BACKEND host_backend

namespace danaus::inline DANAUS_BACKEND {

using u32 = std::uint32_t;
using std::max;
using std::min;
using SharedAddress = std::uint32_t;

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

enum class Kind : std::uint8_t {
  // Any lanes.
  load_global,
  store_global,
  load_shared,
  store_shared,
  copy_async,
  // All lanes of the warp.
  load_matrices,
  store_matrices,
  mma_f16acc,
  mma_f32acc,
  shuffle,
  sync_warp,
  // Until released.
  sync_block,
  barrier_wait,
};

struct MemoryAccess {
  std::uintptr_t global;  // address
  SharedAddress shared;
  int bytes;
  int copied;   // copy_async: bytes that are read, the rest is zero
  void* words;  // register side
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
  int depth;  // points that are contracted: 16, or 8 with the rest zero
};
struct Shuffle {
  u32 value;
  int source;
};
struct BarrierWait {
  SharedAddress barrier;
  u32 parity;
};

void rendezvous(Kind kind, void* request, const Site& site);
Counters& counters();
void tensor_load(SharedAddress to, const TensorMap& map, const int (&at)[5], SharedAddress barrier, const Site& site);
void tensor_store(const TensorMap& map, const int (&at)[5], SharedAddress from, const Site& site);
void barrier_init(SharedAddress barrier, u32 arrivals, const Site& site);
void barrier_expect(SharedAddress barrier, u32 bytes, const Site& site);
void copy_async_commit();
void copy_async_wait(int pending);
void store_commit();
void store_wait_read(int pending);
void fence_async();

}  // namespace detail

int thread_index();
int block_index();
int block_count();
inline int lane_index() { return thread_index() % 32; }
inline int warp_index() { return thread_index() / 32; }

inline u32 permute_bytes(u32 a, u32 b, u32 selector) {
  ++detail::counters().byte_permutes;
  const std::uint64_t bytes = (std::uint64_t{b} << 32) | a;
  u32 result = 0;
  for (int i = 0; i < 4; ++i) result |= u32((bytes >> (8 * ((selector >> (4 * i)) & 7))) & 0xff) << (8 * i);
  return result;
}

namespace detail {
template <Dtype T, class Operation>
u32 packed(Operation operation) {
  ++counters().packed_operations;
  return host::encode<T>(operation(0)) | (u32{host::encode<T>(operation(1))} << 16);
}
template <Dtype T>
double half_of(u32 pair, int which) {
  return host::decode<T>(std::uint16_t(pair >> (16 * which)));
}
}  // namespace detail

// Products of two halves are exact in double, and so is their sum with a third unless it is 2^29 times smaller.
template <Dtype T>
u32 add2(u32 a, u32 b) {
  return detail::packed<T>([=](int i) { return detail::half_of<T>(a, i) + detail::half_of<T>(b, i); });
}
template <Dtype T>
u32 sub2(u32 a, u32 b) {
  return detail::packed<T>([=](int i) { return detail::half_of<T>(a, i) - detail::half_of<T>(b, i); });
}
template <Dtype T>
u32 mul2(u32 a, u32 b) {
  return detail::packed<T>([=](int i) { return detail::half_of<T>(a, i) * detail::half_of<T>(b, i); });
}
template <Dtype T>
u32 fma2(u32 a, u32 b, u32 c) {
  return detail::packed<T>(
      [=](int i) { return detail::half_of<T>(a, i) * detail::half_of<T>(b, i) + detail::half_of<T>(c, i); });
}
template <Dtype T>
u32 fms2(u32 a, u32 b, u32 c) {
  return detail::packed<T>(
      [=](int i) { return detail::half_of<T>(a, i) * detail::half_of<T>(b, i) - detail::half_of<T>(c, i); });
}
template <Dtype T>
u32 pack2(float low, float high) {
  ++detail::counters().conversions;
  return host::encode<T>(low) | (u32{host::encode<T>(high)} << 16);
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

template <int bytes>
Words<(bytes + 3) / 4> load_shared(SharedAddress from, const Site site = Site::current()) {
  Words<(bytes + 3) / 4> words{};
  detail::MemoryAccess request{0, from, bytes, bytes, &words};
  detail::rendezvous(detail::Kind::load_shared, &request, site);
  return words;
}
template <int bytes>
void store_shared(SharedAddress to, Words<(bytes + 3) / 4> words, const Site site = Site::current()) {
  detail::MemoryAccess request{0, to, bytes, bytes, &words};
  detail::rendezvous(detail::Kind::store_shared, &request, site);
}
template <int bytes>
Words<(bytes + 3) / 4> load_global(const void* from, const Site site = Site::current()) {
  Words<(bytes + 3) / 4> words{};
  detail::MemoryAccess request{reinterpret_cast<std::uintptr_t>(from), 0, bytes, bytes, &words};
  detail::rendezvous(detail::Kind::load_global, &request, site);
  return words;
}
inline void let_next_grid_begin() {}
inline void wait_for_previous_grid() {}
template <Cache>
Words<4> load_global_once(const void* from, const Site site = Site::current()) {
  return load_global<16>(from, site);
}
template <int bytes>
void store_global(void* to, Words<(bytes + 3) / 4> words, const Site site = Site::current()) {
  detail::MemoryAccess request{reinterpret_cast<std::uintptr_t>(to), 0, bytes, bytes, &words};
  detail::rendezvous(detail::Kind::store_global, &request, site);
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
  detail::MemoryAccess request{reinterpret_cast<std::uintptr_t>(from), to, 16, copied, nullptr};
  detail::rendezvous(detail::Kind::copy_async, &request, site);
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
inline void store_commit() { detail::store_commit(); }
template <int pending>
void store_wait_read() {
  detail::store_wait_read(pending);
}
inline void barrier_init(SharedAddress barrier, u32 arrivals, const Site site = Site::current()) {
  detail::barrier_init(barrier, arrivals, site);
}
inline void barrier_expect(SharedAddress barrier, u32 bytes, const Site site = Site::current()) {
  detail::barrier_expect(barrier, bytes, site);
}
inline void barrier_wait(SharedAddress barrier, u32 parity, const Site site = Site::current()) {
  detail::BarrierWait request{barrier, parity};
  detail::rendezvous(detail::Kind::barrier_wait, &request, site);
}
inline void fence_async() { detail::fence_async(); }

inline u32 shuffle(u32 value, int source, const Site site = Site::current()) {
  detail::Shuffle request{value, source};
  detail::rendezvous(detail::Kind::shuffle, &request, site);
  return request.value;
}
inline void sync_warp(const Site site = Site::current()) { detail::rendezvous(detail::Kind::sync_warp, nullptr, site); }
inline void sync_block(const Site site = Site::current()) {
  detail::rendezvous(detail::Kind::sync_block, nullptr, site);
}

// sin and cos of pi x, each rounded once.
inline void sincos_pi(float x, float& sine, float& cosine) {
  const double angle = std::numbers::pi * (x - 2 * std::nearbyint(x / 2.));
  sine = static_cast<float>(std::sin(angle));
  cosine = static_cast<float>(std::cos(angle));
}

// fp32 arithmetic is ordinary C++; a kernel that wants it counted says how many operations it does.
inline void count_fp32(int operations) { detail::counters().fp32_operations += std::uint64_t(operations); }

}  // namespace device
}  // namespace danaus::inline DANAUS_BACKEND
