// What is prepared of a channel: powers of A in double, rounded to fp32; from them the matrices.
#pragma once

#include "kernels/families/state/states.hpp"
#include "kernels/tile/scaled.hpp"

namespace danaus::state::inline DANAUS_BACKEND {

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
        to_(a.prepared + 1ll * a.channel_words * channel_) {}

  DANAUS_DEVICE void run() {
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
    // Neighbours have the same of different states.
    for (int i = thread_; i < kOfState * states_; i += threads_) prepare_state(i % states_, i / states_);
    for (int i = thread_; i < chunk_ / kRun * states_; i += threads_) place_powers(i % states_, kRun * (i / states_));
    device::sync_block();
    const float y_scale = find_y_scale(), inverse_scale = 1 / y_scale;
    if (thread_ == 0) device::store_global<16>(to_ + at_.y_scale, {word_of(y_scale), 0, 0, 0});
    for (int i = at_.in_words + thread_; i < 128 * at_.out_begin; i += threads_)
      device::store_global<4>(to_ + i, {0});  // which is copied with the rest
    sum_taps(inverse_scale);
    device::sync_block();
    if (at_.key.group) return prepare_lines(inverse_scale);
    for (int i = thread_; i < 32 * at_.vectors; i += threads_) {
      const int vector = i / 32, lane = i % 32, g = lane / 4, t = lane % 4;
      if (vector >= at_.in_vectors && vector < at_.out_begin) continue;
      const Words<4> words = vector < at_.in_vectors       ? in(vector, g, t, at_.groups)
                             : vector < at_.toeplitz_begin ? out(vector - at_.out_begin, g, t, inverse_scale)
                                                           : toeplitz(vector - at_.toeplitz_begin, g, t);
      device::store_global<16>(to_ + 4 * i, words);
    }
    if (a_.ends_begin == 0) return;
    if (thread_ == 0) device::store_global<16>(to_ + at_.pass_scale - 4, Words<4>{});  // likewise
    for (int i = thread_; i < 32 * at_.pass_vectors; i += threads_)
      device::store_global<16>(to_ + at_.pass_begin + 4 * i,
                               in(i / 32, i % 32 / 4, i % 4, at_.groups * at_.tuning.at_once));
  }

 private:
  static constexpr int kOfState = 4, kRun = 8;  // what prepare_state() makes; powers that a thread makes of one another

  DANAUS_DEVICE Complex32 given(const float* list, int state) const {
    return state < a_.states ? load_complex(list + 2 * (1ll * channel_ * a_.states + state)) : Complex32{0, 0};
  }
  static DANAUS_DEVICE Complex64 widened(Complex32 z) { return {z.re, z.im}; }
  static DANAUS_DEVICE Complex32 rounded(Complex64 z) { return {static_cast<float>(z.re), static_cast<float>(z.im)}; }
  DANAUS_DEVICE void store(int place, int state, Complex32 value) const {
    store_complex(to_ + place + 2 * state, value);
  }

  DANAUS_DEVICE void prepare_state(int state, int what) const {
    const Complex32 a = given(a_.a, state);
    if (what == 0) {
      const Complex32 b = given(a_.b, state), c = given(a_.c, state);
      const float scale = find_scale(widened(a), widened(b));
      device::store_shared<16>(at_.scaled_begin + 16 * state, {word_of(b.re / scale), word_of(b.im / scale),
                                                               word_of(c.re * scale), word_of(c.im * scale)});
      store(at_.a, state, a), store(at_.b, state, b), store(at_.c, state, c);
      device::store_global<4>(to_ + at_.scale + state, {word_of(scale)});
      if (a_.ends_begin > 0) device::store_global<4>(to_ + at_.pass_scale + state, {word_of(scale)});
    } else if (what == 1) {
      store(at_.part_decay, state, rounded(power(widened(a), a_.part_length)));
    } else if (what == 2) {
      store(at_.last_decay, state, rounded(power(widened(a), a_.length - (a_.parts - 1) * a_.part_length)));
    } else if (a_.ends_begin > 0) {
      store(at_.pass_decay, state, rounded(power(widened(a), at_.pass)));
    }
  }

