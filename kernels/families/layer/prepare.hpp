// What is prepared of weights.
#pragma once

#include "kernels/families/layer/points.hpp"

namespace danaus::layer::inline DANAUS_BACKEND {

// Weights in the order of fragments, rounded as products take them: a vector a thread.
template <class P>
class Arrangement {
 public:
  static constexpr Layout layout = P::layout;

  DANAUS_DEVICE explicit Arrangement(const Arguments& a) : a_(a) {}

  DANAUS_DEVICE void run() const {
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
    const int steps = a_.places.input_tiles * layout.steps_of_tile;
    const long long vectors = 64ll * a_.matrices * a_.places.output_tiles * steps;
    for (long long i = 1ll * device::block_index() * layout.threads + device::thread_index(); i < vectors;
         i += 1ll * device::block_count() * layout.threads) {
      const int lane = static_cast<int>(i % 32), part = static_cast<int>(i / 32 % 2);
      const long long fragment = i / 64, tile = fragment / steps;
      const int output = static_cast<int>(16 * (tile % a_.places.output_tiles)) + lane / 4;
      device::store_global<16>(a_.arranged + 4 * i, vector(static_cast<int>(tile / a_.places.output_tiles), output,
                                                           static_cast<int>(fragment % steps), part, lane % 4));
    }
  }

 private:
  DANAUS_DEVICE float weight(int matrix, int output, int input, int part) const {
    if (output >= a_.outputs || input >= a_.inputs) return 0;
    const long long pair = a_.adjoint ? 1ll * output * a_.inputs + input : 1ll * input * a_.outputs + output;
    const float value = float_of(device::load_global<4>(a_.w + 2 * (pair * a_.matrices + matrix) + part)[0]);
    return a_.adjoint && part == 1 ? -value : value;
  }
  DANAUS_DEVICE Words<4> vector(int matrix, int output, int step, int part, int t) const {
    Words<4> words;
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int row = output + 8 * (i % 2);
      if constexpr (layout.halves) {
        const int input = 16 * step + 2 * t + i / 2;  // a unit's first channel
        words[i] =
            device::pack2<layout.key.dtype>(weight(matrix, row, input, part), weight(matrix, row, input + 8, part));
      } else {
        words[i] = stored<P>(weight(matrix, row, 16 * (step / 2) + 4 * (step % 2) + t + 8 * (i / 2), part));
      }
    }
    return words;
  }
  const Arguments& a_;
};

}  // namespace danaus::layer::inline DANAUS_BACKEND
