// A cluster's barrier where a thread arrives that has written nothing for others to read (sm_90): it says that it has
// begun, or has read, and does not wait for what its block wrote before.
//
//   arrive_cluster_relaxed()   as arrive_cluster(), which makes nothing known that was written before
//   fence_barrier_init()       after barrier_init(), so that other blocks find the barrier none the less
#pragma once

#include "kernels/device/operations.hpp"

namespace danaus::inline DANAUS_BACKEND {
namespace device {

#if defined(__CUDACC__)
DANAUS_DEVICE void arrive_cluster_relaxed() {
#if DANAUS_HOPPER
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
#endif
}
DANAUS_DEVICE void fence_barrier_init() {
#if DANAUS_HOPPER
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
#else
inline void arrive_cluster_relaxed(const Site site = Site::current()) { detail::arrive_cluster(true, site); }
inline void fence_barrier_init() { detail::fence_barrier_init(); }
#endif

}  // namespace device
}  // namespace danaus::inline DANAUS_BACKEND
