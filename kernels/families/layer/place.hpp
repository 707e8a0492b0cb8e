// Where a block of a layer is: its item, frequencies and channels, their places in memory, its tables.
#pragma once

#include <type_traits>

#include "kernels/families/layer/operand.hpp"
#include "kernels/families/layer/points.hpp"

namespace danaus::layer::inline DANAUS_BACKEND {

// Spectra of 16 channels, g and g + 8, at the frequencies 2 t and 2 t + 1 of some tiles of 8.
template <int tiles>
struct Tile {
  float re[tiles][4] = {}, im[tiles][4] = {};
};

// The lane's part of vectors of a table, from one of them on: of the table, or of its copy in shared memory.
template <bool shared>
struct Table {
  const u32* from;
  SharedAddress at;
  DANAUS_DEVICE Table(const u32* table, int place, int vector)
      : from(table + 4 * (32ll * vector + device::lane_index())),
        at(place + 16 * (32 * vector + device::lane_index())) {}
  DANAUS_DEVICE void operator+=(int vectors) { from += 128ll * vectors, at += 512 * vectors; }
  DANAUS_DEVICE void load(int vector, u32 (&first)[2], u32 (&second)[2]) const {
    Words<4> w;
    if constexpr (shared)
      w = device::load_shared<16>(at + 512 * vector);
    else
      w = device::load_constant<16>(from + 128 * vector);
    first[0] = w[0], first[1] = w[1], second[0] = w[2], second[1] = w[3];
  }
};

template <class P>
class BlockPlace {
 public:
  DANAUS_DEVICE explicit BlockPlace(const AxisArguments& a) : a_(a), at_(a.places), warp_(device::warp_index()) {}

 protected:
  static constexpr Layout layout = P::layout;
  static constexpr bool kComplex = layout.key.complex;
  static constexpr bool kOneItem = layout.key.product != Product::each;  // of the batch, in a block

  using Lane = Points<P>;

  // What is divided by. Teams have no registers for a Divisor's numbers: 201 for 193 us, 41.5 for 39.7, by 72 bytes of
  // local memory.
  using Divided = std::conditional_t<layout.in_teams, int, Divisor>;
  DANAUS_DEVICE Divided frequency_groups() const { return at_.frequency_groups; }
  DANAUS_DEVICE Divided mixed_groups() const { return at_.mixed_groups; }

  static constexpr bool kProduct = layout.key.product != Product::none, kBack = layout.to_samples;

  DANAUS_DEVICE void copy_tables() const { copy_forward_table(), copy_inverse_table(); }
  DANAUS_DEVICE void copy_forward_table() const {
    if (layout.from_samples && at_.forward_at >= 0) copy(at_.forward_at, a_.forward, table_vectors());
  }
  DANAUS_DEVICE void copy_inverse_table() const {
    if (layout.to_samples && at_.inverse_at >= 0) copy(at_.inverse_at, a_.inverse, table_vectors());
  }
  DANAUS_DEVICE int table_vectors() const { return Layout::table_vectors(a_.part, layout.step, a_.table_tiles); }
  // Of the block's outputs.
  DANAUS_DEVICE void copy_matrix() const {
    if (layout.key.product != Product::shared || at_.weights_at < 0) return;
    const int first = first_channel() / 16, tiles = min(at_.output_tiles, (a_.outputs + 15) / 16 - first);
    const int vectors = 2 * at_.input_tiles * layout.steps_of_tile;
    copy(at_.weights_at, a_.weights + 128ll * first * vectors, tiles * vectors);
  }
  // Vectors of 512 bytes.
  DANAUS_DEVICE static void copy(SharedAddress to, const u32* from, int vectors) {
    for (int i = device::thread_index(); i < 32 * vectors; i += layout.threads)
      device::copy_async(to + 16 * i, from + 4 * i, 16);
  }

  // A lane's row of a fragment and its place there; read anew, which costs less than a register.
  static DANAUS_DEVICE int g() { return device::lane_index() / 4; }
  static DANAUS_DEVICE int t() { return device::lane_index() % 4; }
  DANAUS_DEVICE int items() const { return kOneItem ? 1 : min(at_.columns, a_.batch - first_item_); }
  DANAUS_DEVICE int first_frequency() const { return layout.slices_frequencies ? first_frequency_ : 0; }
  DANAUS_DEVICE int first_channel() const { return layout.slices_channels ? first_channel_ : 0; }

  // An item's first row.
  DANAUS_DEVICE long long row_of(const Rows& rows, int item) const {
    const Divided inner = a_.inner;
    return rows.outer * (item / inner) + rows.item * (item % inner);
  }
  DANAUS_DEVICE const unsigned char* inputs_of(int item) const {
    return static_cast<const unsigned char*>(a_.u) + Lane::kBytes * row_of(a_.u_rows, item);
  }
  DANAUS_DEVICE unsigned char* outputs_of(int item) const {
    return static_cast<unsigned char*>(a_.y) + Lane::kBytes * row_of(a_.y_rows, item);
  }
  // Of a tile.
  static DANAUS_DEVICE int channel_of(int r) {
    if (!layout.in_columns) return g() + 8 * r;
    return layout.halves ? 4 * (g() / 2) + g() % 2 + 2 * r : 2 * g() + r;
  }

  // Of the channels of a product.
  DANAUS_DEVICE SharedAddress u_address(int item, int frequency, int part, int step) const {
    return item * at_.u_column + step * at_.u_step + part * at_.u_part + Layout::kUnits * Layout::place_of(frequency);
  }
  // Of a frequency, in 16 bits of a pair.
  DANAUS_DEVICE SharedAddress y_address(int item, int frequency, int part) const {
    return at_.y_begin + item * at_.y_column + frequency * at_.y_step + part * at_.y_part;
  }

  // The first channel of the block: of inputs all are there where there is a product.
  DANAUS_DEVICE int first_input() const { return layout.key.product == Product::none ? first_channel() : 0; }

  template <int tiles, bool whole = false, class Visit>
  DANAUS_DEVICE void for_each_tile(int first, Visit visit) const {
    DANAUS_UNROLL
    for (int i = 0; i < tiles; ++i)
      if (whole || first + i < at_.frequency_tiles) visit(i);
  }
  DANAUS_DEVICE bool is_whole(int tiles, int first_tile) const { return first_tile + tiles <= at_.frequency_tiles; }

  const AxisArguments& a_;
  const Places& at_;
  const int warp_;
  int first_item_ = 0, first_frequency_ = 0, first_channel_ = 0;
};

}  // namespace danaus::layer::inline DANAUS_BACKEND
