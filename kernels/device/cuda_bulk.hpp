// kernels/device/operations.hpp under nvcc: bulk copies, barriers in shared memory, clusters. Those are of sm_90 and
// later.
#pragma once

#include <cuda.h>

#include "kernels/device/cuda.hpp"
#include "kernels/device/tensor_map.hpp"

namespace danaus::inline DANAUS_BACKEND {

// Of the shared window of a cluster.
struct RemoteAddress {
  u32 value;
};
DANAUS_DEVICE RemoteAddress operator+(RemoteAddress a, u32 bytes) { return {a.value + bytes}; }
static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) && alignof(TensorMap) >= alignof(CUtensorMap));

namespace device {

DANAUS_DEVICE void tensor_load(SharedAddress to, const TensorMap& map, const int (&at)[5], SharedAddress barrier,
                               Cache cache) {
#if DANAUS_HOPPER
#define DANAUS_TENSOR_LOAD "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes"
  if (cache == Cache::normal)
    asm volatile(DANAUS_TENSOR_LOAD " [%0], [%1, {%3,%4,%5,%6,%7}], [%2];" ::"r"(shared_window() + to), "l"(&map),
                 "r"(shared_window() + barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
                 : "memory");
  else
    asm volatile(DANAUS_TENSOR_LOAD
                 ".L2::cache_hint [%0], [%1, {%3,%4,%5,%6,%7}], [%2], %8;" ::"r"(shared_window() + to),
                 "l"(&map), "r"(shared_window() + barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]),
                 "l"(cache_policy(cache))
                 : "memory");
#undef DANAUS_TENSOR_LOAD
#endif
}
DANAUS_DEVICE void tensor_store(const TensorMap& map, const int (&at)[5], SharedAddress from, Cache cache) {
#if DANAUS_HOPPER
#define DANAUS_TENSOR_STORE "cp.async.bulk.tensor.5d.global.shared::cta.bulk_group"
  if (cache == Cache::normal)
    asm volatile(DANAUS_TENSOR_STORE " [%0, {%2,%3,%4,%5,%6}], [%1];" ::"l"(&map), "r"(shared_window() + from),
                 "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
                 : "memory");
  else
    asm volatile(DANAUS_TENSOR_STORE ".L2::cache_hint [%0, {%2,%3,%4,%5,%6}], [%1], %7;" ::"l"(&map),
                 "r"(shared_window() + from), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]),
                 "l"(cache_policy(cache))
                 : "memory");
#undef DANAUS_TENSOR_STORE
#endif
}
DANAUS_DEVICE void tensor_prefetch(const TensorMap& map, const int (&at)[5]) {
#if DANAUS_HOPPER
  asm volatile("cp.async.bulk.prefetch.tensor.5d.L2.global.tile [%0, {%1,%2,%3,%4,%5}];" ::"l"(&map), "r"(at[0]),
               "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
               : "memory");
#endif
}
DANAUS_DEVICE void bulk_load(SharedAddress to, const void* from, u32 bytes, SharedAddress barrier, Cache cache) {
#if DANAUS_HOPPER
#define DANAUS_BULK_LOAD "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
  if (cache == Cache::normal)
    asm volatile(DANAUS_BULK_LOAD " [%0], [%1], %2, [%3];" ::"r"(shared_window() + to), "l"(from), "r"(bytes),
                 "r"(shared_window() + barrier)
                 : "memory");
  else
    asm volatile(DANAUS_BULK_LOAD ".L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(shared_window() + to), "l"(from),
                 "r"(bytes), "r"(shared_window() + barrier), "l"(cache_policy(cache))
                 : "memory");
#undef DANAUS_BULK_LOAD
#endif
}
DANAUS_DEVICE void bulk_store(void* to, SharedAddress from, u32 bytes, Cache cache) {
#if DANAUS_HOPPER
#define DANAUS_BULK_STORE "cp.async.bulk.global.shared::cta.bulk_group"
  if (cache == Cache::normal)
    asm volatile(DANAUS_BULK_STORE " [%0], [%1], %2;" ::"l"(to), "r"(shared_window() + from), "r"(bytes) : "memory");
  else
    asm volatile(DANAUS_BULK_STORE ".L2::cache_hint [%0], [%1], %2, %3;" ::"l"(to), "r"(shared_window() + from),
                 "r"(bytes), "l"(cache_policy(cache))
                 : "memory");
#undef DANAUS_BULK_STORE
#endif
}
DANAUS_DEVICE void bulk_prefetch(const void* from, u32 bytes) {
#if DANAUS_HOPPER
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
#endif
}
DANAUS_DEVICE void store_commit() {
#if DANAUS_HOPPER
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}
template <int pending>
DANAUS_DEVICE void store_wait_read() {
#if DANAUS_HOPPER
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
#endif
}
template <int pending>
DANAUS_DEVICE void store_wait() {
#if DANAUS_HOPPER
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory");
#endif
}
DANAUS_DEVICE void barrier_init(SharedAddress barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_window() + barrier), "r"(arrivals) : "memory");
}
DANAUS_DEVICE void barrier_arrive(SharedAddress barrier) {
#if DANAUS_HOPPER
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_window() + barrier) : "memory");
#endif
}
DANAUS_DEVICE void barrier_expect(SharedAddress barrier, u32 bytes) {
#if DANAUS_HOPPER
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_window() + barrier), "r"(bytes)
               : "memory");
