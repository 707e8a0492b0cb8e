// The product with the filter's spectrum: where a channel's spectrum is kept while its items go by.
#pragma once

#include "kernels/memory/layout.hpp"
#include "kernels/tile/bits.hpp"

namespace danaus::inline DANAUS_BACKEND {

// Four registers of a spectrum, lane by lane: read once an item, by every item of the channel.
template <Cache rows>
DANAUS_DEVICE Words<4> load_spectrum(const u32* spectrum, int vector) {
  const u32* at = spectrum + 4 * (32 * vector + device::lane_index());
  if constexpr (rows == Cache::stream)
    return device::load_global_once<Cache::keep>(at);
  else
    return device::load_global<16>(at);
}

// A warp's `count` vectors of the spectrum at hand, of N = `size` points. They stay in registers or in shared memory
// (from `shared` on, each at its own number) until the channel changes, or are read from L2 for every item. `spectra`
// [H, N] is the launch's argument each time: kept here it would take registers.
template <Keep keep, Cache rows, int count, int size, SharedAddress shared>
class ChannelSpectrum {
 public:
  // vector_of(i): the number of this warp's i-th vector. Returns whether the channel is another than before.
  template <class VectorOf>
  DANAUS_DEVICE bool hold(const u32* spectra, int channel, VectorOf vector_of) {
    if (keep == Keep::cache || channel == channel_) return false;
    channel_ = channel;
    DANAUS_UNROLL
    for (int i = 0; i < count; ++i) {
      const Words<4> words = load_spectrum<rows>(of(spectra, channel), vector_of(i));
      if constexpr (keep == Keep::shared)
        device::store_shared<16>(place(vector_of(i)), words);
      else
        held_[keep == Keep::registers ? i : 0] = words;
    }
    return true;
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
  static DANAUS_DEVICE void prefetch(const u32* spectra, int channel) {
    device::bulk_prefetch(of(spectra, channel), 4 * size);
  }
  // The i-th vector, whose number is `vector`.
  DANAUS_DEVICE Words<4> load(const u32* spectra, int channel, int i, int vector) const {
    if constexpr (keep == Keep::registers)
      return held_[i];
    else if constexpr (keep == Keep::shared)
      return device::load_shared<16>(place(vector));
    else
      return load_spectrum<rows>(of(spectra, channel), vector);
  }

 private:
  static DANAUS_DEVICE const u32* of(const u32* spectra, int channel) {
    return spectra + static_cast<long long>(channel) * size;
  }
  static DANAUS_DEVICE SharedAddress place(int vector) { return shared + 512 * vector + 16 * device::lane_index(); }

  int channel_ = -1, factor_channel_ = -1;
  float factor_ = 0;
  Words<4> held_[keep == Keep::registers ? count : 1];
};

}  // namespace danaus::inline DANAUS_BACKEND
