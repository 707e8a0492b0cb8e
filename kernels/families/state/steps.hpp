// Work of a layer of states that is no product: what parts of rows begin with, and a few samples one by one.
#pragma once

#include "kernels/families/state/states.hpp"

namespace danaus::state::inline DANAUS_BACKEND {

// What each part of a row begins with, in place of the ends: a thread a state.
template <class P>
DANAUS_DEVICE void carry(const Arguments& a) {
  constexpr int kAtOnce = 8;
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  const long long states = 1ll * a.channels * a.states, count = states * a.batch;
  const long long stride = 1ll * device::block_count() * P::layout.threads;
  for (long long i = 1ll * device::block_index() * P::layout.threads + device::thread_index(); i < count; i += stride) {
    const long long row = i / states, state = i % states;
    const u32* prepared = a.prepared + state / a.states * a.channel_words;
    const auto decay_at = [&](int place) { return load_complex(prepared + place + 2 * (state % a.states)); };
    const Complex32 decay = decay_at(a.layout.part_decay), last = decay_at(a.layout.last_decay);
    Complex32 x = a.x_initial ? load_complex(a.x_initial + 2 * i) : Complex32{0, 0};
    const auto place_of = [&](int part) { return a.x_parts + 2 * ((row * a.parts + part) * states + state); };
    DANAUS_UNROLL_BY(1)
    for (int first = 0; first < a.parts; first += kAtOnce) {
      Complex32 ends[kAtOnce];  // none waits for the state before
      DANAUS_UNROLL
      for (int k = 0; k < kAtOnce; ++k)
        ends[k] = first + k < a.ends ? load_complex(place_of(first + k)) : Complex32{0, 0};
      DANAUS_UNROLL
      for (int k = 0; k < kAtOnce; ++k) {
        const int part = first + k;
        if (part >= a.parts) break;
        store_complex(place_of(part), x);
        x = add(times(part + 1 < a.parts ? decay : last, x), ends[k]);
      }
    }
    if (a.x_final) store_complex(a.x_final + 2 * i, x);
  }
}

// Sample by sample, a warp a row: for sequences of a few samples, as one that is generated.
template <class P>
DANAUS_DEVICE void step(const Arguments& a) {
  constexpr Dtype T = P::layout.key.dtype;
  constexpr int kOfLane = kMostStates / 32;
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  const long long row = 1ll * device::block_index() * P::layout.tuning.warps + device::warp_index();
  if (row >= 1ll * a.batch * a.channels) return;
  const int lane = device::lane_index();
  const u32* prepared = a.prepared + row % a.channels * a.channel_words;
  Complex32 x[kOfLane], p[kOfLane], b[kOfLane], c[kOfLane];
  DANAUS_UNROLL
  for (int i = 0; i < kOfLane; ++i) {
    const int state = lane + 32 * i;
    x[i] = p[i] = b[i] = c[i] = {0, 0};
    if (state >= a.states) continue;
    p[i] = load_complex(prepared + a.layout.a + 2 * state), b[i] = load_complex(prepared + a.layout.b + 2 * state);
    c[i] = load_complex(prepared + a.layout.c + 2 * state);
    if (a.x_initial) x[i] = load_complex(a.x_initial + 2 * (row * a.states + state));
  }
  for (int n = 0; n < a.length; ++n) {
    const float u = device::lower_float<T>(
        device::load_global<2>(static_cast<const unsigned char*>(a.u) + 2 * (row * a.length + n))[0]);
    float y = 0;
    DANAUS_UNROLL
    for (int i = 0; i < kOfLane; ++i) {
      const Complex32 decayed = times(p[i], x[i]);
      x[i] = {device::fma(b[i].re, u, decayed.re), device::fma(b[i].im, u, decayed.im)};
      y = device::fma(c[i].re, x[i].re, device::fma(-c[i].im, x[i].im, y));
    }
    device::count_fp32(14 * kOfLane);
    DANAUS_UNROLL
    for (int apart = 16; apart > 0; apart /= 2) y += float_of(device::shuffle(word_of(y), lane ^ apart));
    if (lane == 0)
      device::store_global<2>(static_cast<unsigned char*>(a.y) + 2 * (row * a.length + n),
                              {device::pack2<T>(y, 0) & 0xffffu});
  }
  DANAUS_UNROLL
  for (int i = 0; i < kOfLane; ++i)
    if (const int state = lane + 32 * i; a.x_final && state < a.states)
      store_complex(a.x_final + 2 * (row * a.states + state), x[i]);
}

}  // namespace danaus::state::inline DANAUS_BACKEND
