// The operations that kernels are written in.
//
// A kernel is one C++ function template over these operations. Under nvcc each of them is an instruction (cuda.hpp);
// under a host compiler it is a step of the executor (kernels/executor/operations.hpp), which checks it and counts it.
//
//   u32                      one 32-bit register; of a packed pair of f16 or bf16 the lower half has the lower index
//   Words<n>                 n registers moved by one memory instruction
//   SharedAddress            byte offset into the block's shared memory
//
//   thread_index() lane_index() warp_index() block_index() block_count()
//   held(a)                  a, kept in a register where the compiler would compute it again
//   permute_bytes(a, b, s)   prmt: any four bytes of the eight of a (0..3) and b (4..7)
//   shift_left(a, bits)      a << bits for bits >= 0, 0 from 32 bits on
//   add2<T> sub2<T> mul2<T>  packed arithmetic, T = Dtype::f16 or Dtype::bf16, one rounding each
//   fma2<T>(a, b, c)         a b + c           fms2<T>(a, b, c)   a b - c
//   pack2<T>(low, high)      two floats, rounded to nearest even
//   lower_float<T>(pair)     the lower half as a float           upper_float<T>(pair)   the upper one
//   max2<T>(a, b)            the greater ones
//   max_of_warp(a)           the greatest of the warp's
//   any_of_warp(a)           whether a lane of the warp says so
//   shuffle(a, lane)         what another lane gives        shuffle_xor(a, mask)   the lane with these bits flipped
//   fma(a, b, c)             a b + c, rounded once, fp32 or fp64; a * b + c rounds twice on every machine
//   nearest(x)               the nearest integer, of two the even one, fp32
//   mma_f16acc(a, b, c)      m16n8k16, f16 operands, accumulators rounded to f16 once an instruction
//   mma_f32acc<T>(a, b, c)   m16n8k16, T operands, f32 accumulators; both also as m16n8k8, with two registers of a and
//                            one of b
//   load_shared<bytes>  store_shared  load_global<bytes>  store_global      bytes = 2, 4, 8 or 16, and so aligned
//   load_global_once<cache>(from)                                           16 bytes, past L1, with a hint to L2
//   load_constant<bytes>(from)                                              of tables, which no kernel writes
//   load_matrices<n, transposed>  store_matrices<n, transposed>             ldmatrix, stmatrix: n = 1, 2 or 4 matrices
//                                                                           of 8 x 8 halves
//   copy_async(to, from, bytes)  copy_async_commit()  copy_async_wait<n>()  cp.async: 16 bytes, the rest zero-filled
//   tensor_load  tensor_store  tensor_prefetch                              bulk tensor copies (sm_90)
//   bulk_load(to, from, bytes, barrier, cache)  bulk_store(to, from, bytes, cache)  bulk_prefetch(from, bytes)
//                            bulk copies of what lies together: addresses and bytes are multiples of 16 (sm_90)
//   store_commit()  store_wait_read<n>()  store_wait<n>()
//                            until all but n groups of this thread's bulk stores have read, or have written too
//   barrier_init barrier_arrive barrier_expect barrier_wait                 mbarrier in shared memory (sm_90)
//   fence_async()            orders this thread's shared-memory writes before later bulk copies
//   fence_async_global()     the same for global memory, and bulk copies before later accesses
//   sync_warp()  sync_block()
//
// Clusters (sm_90): the shared memory of their other blocks, from when a barrier of the cluster has passed until one
// before the block ends.
//   cluster_rank()  cluster_size()
//   sync_cluster()  arrive_cluster()  wait_cluster()                        in one, or with work in between
//   RemoteAddress            remote_address(address, rank): the same place in that block; + adds bytes
//   load_remote<bytes>  store_remote<bytes>                                 bytes = 4, 8 or 16, and so aligned
//   store_remote_async<bytes>(to, words, barrier)                           completes on an mbarrier of the same block,
//   copy_remote(to, from, bytes, barrier)                                   as this does; multiples of 16
//   barrier_arrive_remote(barrier)
//   barrier_wait_cluster(barrier, parity)   and what threads of other blocks did before they arrived is there
//   barrier_release_remote(barrier, word)   cheaper, where a thread says that what it has read may be written over; the
//                                           word follows from all of that
//   barrier_wait_released(barrier, parity)  for shared memory alone, and cheaper
//
// Flags: words of global memory by which blocks that run at the same time hand work to each other.
//   load_acquire(flag)  store_release(flag, value)  add_release(flag, value)  wait_until_at_least(flag, value)
//
//   let_next_grid_begin()    the stream's next launch may begin where this one leaves room (sm_90)
//   wait_for_previous_grid() what earlier launches of the stream wrote is there, and what they read may be overwritten
#pragma once

#if defined(__CUDACC__)
#include "kernels/device/cuda_bulk.hpp"
#else
#include "kernels/executor/operations.hpp"
#endif