#endif
}
DANAUS_DEVICE void barrier_wait(SharedAddress barrier, u32 parity) {
#if DANAUS_HOPPER
  asm volatile(
      "{.reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;}" ::"r"(shared_window() + barrier),
      "r"(parity)
      : "memory");
#endif
}
// Orders what this thread wrote to shared memory before the bulk copies that are issued after the next barrier, and
// makes initialised barriers visible to them.
DANAUS_DEVICE void fence_async() {
#if DANAUS_HOPPER
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// The same for global memory, both ways.
DANAUS_DEVICE void fence_async_global() {
#if DANAUS_HOPPER
  asm volatile("fence.proxy.async.global;" ::: "memory");
#endif
}

// Clusters (sm_90).
DANAUS_DEVICE int cluster_rank() {
  u32 rank = 0;
#if DANAUS_HOPPER
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return static_cast<int>(rank);
}
DANAUS_DEVICE int cluster_size() {
  u32 size = 1;
#if DANAUS_HOPPER
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
#endif
  return static_cast<int>(size);
}
DANAUS_DEVICE void arrive_cluster() {
#if DANAUS_HOPPER
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}
DANAUS_DEVICE void wait_cluster() {
#if DANAUS_HOPPER
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}
DANAUS_DEVICE void sync_cluster() {
  arrive_cluster();
  wait_cluster();
}
DANAUS_DEVICE RemoteAddress remote_address(SharedAddress address, int rank) {
  RemoteAddress remote{0};
#if DANAUS_HOPPER
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote.value) : "r"(shared_window() + address), "r"(rank));
#endif
  return remote;
}
template <int bytes>
DANAUS_DEVICE Words<bytes / 4> load_remote(RemoteAddress from) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16);
  Words<bytes / 4> w{};
#if DANAUS_HOPPER
  if constexpr (bytes == 4) asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(w[0]) : "r"(from.value) : "memory");
  if constexpr (bytes == 8)
    asm volatile("ld.shared::cluster.v2.u32 {%0,%1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "r"(from.value) : "memory");
  if constexpr (bytes == 16)
    asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(from.value)
                 : "memory");
#endif
  return w;
}
template <int bytes>
DANAUS_DEVICE void store_remote(RemoteAddress to, Words<bytes / 4> w) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16);
#if DANAUS_HOPPER
  if constexpr (bytes == 4) asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(to.value), "r"(w[0]) : "memory");
  if constexpr (bytes == 8)
    asm volatile("st.shared::cluster.v2.u32 [%0], {%1,%2};" ::"r"(to.value), "r"(w[0]), "r"(w[1]) : "memory");
  if constexpr (bytes == 16)
    asm volatile("st.shared::cluster.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(to.value), "r"(w[0]), "r"(w[1]), "r"(w[2]),
                 "r"(w[3])
                 : "memory");
#endif
}
template <int bytes>
DANAUS_DEVICE void store_remote_async(RemoteAddress to, Words<bytes / 4> w, RemoteAddress barrier) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16);
#if DANAUS_HOPPER
#define DANAUS_STORE_ASYNC "st.async.shared::cluster.mbarrier::complete_tx::bytes"
  if constexpr (bytes == 4)
    asm volatile(DANAUS_STORE_ASYNC ".u32 [%0], %1, [%2];" ::"r"(to.value), "r"(w[0]), "r"(barrier.value) : "memory");
  if constexpr (bytes == 8)
    asm volatile(DANAUS_STORE_ASYNC ".v2.u32 [%0], {%1,%2}, [%3];" ::"r"(to.value), "r"(w[0]), "r"(w[1]),
                 "r"(barrier.value)
                 : "memory");
  if constexpr (bytes == 16)
    asm volatile(DANAUS_STORE_ASYNC ".v4.u32 [%0], {%1,%2,%3,%4}, [%5];" ::"r"(to.value), "r"(w[0]), "r"(w[1]),
                 "r"(w[2]), "r"(w[3]), "r"(barrier.value)
                 : "memory");
#undef DANAUS_STORE_ASYNC
#endif
}
DANAUS_DEVICE void copy_remote(RemoteAddress to, SharedAddress from, u32 bytes, RemoteAddress barrier) {
#if DANAUS_HOPPER
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to.value),
      "r"(shared_window() + from), "r"(bytes), "r"(barrier.value)
      : "memory");
#endif
}
DANAUS_DEVICE void barrier_arrive_remote(RemoteAddress barrier) {
#if DANAUS_HOPPER
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier.value) : "memory");
#endif
}
// For memory that was only read. A release of the cluster's scope would fence more than is needed. But all loads must
// have ended: the branch waits for a word that depends on them. Behind the wait L1 keeps what it has.
DANAUS_DEVICE void barrier_release_remote(RemoteAddress barrier, u32 read) {
#if DANAUS_HOPPER
  asm volatile(
      "{.reg .pred never;\n"
      "setp.eq.u32 never, %1, 0x7fff7fff;\n"
      "@never nanosleep.u32 1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [%0];}" ::"r"(barrier.value),
      "r"(read)
      : "memory");
#endif
}
DANAUS_DEVICE void barrier_wait_released(SharedAddress barrier, u32 parity) { barrier_wait(barrier, parity); }
DANAUS_DEVICE void barrier_wait_cluster(SharedAddress barrier, u32 parity) {
#if DANAUS_HOPPER
  asm volatile(
      "{.reg .pred done;\n"
      "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;}" ::"r"(shared_window() + barrier),
      "r"(parity)
      : "memory");
#endif
}

}  // namespace device
}  // namespace danaus::inline DANAUS_BACKEND
