// States: complex numbers, in memory and as a lane has them of the rows of a product.
#pragma once

#include "kernels/families/state/layout.hpp"
#include "kernels/tile/bits.hpp"

namespace danaus::state::inline DANAUS_BACKEND {

template <class Real>
struct ComplexOf {
  Real re, im;
};
using Complex32 = ComplexOf<float>;
using Complex64 = ComplexOf<double>;

template <class Real>
DANAUS_DEVICE ComplexOf<Real> times(ComplexOf<Real> a, ComplexOf<Real> b) {
  return {device::fma(a.re, b.re, -(a.im * b.im)), device::fma(a.re, b.im, a.im * b.re)};
}
template <class Real>
DANAUS_DEVICE ComplexOf<Real> add(ComplexOf<Real> a, ComplexOf<Real> b) {
  return {a.re + b.re, a.im + b.im};
}

DANAUS_DEVICE Complex32 load_complex(const void* from) {
  const Words<2> w = device::load_global<8>(from);
  return {float_of(w[0]), float_of(w[1])};
}
DANAUS_DEVICE Complex32 shared_complex(SharedAddress from) {
  const Words<2> w = device::load_shared<8>(from);
  return {float_of(w[0]), float_of(w[1])};
}
DANAUS_DEVICE void store_complex(void* to, Complex32 z) { device::store_global<8>(to, {word_of(z.re), word_of(z.im)}); }

// Of 16 rows and a tile of four states, over their scales: state t of row g (re, im) and of row g + 8, as sums of an
// mma.
using Sums = float[4];

// What a chunk leaves of a state; `tail`: of the last of a row, which has fewer samples.
template <class P, bool tail>
DANAUS_DEVICE Complex32 decay_of(const u32* prepared, int state) {
  return tail ? load_complex(prepared + P::layout.tail_decay + 2 * state)
              : shared_complex(4 * (P::layout.decay + 2 * state));
}
DANAUS_DEVICE void decay(Sums& x, Complex32 by) {
  const Sums before = {x[0], x[1], x[2], x[3]};
  DANAUS_UNROLL
  for (int i = 0; i < 4; i += 2) {
    x[i] = device::fma(by.re, before[i], -(by.im * before[i + 1]));
    x[i + 1] = device::fma(by.re, before[i + 1], by.im * before[i]);
  }
  device::count_fp32(8);
}

template <class P>
DANAUS_DEVICE u32 scale_of(int state) {
  return device::load_shared<4>(4 * (P::layout.scale + state))[0];
}
// Of all that a lane has: for_each(visit) calls visit(re, im, place in a field of states, state).
template <class P, class ForEach>
DANAUS_DEVICE void load_states(const float* field, ForEach for_each) {
  for_each([&](float& re, float& im, long long at, int) {  // none waits for another
    const Complex32 z = load_complex(field + at);
    re = z.re, im = z.im;
  });
  for_each([&](float& re, float& im, long long, int state) {
    const float inverse = float_of((254u << 23) - scale_of<P>(state));  // a division would need a routine's registers
    re *= inverse, im *= inverse;
  });
}
template <class P, class ForEach>
DANAUS_DEVICE void store_states(float* field, ForEach for_each) {
  for_each([&](float re, float im, long long at, int state) {
    const float scale = float_of(scale_of<P>(state));
    store_complex(field + at, {re * scale, im * scale});
  });
}

}  // namespace danaus::state::inline DANAUS_BACKEND
