// Which of a worker's items are computed again: the first walk notes them, the second one goes through them.
#pragma once

#include "kernels/device/operations.hpp"

namespace danaus::inline DANAUS_BACKEND {

// A bit for each item, and one for all whose numbers are equal modulo 32: in a register, so that to note takes no
// branch.
class NotedItems {
 public:
  static constexpr int kBytes = 8;  // of a warp's in shared memory

  DANAUS_DEVICE void note(int number, bool is_noted) { bits_ |= is_noted ? bit_of(number) : 0; }
  DANAUS_DEVICE bool any() const { return bits_ != 0; }

  // Of a block notes stand from `begin` on.
  DANAUS_DEVICE void share(SharedAddress begin, int warp) const {
    if (device::lane_index() == 0) device::store_shared<4>(begin + kBytes * warp, {bits_});
  }
  // Once all warps have noted theirs.
  template <int warps>
  static DANAUS_DEVICE bool any_of_block(SharedAddress begin) {
    static_assert(warps <= 32);
    const int warp = device::lane_index();
    return device::any_of_warp(warp < warps && device::load_shared<4>(begin + kBytes * warp)[0] != 0);
  }
  template <int warps>
  static DANAUS_DEVICE NotedItems of_block(SharedAddress begin) {
    NotedItems all;
    DANAUS_UNROLL_BY(1)
    for (int warp = 0; warp < warps; ++warp) all.bits_ |= device::load_shared<4>(begin + kBytes * warp)[0];
    return all;
  }

  // Calls visit(number) for each of `count` items whose bit is set.
  template <class Visit>
  DANAUS_DEVICE void for_each(int count, Visit visit) const {
    DANAUS_UNROLL_BY(1)
    for (int number = 0; number < count; ++number)
      if (bits_ & bit_of(number)) visit(number);
  }

 private:
  static DANAUS_DEVICE u32 bit_of(int number) { return 1u << (static_cast<u32>(number) % 32); }

  u32 bits_ = 0;
};

}  // namespace danaus::inline DANAUS_BACKEND
