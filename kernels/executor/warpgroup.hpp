// kernels/device/warpgroup.hpp on the CPU: products are done as late as they may be, where they are waited for.
#pragma once

#include "kernels/executor/operations.hpp"

namespace danaus::inline DANAUS_BACKEND {
namespace device {

namespace detail {

struct GroupMma {
  u32 a[4];
  SharedAddress b;
  float (*accumulators)[4];  // of 8 columns each
  int tiles;
  bool adds, bf16;
};

void group_fence(const void* registers, std::size_t bytes, Site site);
void check_group_registers(const void* registers, std::size_t bytes, const char* what, Site site);

}  // namespace detail

template <class A>
void group_fence(A& a, const Site site = Site::current()) {
  detail::group_fence(a, sizeof a, site);
}
template <class A, class B>
void group_fence(A& a, B& b, const Site site = Site::current()) {
  group_fence(a, site), group_fence(b, site);
}
template <class A, class B, class C>
void group_fence(A& a, B& b, C& c, const Site site = Site::current()) {
  group_fence(a, b, site), group_fence(c, site);
}

template <Dtype T, bool adds, int tiles>
void group_multiply(float (&d)[tiles][4], const u32 (&a)[4], SharedAddress b, const Site site = Site::current()) {
  static_assert(tiles == 8 || tiles == 16);
  detail::check_group_registers(a, sizeof a, "operand", site);
  detail::check_group_registers(d, sizeof d, "accumulators", site);
  detail::GroupMma request{{a[0], a[1], a[2], a[3]}, b, d, tiles, adds, T == Dtype::bf16};
  detail::rendezvous(detail::Kind::group_multiply, &request, site);
}

inline void group_commit(const Site site = Site::current()) {
  detail::rendezvous(detail::Kind::group_commit, nullptr, site);
}

template <int pending, class Registers>
void group_wait(Registers&, const Site site = Site::current()) {
  int batches = pending;
  detail::rendezvous(detail::Kind::group_wait, &batches, site);
}

}  // namespace device
}  // namespace danaus::inline DANAUS_BACKEND
