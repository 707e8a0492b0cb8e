// Which of a worker's items are computed again: the first walk notes them, the second one goes through them.
#pragma once

#include "kernels/device/operations.hpp"

namespace danaus::inline DANAUS_BACKEND {

// 64 bits of shared memory, each for so many neighbouring items of a worker.
class NotedItems {
 public:
  static constexpr int kBytes = 8;

  DANAUS_DEVICE NotedItems(SharedAddress at, int items) : at_(at), items_(items) {}
  // For one thread to call, as note(). Items are numbered from 0.
  DANAUS_DEVICE void clear() const { device::store_shared<8>(at_, {0, 0}); }
  DANAUS_DEVICE void note(int number) const {
    const int bit = number >> shift();
    const SharedAddress word = at_ + bit / 32 * 4;
    device::store_shared<4>(word, {device::load_shared<4>(word)[0] | 1u << bit % 32});
  }
  DANAUS_DEVICE bool has_any() const {
    const Words<2> words = device::load_shared<8>(at_);
    return (words[0] | words[1]) != 0;
  }
  // Of those that share a bit, all or none.
  DANAUS_DEVICE bool has(int number) const {
    const int bit = number >> shift();
    return (device::load_shared<4>(at_ + bit / 32 * 4)[0] >> bit % 32 & 1) != 0;
  }

 private:
  DANAUS_DEVICE int shift() const {
    int shift = 0;
    while ((items_ - 1) >> shift >= 64) ++shift;
    return shift;
  }

  SharedAddress at_;
  int items_;
};

}  // namespace danaus::inline DANAUS_BACKEND
