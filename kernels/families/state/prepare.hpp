// What is prepared of a channel: powers of A in double, from them the matrices, each number rounded once.
#pragma once

#include "kernels/families/state/layout.hpp"
#include "kernels/tile/scaled.hpp"

namespace danaus::state::inline DANAUS_BACKEND {

template <class Real>
struct ComplexOf {
  Real re, im;
};
using Complex32 = ComplexOf<float>;
using Complex64 = ComplexOf<double>;

template <class Real>
DANAUS_DEVICE ComplexOf<Real> times(ComplexOf<Real> a, ComplexOf<Real> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class Real>
DANAUS_DEVICE ComplexOf<Real> add(ComplexOf<Real> a, ComplexOf<Real> b) {
  return {a.re + b.re, a.im + b.im};
}

DANAUS_DEVICE Complex32 load_complex(const void* from) {
  const Words<2> w = device::load_global<8>(from);
  return {float_of(w[0]), float_of(w[1])};
}
DANAUS_DEVICE void store_complex(void* to, Complex32 z) { device::store_global<8>(to, {word_of(z.re), word_of(z.im)}); }

DANAUS_DEVICE Complex64 power(Complex64 a, long long n) {
  Complex64 result{1, 0};
  for (; n > 0; n /= 2, a = times(a, a))
    if (n % 2 != 0) result = times(result, a);
  return result;
}

// 2^exponent, as far as it and its inverse are normal numbers.
DANAUS_DEVICE float power_of_two(int exponent) { return scaled::power_of_two(scaled::normal_exponent(exponent + 127)); }
// e where 2^e <= value < 2^(e+1), of a positive number.
DANAUS_DEVICE int exponent_of(double value) {
  unsigned long long bits;
  memcpy(&bits, &value, 8);
  return static_cast<int>(bits >> 52 & 0x7ff) - 1023;
}

// By a block of so many threads for each channel.
template <Dtype T>
class Preparation {
 public:
  DANAUS_DEVICE Preparation(const Arguments& a, int threads)
      : a_(a),
        at_(a.layout),
        chunk_(a.layout.tuning.chunk),
        states_(a.layout.key.states),
        thread_(device::thread_index()),
        threads_(threads),
        channel_(device::block_index()),
        to_(a.prepared + 1ll * a.layout.channel_words * channel_) {}

  DANAUS_DEVICE void run() {
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
    for (int state = thread_; state < states_; state += threads_) prepare_state(state);
    device::sync_block();
    const float y_scale = find_y_scale();
    if (thread_ == 0) device::store_global<4>(to_ + at_.y_scale, {word_of(y_scale)});
    for (int n = thread_; n < chunk_; n += threads_) {
      double k = 0;
      for (int state = 0; state < a_.states; ++state) {
        const Complex64 b = scaled_b(state), c = scaled_c(state);
        k += times(times(b, c), power_at(state, n)).re;
      }
      device::store_shared<4>(at_.taps_begin + 4 * n, {word_of(static_cast<float>(k / y_scale))});
    }
    device::sync_block();
    for (int i = thread_; i < 32 * at_.vectors; i += threads_) {
      const int vector = i / 32, lane = i % 32, g = lane / 4, t = lane % 4;
      const Words<4> words = vector < at_.out_begin        ? in(vector, g, t)
                             : vector < at_.toeplitz_begin ? out(vector - at_.out_begin, g, t, y_scale)
                                                           : toeplitz(vector - at_.toeplitz_begin, g, t);
      device::store_global<16>(to_ + 4 * i, words);
    }
  }

 private:
  DANAUS_DEVICE void prepare_state(int state) const {
    const auto load = [&](const float* list) {
      return state < a_.states ? load_complex(list + 2 * (1ll * channel_ * a_.states + state)) : Complex32{0, 0};
    };
    const Complex32 a = load(a_.a), b = load(a_.b), c = load(a_.c);
    const Complex64 pole{a.re, a.im};
    Complex64 squared = pole;
    for (int level = 0; level < at_.levels; ++level) {
      Words<4> words;
      memcpy(&words, &squared, 16);
      device::store_shared<16>(16 * (state * at_.levels + level), words);
      squared = times(squared, squared);
    }
    const float scale = find_scale(pole, {b.re, b.im});
    device::store_shared<16>(at_.scaled_begin + 16 * state, {word_of(b.re / scale), word_of(b.im / scale),
                                                             word_of(c.re * scale), word_of(c.im * scale)});
    const auto store = [&](int place, Complex32 value) { store_complex(to_ + place + 2 * state, value); };
    const auto store_power = [&](int place, long long n) {
      const Complex64 z = power(pole, n);
      store(place, {static_cast<float>(z.re), static_cast<float>(z.im)});
    };
    store(at_.a, a), store(at_.b, b), store(at_.c, c);
    store_power(at_.decay, chunk_), store_power(at_.tail_decay, a_.length % chunk_);
    store_power(at_.part_decay, a_.part_length);
    store_power(at_.last_decay, a_.length - (a_.parts - 1) * a_.part_length);
    device::store_global<4>(to_ + at_.scale + state, {word_of(scale)});
  }

  // Near what white noise makes of the state, |B| sqrt(sum_n |A|^2n); at most 2^10 |B|, so that B over it is not lost.
  DANAUS_DEVICE float find_scale(Complex64 a, Complex64 b) const {
    const double square = a.re * a.re + a.im * a.im, rest = 1 - square;
    const double sum = rest < 1e-9 && rest > -1e-9 ? a_.length : (1 - power({square, 0}, a_.length).re) / rest;
    const double size = (b.re * b.re + b.im * b.im) * (sum < 0x1p20 ? sum : 0x1p20);
    return size > 0 ? power_of_two((exponent_of(size) + 1) / 2) : 1;
  }

  // So that no number of the matrices of y is beyond 2^10.
  DANAUS_DEVICE float find_y_scale() const {
    double most = 0, taps = 0;
    for (int state = 0; state < a_.states; ++state) {
      const Complex64 b = scaled_b(state), c = scaled_c(state);
      const double size_of_c = (c.re < 0 ? -c.re : c.re) + (c.im < 0 ? -c.im : c.im);
      most = max(most, size_of_c);
      taps += size_of_c * ((b.re < 0 ? -b.re : b.re) + (b.im < 0 ? -b.im : b.im));
    }
    most = max(most, taps);
    return most > 0 ? power_of_two(exponent_of(most) + 1 - 10) : 1;
  }

  DANAUS_DEVICE Complex64 scaled_b(int state) const {
    const Words<2> w = device::load_shared<8>(at_.scaled_begin + 16 * state);
    return {float_of(w[0]), float_of(w[1])};
  }
  DANAUS_DEVICE Complex64 scaled_c(int state) const {
    const Words<2> w = device::load_shared<8>(at_.scaled_begin + 16 * state + 8);
    return {float_of(w[0]), float_of(w[1])};
  }
  // A^(2^level), A^n for n up to T.
  DANAUS_DEVICE Complex64 square_at(int state, int level) const {
    const Words<4> words = device::load_shared<16>(16 * (state * at_.levels + level));
    Complex64 z;
    memcpy(&z, &words, 16);
    return z;
  }
  DANAUS_DEVICE Complex64 power_at(int state, int n) const {
    Complex64 z{1, 0};
    for (int level = 0; n >> level > 0; ++level)
      if (n >> level & 1) z = times(z, square_at(state, level));
    return z;
  }

  // Pairs of samples 32 q + 8 w + 2 t, of the column g of a tile: the real or the imaginary part of a state.
  DANAUS_DEVICE Words<4> in(int vector, int g, int t) const {
    const int state = 4 * (vector / at_.groups) + g / 2, last = 32 * (vector % at_.groups) + 24 + 2 * t + 1;
    const Complex64 a = square_at(state, 0), a8 = square_at(state, 3);
    const auto value = [&](Complex64 z) { return static_cast<float>(g % 2 == 0 ? z.re : z.im); };
    Complex64 z = times(scaled_b(state), power_at(state, chunk_ - 1 - last));
    Words<4> words;
    DANAUS_UNROLL
    for (int w = 3; w >= 0; --w) {
      words[w] = device::pack2<T>(value(times(z, a)), value(z));
      z = times(z, a8);
    }
    return words;
  }

  // Sample i of a column g of tile j of a group.
  static DANAUS_DEVICE int sample_of(int j, int g) { return 8 * (g / 2) + 2 * j + g % 2; }

  // States t of two tiles, of two tiles of samples: Re(z x) of z x, as re and -im.
  DANAUS_DEVICE Words<4> out(int vector, int g, int t, float y_scale) const {
    const int pair = vector / 2 / at_.groups, group = vector / 2 % at_.groups;
    Words<4> words;
    DANAUS_UNROLL
    for (int w = 0; w < 4; ++w) {
      const int state = 4 * (2 * pair + w % 2) + t, i = 32 * group + sample_of(vector % 2 * 2 + w / 2, g);
      const Complex64 z = times(scaled_c(state), power_at(state, i + 1));
      words[w] = device::pack2<T>(static_cast<float>(z.re / y_scale), static_cast<float>(-z.im / y_scale));
    }
    return words;
  }

  // k[i - i'] of samples i' = 16 half + 8 (w % 2) + 2 t, and the one after, that are some groups before.
  DANAUS_DEVICE Words<4> toeplitz(int vector, int g, int t) const {
    const int apart = vector / 4, half = vector / 2 % 2;
    Words<4> words;
    DANAUS_UNROLL
    for (int w = 0; w < 4; ++w) {
      const int n = 32 * apart + sample_of(vector % 2 * 2 + w / 2, g) - (16 * half + 8 * (w % 2) + 2 * t);
      words[w] = device::pack2<T>(tap(n), tap(n - 1));
    }
    return words;
  }
  DANAUS_DEVICE float tap(int n) const {
    return n < 0 ? 0 : float_of(device::load_shared<4>(at_.taps_begin + 4 * n)[0]);
  }

  const Arguments& a_;
  const Layout& at_;
  int chunk_, states_, thread_, threads_, channel_;
  u32* to_;
};

}  // namespace danaus::state::inline DANAUS_BACKEND
