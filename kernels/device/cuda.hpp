// kernels/device/operations.hpp under nvcc: each operation is one PTX instruction, sm_80 and newer; what needs sm_90 is
// compiled for it only, and a kernel reaches it only through a transfer that the plan allows on that device.
#pragma once

#include <cstdint>

#include "kernels/device/cache.hpp"
#include "reference/basics.hpp"

#define DANAUS_DEVICE __device__ __forceinline__
#define DANAUS_CALLED __device__ __noinline__
#define DANAUS_UNROLL _Pragma("unroll")
#define DANAUS_PRAGMA(words) _Pragma(#words)
#define DANAUS_UNROLL_BY(times) DANAUS_PRAGMA(unroll(times))

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define DANAUS_HOPPER 1
#else
#define DANAUS_HOPPER 0
#endif

#define DANAUS_BACKEND cuda_backend

namespace danaus::inline DANAUS_BACKEND {

using u32 = std::uint32_t;
using SharedAddress = std::uint32_t;

template <int count>
struct Words {
  u32 word[count];
  DANAUS_DEVICE u32& operator[](int i) { return word[i]; }
  DANAUS_DEVICE u32 operator[](int i) const { return word[i]; }
};

namespace device {

extern __shared__ __align__(1024) unsigned char dynamic_shared_memory[];

DANAUS_DEVICE u32 shared_window() { return static_cast<u32>(__cvta_generic_to_shared(dynamic_shared_memory)); }
DANAUS_DEVICE int thread_index() { return threadIdx.x; }
DANAUS_DEVICE int lane_index() { return threadIdx.x % 32; }
// Broadcast: the compiler then knows that a warp's threads agree, and keeps what follows from it in uniform registers.
DANAUS_DEVICE int warp_index() { return __shfl_sync(0xffffffffu, threadIdx.x / 32, 0); }
// Computed here, not where it is needed.
DANAUS_DEVICE void settle(u32& a) { asm volatile("" : "+r"(a)); }
// What a shuffle gives is not computed again.
DANAUS_DEVICE u32 held(u32 a) { return __shfl_sync(0xffffffffu, a, threadIdx.x % 32); }
DANAUS_DEVICE int block_index() { return blockIdx.x; }
DANAUS_DEVICE int block_count() { return gridDim.x; }

DANAUS_DEVICE u32 shift_left(u32 a, u32 bits) {
  u32 shifted;
  asm("shl.b32 %0, %1, %2;" : "=r"(shifted) : "r"(a), "r"(bits));
  return shifted;
}
DANAUS_DEVICE u32 permute_bytes(u32 a, u32 b, u32 selector) { return __byte_perm(a, b, selector); }

DANAUS_DEVICE u32 negate2(u32 a) { return a ^ 0x80008000u; }

template <Dtype T = Dtype::f16>
DANAUS_DEVICE u32 fma2(u32 a, u32 b, u32 c) {
  u32 d;
  if constexpr (T == Dtype::f16)
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  else
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
// For f16 the negation is part of the instruction; bf16 has no such.
template <Dtype T = Dtype::f16>
DANAUS_DEVICE u32 fms2(u32 a, u32 b, u32 c) {
  if constexpr (T == Dtype::bf16) return fma2<T>(a, b, negate2(c));
  u32 d;
  asm("{.reg .b32 n; neg.f16x2 n, %3; fma.rn.f16x2 %0, %1, %2, n;}" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
// bf16 has no add, sub and mul before sm_90; a fused multiply-add by 1 or to -0 rounds the same way.
template <Dtype T = Dtype::f16>
DANAUS_DEVICE u32 mul2(u32 a, u32 b) {
  u32 d;
  if constexpr (T == Dtype::f16)
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  else
    d = fma2<T>(a, b, 0x80008000u);
  return d;
}
template <Dtype T = Dtype::f16>
DANAUS_DEVICE u32 add2(u32 a, u32 b) {
  u32 d;
  if constexpr (T == Dtype::f16)
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  else
    d = fma2<T>(a, 0x3f803f80u, b);
  return d;
}
template <Dtype T = Dtype::f16>
DANAUS_DEVICE u32 sub2(u32 a, u32 b) {
  u32 d;
  if constexpr (T == Dtype::f16)
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  else
    d = fma2<T>(b, 0xbf80bf80u, a);
  return d;
}
template <Dtype T = Dtype::f16>
DANAUS_DEVICE u32 pack2(float low, float high) {
  u32 d;
  if constexpr (T == Dtype::f16)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));
  return d;
}
template <Dtype T = Dtype::f16>
DANAUS_DEVICE float lower_float(u32 pair) {
  if constexpr (T == Dtype::bf16) return __uint_as_float(pair << 16);
  float value;
  asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, low;}" : "=f"(value) : "r"(pair));
  return value;
}

template <Dtype T = Dtype::f16>
DANAUS_DEVICE float upper_float(u32 pair) {
  if constexpr (T == Dtype::bf16) return __uint_as_float(pair & 0xffff0000u);
  float value;
  asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, high;}" : "=f"(value) : "r"(pair));
  return value;
}
template <Dtype T = Dtype::f16>
DANAUS_DEVICE u32 max2(u32 a, u32 b) {
  u32 d;
  if constexpr (T == Dtype::f16)
    asm("max.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  else
    asm("max.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
DANAUS_DEVICE u32 max_of_warp(u32 a) { return __reduce_max_sync(0xffffffffu, a); }
DANAUS_DEVICE bool any_of_warp(bool a) { return __any_sync(0xffffffffu, a); }

// Not volatile: the compiler may move and merge them (an mma has no effect but its result).
DANAUS_DEVICE void mma_f16acc(u32 (&d)[2], const u32 (&a)[4], const u32 (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
      : "+r"(d[0]), "+r"(d[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <Dtype T>
DANAUS_DEVICE void mma_f32acc(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  if constexpr (T == Dtype::f16)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

DANAUS_DEVICE void mma_f16acc(u32 (&d)[2], const u32 (&a)[2], u32 b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
      : "+r"(d[0]), "+r"(d[1])
      : "r"(a[0]), "r"(a[1]), "r"(b));
}
template <Dtype T>
DANAUS_DEVICE void mma_f32acc(float (&d)[4], const u32 (&a)[2], u32 b) {
  if constexpr (T == Dtype::f16)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b));
  else
    asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b));
}

DANAUS_DEVICE void mma_tf32(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DANAUS_DEVICE u32 round_tf32(float value) {
  u32 rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value));
  return rounded;
}

DANAUS_DEVICE u32 operand_tf32(float value) {
  const u32 bits = __float_as_uint(value);
  return fabsf(value) < __uint_as_float(0x7f800000u) ? bits + 0x1000u : bits;
}

template <int bytes>
DANAUS_DEVICE Words<(bytes + 3) / 4> load_shared(SharedAddress from) {
  static_assert(bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
  Words<(bytes + 3) / 4> w;
  const u32 at = shared_window() + from;
  if constexpr (bytes == 2) {
    std::uint16_t half;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(half) : "r"(at) : "memory");
    w[0] = half;
  }
  if constexpr (bytes == 4) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w[0]) : "r"(at) : "memory");
  if constexpr (bytes == 8)
    asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "r"(at) : "memory");
  if constexpr (bytes == 16)
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(at)
                 : "memory");
  return w;
}
template <int bytes>
DANAUS_DEVICE void store_shared(SharedAddress to, Words<(bytes + 3) / 4> w) {
  static_assert(bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
  const u32 at = shared_window() + to;
  if constexpr (bytes == 2)
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"(static_cast<std::uint16_t>(w[0])) : "memory");
  if constexpr (bytes == 4) asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(w[0]) : "memory");
  if constexpr (bytes == 8) asm volatile("st.shared.v2.u32 [%0], {%1,%2};" ::"r"(at), "r"(w[0]), "r"(w[1]) : "memory");
  if constexpr (bytes == 16)
    asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(at), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
                 : "memory");
}

