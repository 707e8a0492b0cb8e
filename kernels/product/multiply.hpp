// The product with the filter's spectrum: where a channel's spectrum is kept while its items go by.
#pragma once

#include "kernels/device/count_bits.hpp"
#include "kernels/memory/layout.hpp"
#include "kernels/product/slots.hpp"
#include "kernels/tile/bits.hpp"

namespace danaus::inline DANAUS_BACKEND {

// A piece of a spectrum: read once an item, by every item of the channel.
template <Cache rows>
DANAUS_DEVICE Words<4> load_piece(const u32* at) {
  if constexpr (rows == Cache::stream)
    return device::load_global_once<Cache::keep>(at);
  else
    return device::load_global<16>(at);
}

// The lanes of a vector whose piece is live, and the number of the first one.
struct LiveLanes {
  u32 lanes;
  int first;
};

// Marks of a masked spectrum (slots.hpp), from word `at` of a kernel's constants on.
template <int at>
struct LiveMarks {
  static DANAUS_DEVICE int pieces(const u32* tables) {
    return static_cast<int>(device::load_constant<4>(tables + at)[0]);
  }
  static DANAUS_DEVICE LiveLanes of(const u32* tables, int vector) {
    const Words<2> words = device::load_constant<8>(tables + at + kMarksOfVectors + 2 * vector);
    return {words[0], static_cast<int>(words[1])};
  }
};

// What a launch is given of its spectra: [H, N], or what is live of them, and the constants, in which marks say what.
struct SpectraOfLaunch {
  const u32* spectra;
  const u32* tables;
};

// A warp's `count` vectors of the spectrum at hand, of `size` numbers a channel. They stay in registers or in shared
// memory (from `shared` on, each at its own number) until the channel changes, or are read from L2 for every item. The
// launch's spectra come each time: kept here they would take registers. `marks`: where those of a masked spectrum are
// among the constants; 0: all of it is live. Shared memory has its pieces one behind the other, as global memory has;
// what is dead of a vector is in the kZeroBytes before them. Where a lane's pieces are is from `numbers` on.
template <Keep keep, Cache rows, int count, int size, SharedAddress shared, int marks = 0, SharedAddress numbers = 0>
class ChannelSpectrum {
 public:
  // Before all else.
  DANAUS_DEVICE void begin(SpectraOfLaunch a) {
    if constexpr (marks > 0 && !kPacked) pieces_ = LiveMarks<marks>::pieces(a.tables);
  }
  // And where pieces are packed: what dead ones are, before the block meets; and with vector_of(i) as in hold(): finds
  // this lane's pieces, once for all channels.
  static DANAUS_DEVICE void put_zeros() {
    if constexpr (kPacked)
      if (device::thread_index() < kZeros) device::store_shared<16>(place_of(device::thread_index()), Words<4>{});
  }
  template <class VectorOf>
  static DANAUS_DEVICE void find_pieces(SpectraOfLaunch a, VectorOf vector_of) {
    if constexpr (kPacked) {
      const int lane = device::lane_index();
      DANAUS_UNROLL
      for (int i = 0; i < count; ++i) {
        const int vector = vector_of(i);
        if (vector >= kVectors) continue;
        const LiveLanes live = LiveMarks<marks>::of(a.tables, vector);
        const int of_lane = live.first + count_bits(live.lanes & ((1u << lane) - 1));
        const int behind = live.first + count_bits(live.lanes & ((2u << (lane | 7)) - 1));  // those of eight lanes
        const int number = live.lanes >> lane & 1 ? kZeros + of_lane : behind % kZeros;
        device::store_shared<2>(number_place(vector), {static_cast<u32>(number)});
      }
    }
  }
  // Begins to bring a channel's spectrum to shared memory, all of it, instead of hold(): for one thread to call, when
  // nobody reads the one before any more (sm_90).
  DANAUS_DEVICE void copy(SpectraOfLaunch a, int channel, SharedAddress barrier) {
    static_assert(keep == Keep::bulk);
    const int bytes = 16 * pieces(a);
    device::barrier_expect(barrier, bytes);
    device::bulk_load(shared, of(a, channel), bytes, barrier, Cache::normal);
  }
  // vector_of(i): the number of this warp's i-th vector, if is_read(i). Returns whether the channel is another than
  // before.
  template <class VectorOf, class IsRead>
  DANAUS_DEVICE bool hold(SpectraOfLaunch a, int channel, VectorOf vector_of, IsRead is_read) {
    if (keep == Keep::cache || channel == channel_) return false;
    channel_ = channel;
    DANAUS_UNROLL
    for (int i = 0; i < count; ++i) {
      if (!is_read(i)) continue;
      if constexpr (kPacked) {
        if (const int number = number_of(vector_of(i)); number >= kZeros)
          device::store_shared<16>(place_of(number), load_piece<rows>(of(a, channel) + 4 * (number - kZeros)));
      } else {
        const Words<4> words = read(a, channel, vector_of(i));
        if constexpr (kShared)
          device::store_shared<16>(place(vector_of(i)), words);
        else
          held_[keep == Keep::registers ? i : 0] = words;
      }
    }
    return true;
  }
  template <class VectorOf>
  DANAUS_DEVICE bool hold(SpectraOfLaunch a, int channel, VectorOf vector_of) {
    return hold(a, channel, vector_of, [](int) { return true; });
  }
  // What the channel's spectrum was divided by.
  DANAUS_DEVICE float factor(const float* factors, int channel) {
    if (channel != factor_channel_) {
      factor_ = float_of(device::load_global<4>(factors + channel)[0]);
      factor_channel_ = channel;
    }
    return factor_;
  }
  // Begins to bring a channel's spectrum to L2, where hold() or load() will find it: for one thread to call (sm_90).
  DANAUS_DEVICE void prefetch(SpectraOfLaunch a, int channel) { device::bulk_prefetch(of(a, channel), 16 * pieces(a)); }
  // The i-th vector, whose number is `vector`.
  DANAUS_DEVICE Words<4> load(SpectraOfLaunch a, int channel, int i, int vector) const {
    if constexpr (keep == Keep::registers)
      return held_[i];
    else if constexpr (kPacked)
      return device::load_shared<16>(place_of(number_of(vector)));
    else if constexpr (kShared)
      return device::load_shared<16>(place(vector));
    else
      return read(a, channel, vector);
  }

