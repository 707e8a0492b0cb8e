// pieces: rows cut into overlapping pieces, and what was computed of them joined; filters turned for them.
//
// source     overlap-save, the first `lead` samples of a piece being what stands before those that it gives. They come
//            first, and so would what is to be thrown away; a filter whose tap m stands at (m - lead) mod N puts it
//            last
// index      y[begin + p step + n] is number n < step of the circular convolution of piece p
// shapes     rows [B, H, L], gates too; pieces [R, C, N]; filters [H, K] -> [C, N], those of channel c mod H
// types      samples, gates and taps of any type, moved as they are: products of gates are the convolution's to round
// memory     a block takes piece after piece; 16 bytes a thread, sample by sample where rows are not aligned
// error      none
// reference  reference/convolution/convolve.hpp   test   tests/kernels/chunks_test.cpp
#pragma once

#include "kernels/families/pieces/layout.hpp"
#include "kernels/memory/rows.hpp"

namespace danaus::pieces::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
};

template <class P>
class Block {
 public:
  DANAUS_DEVICE explicit Block(const Arguments& a) : a_(a) {}

  DANAUS_DEVICE void run() const {
    for (int piece = device::block_index(); piece < a_.rows_now * a_.channels_now; piece += device::block_count()) {
      if constexpr (layout.key.job == Job::turn)
        turn(piece);
      else
        move(piece);
    }
  }

 private:
  static constexpr Layout layout = P::layout;

  DANAUS_DEVICE void move(int piece) const {
    const int row = a_.first_row + piece / a_.channels_now, number = row % a_.of_row;
    const Item item{a_.first_channel + piece % a_.channels_now, row / a_.of_row};
    const int begin = static_cast<int>(a_.begin) + number * a_.step;
    if constexpr (layout.key.job == Job::cut) {
      const auto place = [&](const RowStrides& strides) { return RowPlace{offset_of(strides, item), 0, a_.length}; };
      cut(a_.rows, place(a_.rows_strides), begin - a_.lead, piece_of(a_.pieces, piece));
      if (a_.pregate) cut(a_.pregate, place(a_.pregate_strides), begin - a_.lead, piece_of(a_.pregate_pieces, piece));
      if (a_.postgate) cut(a_.postgate, place(a_.postgate_strides), begin, piece_of(a_.postgate_pieces, piece));
    } else {
      join({offset_of(a_.result_strides, item) + begin, 0,
            static_cast<int>(min(static_cast<long long>(a_.step), a_.end - begin))},
           piece_of(a_.pieces, piece));
    }
  }

  DANAUS_DEVICE void cut(const void* rows, const RowPlace& row, int begin, std::uint16_t* piece) const {
    for (int n = 8 * device::thread_index(); n < a_.size; n += 8 * layout.threads)
      device::store_global<16>(piece + n, load(rows, row, begin + n));
  }
  DANAUS_DEVICE void join(const RowPlace& row, const std::uint16_t* piece) const {
    for (int n = 8 * device::thread_index(); n < row.last; n += 8 * layout.threads)
      store_chunk(a_.result, row, n, transfer(), device::load_global<16>(piece + n));
  }
  DANAUS_DEVICE void turn(int piece) const {
    constexpr int kBytes = layout.bytes, kOfWord = 4 / kBytes;
    const auto* taps =
        static_cast<const unsigned char*>(a_.rows) + static_cast<long long>(kBytes) * (piece % a_.channels) * a_.length;
    auto* turned = static_cast<unsigned char*>(a_.pieces) + static_cast<long long>(kBytes) * piece * a_.size;
    for (int n = layout.chunk * device::thread_index(); n < a_.size; n += layout.chunk * layout.threads) {
      Words<4> words{};
      DANAUS_UNROLL
      for (int i = 0; i < layout.chunk; ++i) {
        const int m = (n + i + a_.lead) % a_.size;
        if (m < a_.length)
          words[i / kOfWord] |= device::load_global<kBytes>(taps + kBytes * m)[0] << 16 * (i % kOfWord);
      }
      device::store_global<16>(turned + kBytes * n, words);
    }
  }

  DANAUS_DEVICE std::uint16_t* piece_of(void* pieces, int piece) const {
    return static_cast<std::uint16_t*>(pieces) + static_cast<long long>(piece) * a_.size;
  }
  DANAUS_DEVICE Transfer transfer() const { return a_.aligned ? Transfer::vector : Transfer::element; }
  // The 8 samples from n on, where a row goes round or has zeros before and behind it.
  DANAUS_DEVICE Words<4> load(const void* rows, const RowPlace& row, int n) const {
    Words<4> words = load_chunk(rows, row, n, transfer());
    if (!a_.circular || (n >= 0 && n <= row.last - 8)) return words;
    const Words<4> others = load_chunk(rows, row, n < 0 ? n + row.last : n - row.last, transfer());
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) words[i] |= others[i];
    return words;
  }

  const Arguments& a_;
};

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  Block<P>(a).run();
}

}  // namespace danaus::pieces::inline DANAUS_BACKEND