  // A^n, begin < n <= begin + kRun, and n = 0; two of them are decays as well.
  DANAUS_DEVICE void place_powers(int state, int begin) const {
    const Complex64 a = widened(given(a_.a, state));
    Complex64 z = power(a, begin);
    const auto place = [&](int n) {
      const Complex32 of_n = rounded(z);
      device::store_shared<8>(power_place(state, n), {word_of(of_n.re), word_of(of_n.im)});
      if (n == chunk_) store(at_.decay, state, of_n);
      if (n == a_.length % chunk_) store(at_.tail_decay, state, of_n);
    };
    if (begin == 0) place(0);
    for (int n = begin + 1; n <= begin + kRun; ++n) {
      z = times(z, a);
      place(n);
    }
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
    float most = 0, taps = 0;
    for (int state = device::lane_index(); state < states_; state += 32) {
      const Complex32 b = scaled_b(state), c = scaled_c(state);
      const float size_of_c = size_of(c);
      most = max(most, size_of_c);
      taps += size_of_c * size_of(b);
    }
    DANAUS_UNROLL
    for (int apart = 16; apart > 0; apart /= 2)
      taps += float_of(device::shuffle(word_of(taps), device::lane_index() ^ apart));
    most = max(float_of(device::max_of_warp(word_of(most))), taps);  // positive floats are in the order of their bits
    return most > 0 ? power_of_two(exponent_of(most) + 1 - 10) : 1;
  }
  static DANAUS_DEVICE float size_of(Complex32 z) { return (z.re < 0 ? -z.re : z.re) + (z.im < 0 ? -z.im : z.im); }

  // k[n] / y_scale, n < T, each by neighbours that have some of the states.
  DANAUS_DEVICE void sum_taps(float inverse_scale) const {
    const int parts = threads_ / chunk_, n = thread_ / parts;
    float k = 0;
    for (int state = thread_ % parts; state < states_; state += parts)
      k += times(times(scaled_b(state), scaled_c(state)), power_at(state, n)).re;
    for (int apart = 1; apart < parts; apart *= 2)
      k += float_of(device::shuffle(word_of(k), device::lane_index() ^ apart));
    if (thread_ % parts == 0) device::store_shared<4>(at_.taps_begin + 4 * n, {word_of(k * inverse_scale)});
  }

  DANAUS_DEVICE Complex32 scaled_b(int state) const { return shared_complex(at_.scaled_begin + 16 * state); }
  DANAUS_DEVICE Complex32 scaled_c(int state) const { return shared_complex(at_.scaled_begin + 16 * state + 8); }
  DANAUS_DEVICE Complex32 power_at(int state, int n) const { return shared_complex(power_place(state, n)); }
  DANAUS_DEVICE SharedAddress power_place(int state, int n) const { return 8 * (state * at_.power_stride + n); }

  // Pairs of samples 32 q + 8 w + 2 t of so many groups, of the column g of a tile: the real or the imaginary part of a
  // state.
  DANAUS_DEVICE Words<4> in(int vector, int g, int t, int groups) const {
    const int state = 4 * (vector / groups) + g / 2, group = vector % groups;
    const int first = 32 * (group % at_.groups) + 2 * t;
    const Complex32 decay = power_at(state, chunk_);
    Complex32 b = scaled_b(state);
    for (int chunk = group / at_.groups + 1; chunk < groups / at_.groups; ++chunk) b = times(b, decay);
    Words<4> words;
    DANAUS_UNROLL
    for (int w = 0; w < 4; ++w) words[w] = in_pair(b, state, g % 2, first + 8 * w);
    return words;
  }
  // Of a sample and the next what the state's real or imaginary part has of them.
  DANAUS_DEVICE u32 in_pair(Complex32 b, int state, int part, int sample) const {
    // The later sample's power, and the earlier one's behind it.
    const Words<4> z = device::load_shared<16>(power_place(state, chunk_ - 2 - sample));
    const Complex32 later = times(b, {float_of(z[0]), float_of(z[1])});
    const Complex32 earlier = times(b, {float_of(z[2]), float_of(z[3])});
    return device::pack2<T>(part == 0 ? earlier.re : earlier.im, part == 0 ? later.re : later.im);
  }

