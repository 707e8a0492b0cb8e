// Which of a worker's items are computed again: the first walk notes them, the second one goes through them.
#pragma once

#include "kernels/device/operations.hpp"

namespace danaus::inline DANAUS_BACKEND {

// Notes of each warp of a worker are 64 bits of shared memory from `begin` on, each bit for so many neighbouring items.
class NotedItems {
 public:
  static constexpr int kBytes = 8;

  // Of a worker of so many items, numbered from 0.
  DANAUS_DEVICE NotedItems(SharedAddress begin, int items) : begin_(begin), items_(items) {}

  // For one lane of the warp to call.
  DANAUS_DEVICE void clear(int warp) const { device::store_shared<8>(begin_ + kBytes * warp, {0, 0}); }
  DANAUS_DEVICE void note(int warp, int number) const {
    const int bit = number >> shift();
    const SharedAddress word = begin_ + kBytes * warp + bit / 32 * 4;
    device::store_shared<4>(word, {device::load_shared<4>(word)[0] | 1u << bit % 32});
  }
  // For whole warps to call.
  template <int warps>
  DANAUS_DEVICE bool has_any() const {
    static_assert(warps <= 32);
    const int warp = warps == 1 ? 0 : device::lane_index();
    const Words<2> words = warp < warps ? device::load_shared<8>(begin_ + kBytes * warp) : Words<2>{};
    return warps == 1 ? (words[0] | words[1]) != 0 : device::any_of_warp((words[0] | words[1]) != 0);
  }
  // Calls visit(number) for each item whose bit some warp has set.
  template <int warps, class Visit>
  DANAUS_DEVICE void for_each(Visit visit) const {
    Words<2> all{};
    DANAUS_UNROLL_BY(1)
    for (int warp = 0; warp < warps; ++warp) {
      const Words<2> words = device::load_shared<8>(begin_ + kBytes * warp);
      all[0] |= words[0], all[1] |= words[1];
    }
    DANAUS_UNROLL_BY(1)
    for (int number = 0; number < items_; ++number) {
      const int bit = number >> shift();
      if ((bit < 32 ? all[0] >> bit : all[1] >> (bit - 32)) & 1) visit(number);
    }
  }

 private:
  DANAUS_DEVICE int shift() const {
    int shift = 0;
    while ((items_ - 1) >> shift >= 64) ++shift;
    return shift;
  }

  SharedAddress begin_;
  int items_;
};

}  // namespace danaus::inline DANAUS_BACKEND