// What the L2 cache should do with a line.
DANAUS_DEVICE std::uint64_t cache_policy(Cache cache) {
  std::uint64_t policy;
  if (cache == Cache::stream)
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  else
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// Of a kernel's own tables, which no kernel ever writes: by the read-only path, and free to be moved and merged.
template <int bytes>
DANAUS_DEVICE Words<(bytes + 3) / 4> load_constant(const void* from) {
  static_assert(bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
  Words<(bytes + 3) / 4> w;
  if constexpr (bytes == 2) {
    std::uint16_t half;
    asm("ld.global.nc.u16 %0, [%1];" : "=h"(half) : "l"(from));
    w[0] = half;
  }
  if constexpr (bytes == 4) asm("ld.global.nc.u32 %0, [%1];" : "=r"(w[0]) : "l"(from));
  if constexpr (bytes == 8) asm("ld.global.nc.v2.u32 {%0,%1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(from));
  if constexpr (bytes == 16)
    asm("ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "l"(from));
  return w;
}
// Of data, which the launch before or a block of this one may have written: not moved past what orders it.
template <int bytes>
DANAUS_DEVICE Words<(bytes + 3) / 4> load_global(const void* from) {
  static_assert(bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
  Words<(bytes + 3) / 4> w;
  if constexpr (bytes == 2) {
    std::uint16_t half;
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(half) : "l"(from));
    w[0] = half;
  }
  if constexpr (bytes == 4) asm volatile("ld.global.u32 %0, [%1];" : "=r"(w[0]) : "l"(from));
  if constexpr (bytes == 8) asm volatile("ld.global.v2.u32 {%0,%1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(from));
  if constexpr (bytes == 16)
    asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "l"(from));
  return w;
}
// 16 bytes of data that the block reads once: past L1, and treated by L2 as told.
template <Cache cache>
DANAUS_DEVICE Words<4> load_global_once(const void* from) {
  Words<4> w;
  if constexpr (cache == Cache::normal)
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "l"(from));
  else
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "l"(from), "l"(cache_policy(cache)));
  return w;
}
template <int bytes>
DANAUS_DEVICE void store_global(void* to, Words<(bytes + 3) / 4> w) {
  static_assert(bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
  if constexpr (bytes == 2)
    asm volatile("st.global.u16 [%0], %1;" ::"l"(to), "h"(static_cast<std::uint16_t>(w[0])) : "memory");
  if constexpr (bytes == 4) asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(w[0]) : "memory");
  if constexpr (bytes == 8) asm volatile("st.global.v2.u32 [%0], {%1,%2};" ::"l"(to), "r"(w[0]), "r"(w[1]) : "memory");
  if constexpr (bytes == 16)
    asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
                 : "memory");
}

#define DANAUS_MOVE_MATRICES(instruction, shape, ...)                                                  \
  if constexpr (transposed)                                                                            \
    asm volatile(instruction ".sync.aligned.m8n8." shape ".trans.shared.b16 " __VA_ARGS__ : "memory"); \
  else                                                                                                 \
    asm volatile(instruction ".sync.aligned.m8n8." shape ".shared.b16 " __VA_ARGS__ : "memory")

template <int count, bool transposed>
DANAUS_DEVICE Words<count> load_matrices(SharedAddress row) {
  static_assert(count == 1 || count == 2 || count == 4);
  Words<count> w;
  const u32 at = shared_window() + row;
  if constexpr (count == 1) {
    DANAUS_MOVE_MATRICES("ldmatrix", "x1", "{%0}, [%1];" : "=r"(w[0]) : "r"(at));
  }
  if constexpr (count == 2) {
    DANAUS_MOVE_MATRICES("ldmatrix", "x2", "{%0,%1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "r"(at));
  }
  if constexpr (count == 4) {
    DANAUS_MOVE_MATRICES("ldmatrix", "x4", "{%0,%1,%2,%3}, [%4];"
                         : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                         : "r"(at));
  }
  return w;
}

#if DANAUS_HOPPER
template <int count, bool transposed>
DANAUS_DEVICE void store_matrices(SharedAddress row, Words<count> w) {
  static_assert(count == 1 || count == 2 || count == 4);
  const u32 at = shared_window() + row;
  if constexpr (count == 1) {
    DANAUS_MOVE_MATRICES("stmatrix", "x1", "[%0], {%1};" ::"r"(at), "r"(w[0]));
  }
  if constexpr (count == 2) {
    DANAUS_MOVE_MATRICES("stmatrix", "x2", "[%0], {%1,%2};" ::"r"(at), "r"(w[0]), "r"(w[1]));
  }
  if constexpr (count == 4) {
    DANAUS_MOVE_MATRICES("stmatrix", "x4", "[%0], {%1,%2,%3,%4};" ::"r"(at), "r"(w[0]), "r"(w[1]), "r"(w[2]),
                         "r"(w[3]));
  }
}
#else
// Before sm_90: the rows' addresses are passed on by shuffles, the transpose is one movmatrix.
template <int count, bool transposed>
DANAUS_DEVICE void store_matrices(SharedAddress row, Words<count> w) {
  const int lane = lane_index();
  DANAUS_UNROLL
  for (int m = 0; m < count; ++m) {
    const u32 address = __shfl_sync(0xffffffffu, row, 8 * m + lane / 4);
    u32 value = w[m];
    if constexpr (transposed) asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(value) : "r"(w[m]));
    store_shared<4>(address + 4 * (lane % 4), {value});
  }
}
#endif
#undef DANAUS_MOVE_MATRICES

DANAUS_DEVICE void copy_async(SharedAddress to, const void* from, int copied) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_window() + to), "l"(from), "r"(copied)
               : "memory");
}
DANAUS_DEVICE void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending>
DANAUS_DEVICE void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// Flags in global memory, of the scope of the GPU.
DANAUS_DEVICE u32 load_acquire(const u32* flag) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
DANAUS_DEVICE void store_release(u32* flag, u32 value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
DANAUS_DEVICE void add_release(u32* flag, u32 value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
DANAUS_DEVICE void wait_until_at_least(const u32* flag, u32 value) {
  while (load_acquire(flag) < value) {
  }
}

// Programmatic dependent launch (sm_90).
DANAUS_DEVICE void let_next_grid_begin() {
#if DANAUS_HOPPER
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
DANAUS_DEVICE void wait_for_previous_grid() {
#if DANAUS_HOPPER
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

DANAUS_DEVICE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
DANAUS_DEVICE double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
DANAUS_DEVICE float nearest(float x) { return rintf(x); }
DANAUS_DEVICE u32 shuffle(u32 value, int source) { return __shfl_sync(0xffffffffu, value, source); }
DANAUS_DEVICE u32 shuffle_xor(u32 value, int mask) { return __shfl_xor_sync(0xffffffffu, value, mask); }
DANAUS_DEVICE void sync_warp() { __syncwarp(); }
DANAUS_DEVICE void sync_block() { __syncthreads(); }
DANAUS_DEVICE void count_fp32(int) {}

}  // namespace device
}  // namespace danaus::inline DANAUS_BACKEND
