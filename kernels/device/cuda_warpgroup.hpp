// kernels/device/warpgroup.hpp under nvcc.
#pragma once

#include "kernels/device/cuda.hpp"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define DANAUS_WARPGROUPS 1
#else
#define DANAUS_WARPGROUPS 0
#endif

namespace danaus::inline DANAUS_BACKEND {
namespace device {

namespace detail {

// Says that registers are read and written here, of which the compiler knows nothing.
template <int count>
DANAUS_DEVICE void pin(float (&r)[count][4]) {
  DANAUS_UNROLL
  for (int j = 0; j < count; ++j)
    asm volatile("" : "+f"(r[j][0]), "+f"(r[j][1]), "+f"(r[j][2]), "+f"(r[j][3])::"memory");
}
template <int count>
DANAUS_DEVICE void pin(u32 (&r)[count][4]) {
  DANAUS_UNROLL
  for (int j = 0; j < count; ++j)
    asm volatile("" : "+r"(r[j][0]), "+r"(r[j][1]), "+r"(r[j][2]), "+r"(r[j][3])::"memory");
}

// The lower half of a descriptor: where the matrix begins, in 16 bytes. Its upper half is a constant: the swizzle, and
// eight lines 1024 bytes apart from the next eight.
DANAUS_DEVICE u32 matrix_begin(SharedAddress b) { return (1u << 16 | (shared_window() & 0x3ffff) >> 4) + b / 16; }

}  // namespace detail

template <class... Registers>
DANAUS_DEVICE void group_fence(Registers&... r) {
  (detail::pin(r), ...);
#if DANAUS_WARPGROUPS
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

DANAUS_DEVICE void group_commit() {
#if DANAUS_WARPGROUPS
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

template <int pending, class Registers>
DANAUS_DEVICE void group_wait(Registers& d) {
#if DANAUS_WARPGROUPS
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
#endif
  detail::pin(d);
}

#define DANAUS_FOUR(j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define DANAUS_SIXTEEN(j) DANAUS_FOUR(j), DANAUS_FOUR(j + 1), DANAUS_FOUR(j + 2), DANAUS_FOUR(j + 3)
#define DANAUS_GROUP_MULTIPLY(shape, type, registers, a0, a1, a2, a3, b, adds, ...)                                \
  asm volatile("{.reg .pred p; .reg .b64 m; setp.ne.b32 p, " adds ", 0; mov.b64 m, {" b                            \
               ", 0x40000040}; wgmma.mma_async.sync.aligned." shape ".f32." type "." type " {" registers "}, {" a0 \
               "," a1 "," a2 "," a3 "}, m, p, 1, 1, 0;}"                                                           \
               : __VA_ARGS__                                                                                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(matrix), "n"(kAdds)                               \
               : "memory")
#define DANAUS_OF_16 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define DANAUS_TO_32 "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define DANAUS_TO_48 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define DANAUS_TO_64 "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define DANAUS_N64(type)                                                                                            \
  DANAUS_GROUP_MULTIPLY("m64n64k16", type, DANAUS_OF_16 "," DANAUS_TO_32, "%32", "%33", "%34", "%35", "%36", "%37", \
                        DANAUS_SIXTEEN(0), DANAUS_SIXTEEN(4))
#define DANAUS_N128(type)                                                                                           \
  DANAUS_GROUP_MULTIPLY("m64n128k16", type, DANAUS_OF_16 "," DANAUS_TO_32 "," DANAUS_TO_48 "," DANAUS_TO_64, "%64", \
                        "%65", "%66", "%67", "%68", "%69", DANAUS_SIXTEEN(0), DANAUS_SIXTEEN(4), DANAUS_SIXTEEN(8), \
                        DANAUS_SIXTEEN(12))

template <Dtype T, bool adds, int tiles>
DANAUS_DEVICE void group_multiply(float (&d)[tiles][4], const u32 (&a)[4], SharedAddress b) {
  static_assert(tiles == 8 || tiles == 16);
#if DANAUS_WARPGROUPS
  constexpr int kAdds = adds;
  const u32 matrix = detail::matrix_begin(b);
  if constexpr (tiles == 8 && T == Dtype::f16) DANAUS_N64("f16");
  if constexpr (tiles == 8 && T == Dtype::bf16) DANAUS_N64("bf16");
  if constexpr (tiles == 16 && T == Dtype::f16) DANAUS_N128("f16");
  if constexpr (tiles == 16 && T == Dtype::bf16) DANAUS_N128("bf16");
#else
  asm volatile("trap;");
#endif
}

#undef DANAUS_FOUR
#undef DANAUS_SIXTEEN
#undef DANAUS_GROUP_MULTIPLY
#undef DANAUS_OF_16
#undef DANAUS_TO_32
#undef DANAUS_TO_48
#undef DANAUS_TO_64
#undef DANAUS_N64
#undef DANAUS_N128

}  // namespace device
}  // namespace danaus::inline DANAUS_BACKEND