  // Sample i of a column g of tile j of a group.
  static DANAUS_DEVICE int sample_of(int j, int g) { return 8 * (g / 2) + 2 * j + g % 2; }

  // States t of two tiles, of two tiles of samples: Re(z x) of z x, as re and -im.
  DANAUS_DEVICE Words<4> out(int vector, int g, int t, float inverse_scale) const {
    const int pair = vector / 2 / at_.groups, group = vector / 2 % at_.groups;
    Words<4> words;
    DANAUS_UNROLL
    for (int w = 0; w < 4; ++w) {
      const int state = 4 * (2 * pair + w % 2) + t;
      words[w] = out_pair(state, 32 * group + sample_of(vector % 2 * 2 + w / 2, g), inverse_scale);
    }
    return words;
  }
  DANAUS_DEVICE u32 out_pair(int state, int sample, float inverse_scale) const {
    const Complex32 z = times(scaled_c(state), power_at(state, sample + 1));
    return device::pack2<T>(z.re * inverse_scale, -z.im * inverse_scale);
  }

  // k[i - i'] of samples i' = 16 half + 8 (w % 2) + 2 t, and the one after, that are some groups before.
  DANAUS_DEVICE Words<4> toeplitz(int vector, int g, int t) const {
    const int apart = vector / 4, half = vector / 2 % 2;
    Words<4> words;
    DANAUS_UNROLL
    for (int w = 0; w < 4; ++w) {
      const int n = 32 * apart + sample_of(vector % 2 * 2 + w / 2, g) - (16 * half + 8 * (w % 2) + 2 * t);
      words[w] = tap_pair(n);
    }
    return words;
  }
  DANAUS_DEVICE u32 tap_pair(int n) const { return device::pack2<T>(tap(n), tap(n - 1)); }
  DANAUS_DEVICE float tap(int n) const {
    return n < 0 ? 0 : float_of(device::load_shared<4>(at_.taps_begin + 4 * n)[0]);
  }

  // The same matrices for products of a group: of a column, 16 bytes of its points at a time.
  DANAUS_DEVICE void prepare_lines(float inverse_scale) const {
    const auto place = [&](int begin, int points, int columns, auto pair) {  // begin: a vector
      for (int i = thread_; i < points / 8 * columns; i += threads_) {
        const int line = i / 8, column = line % columns, piece = i % 8 ^ line % 8;
        const int point = line / columns * 64 + 8 * piece;
        Words<4> words;
        DANAUS_UNROLL
        for (int w = 0; w < 4; ++w) words[w] = pair(column, point + 2 * w);
        device::store_global<16>(to_ + 128 * begin + 4 * i, words);
      }
    };
    const auto sample_at = [&](int column) { return column / 32 * 32 + sample_of(column / 8 % 4, column % 8); };
    place(0, chunk_, 2 * states_,
          [&](int column, int sample) { return in_pair(scaled_b(column / 2), column / 2, column % 2, sample); });
    place(at_.out_begin, 2 * states_, chunk_,
          [&](int column, int point) { return out_pair(point / 2, sample_at(column), inverse_scale); });
    place(at_.toeplitz_begin, chunk_, chunk_,
          [&](int column, int sample) { return tap_pair(sample_at(column) - sample); });
  }

  const Arguments& a_;
  const Layout& at_;
  int chunk_, states_, thread_, threads_, channel_;
  u32* to_;
};

}  // namespace danaus::state::inline DANAUS_BACKEND