 private:
  // Of a channel. Packed ones are copied by one thread, which reads their number each time: nobody has a register for
  // it.
  DANAUS_DEVICE int pieces(SpectraOfLaunch a) const {
    return marks == 0 ? size / 4 : kPacked ? LiveMarks<marks>::pieces(a.tables) : pieces_;
  }
  DANAUS_DEVICE const u32* of(SpectraOfLaunch a, int channel) const {
    return a.spectra + static_cast<long long>(channel) * (4 * pieces(a));
  }
  DANAUS_DEVICE Words<4> read(SpectraOfLaunch a, int channel, int vector) const {
    const int lane = device::lane_index();
    if constexpr (marks > 0) {
      const LiveLanes live = LiveMarks<marks>::of(a.tables, vector);
      if (!(live.lanes >> lane & 1)) return {};
      const int piece = live.first + count_bits(live.lanes & ((1u << lane) - 1));
      return load_piece<rows>(of(a, channel) + 4 * piece);
    } else {
      return load_piece<rows>(of(a, channel) + 4 * (32 * vector + lane));
    }
  }
  // Where a lane's piece of a vector is, in pieces from the first zeros on. Dead ones are in banks where none of the
  // eight lanes that are served at a time has a live one. Registers are for what is computed with, so shared memory has
  // these numbers; to ask for them a batch ahead took registers, too, and time (8K, B=64: 466 -> 474 us).
  static DANAUS_DEVICE int number_of(int vector) {
    return static_cast<int>(device::load_shared<2>(number_place(vector))[0]);
  }
  static DANAUS_DEVICE SharedAddress number_place(int vector) {
    return numbers + kNumbersOfVector * vector + 2 * device::lane_index();
  }
  static DANAUS_DEVICE SharedAddress place_of(int number) { return shared + 16 * (number - kZeros); }
  static DANAUS_DEVICE SharedAddress place(int vector) { return shared + 512 * vector + 16 * device::lane_index(); }

  static constexpr bool kShared = is_shared(keep), kPacked = kShared && marks > 0;
  static constexpr int kVectors = size / 128, kZeros = kZeroBytes / 16;
  int channel_ = -1, factor_channel_ = -1;
  int pieces_ = 0;  // of a channel, where all is not live
  float factor_ = 0;
  Words<4> held_[keep == Keep::registers ? count : 1];
};

}  // namespace danaus::inline DANAUS_BACKEND
