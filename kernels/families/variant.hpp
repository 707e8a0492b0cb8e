// A kernel of some family, as everything outside the family sees it.
//
// A family is a folder here. Its family.hpp exports, as members of a struct Family, the same names as every other:
//   name                     of the folder
//   Key, Tuning, Layout      what a kernel is compiled for; what measurement decides; the sizes and places that follow
//   lines                    the table: kinds, worth, tuning, and what of the key they share
//   key_of(line, dtype, fold, gated)       fitted(key, tuning, device class): the tuning as far as there is room
//   tuning_words(tuning)     what tells it from others of its key
//   factors, spectrum_slots, spectrum_scale, make_tables, roundings, share
//   takes(layout, problem)   only of families without an FFT, whose keys have size 0 and whose spectrum is the filter
//                            itself: which cases they compute
// Kernels whose key is `sparse` leave out blocks of a masked spectrum: Layout::live_block(vector of the spectrum).
// Kernels that read a part of any spectrum say how much: Layout::spectrum_numbers.
// And its kernel.hpp Shape<key, tuning> and run<Shape, path>(arguments). CMake finds the folder; registry, choice,
// tests, bench and counting walk over all families, and one that lacks a name does not compile.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/device_class.hpp"
#include "kernels/families/instances.hpp"
#include "kernels/memory/arguments.hpp"
#include "kernels/memory/layout.hpp"

namespace danaus {

// A tensor map's extents, strides (in samples) and box, in five dimensions, for rows [B, H, L].
struct TensorShape {
  std::array<std::uint64_t, 5> extent;
  std::array<std::uint64_t, 5> stride;
  std::array<std::uint32_t, 5> box;
  bool operator==(const TensorShape&) const = default;
};

// Who of a launch computes what.
struct Share {
  std::int64_t blocks;
  int workers_of_block;  // 1, or its warps where each works by itself
  Division division;     // among the workers
};

// What a launch is to share out.
struct Load {
  std::int64_t items_of_channel, channels;
  Transfer transfer;
  std::int64_t concurrent;  // blocks that run at once
};

// How a convolution is computed: in one launch by an FFT, or tap by tap; by outer passes, by clusters of blocks, or in
// pieces of rows.
enum class Way { fused, taps, passes, clusters, pieces };

class Variant {
 public:
  virtual ~Variant() = default;

  std::string_view family;
  std::size_t line, instance;  // of the family's table, and of the line
  Dtype dtype;
  Fold fold;
  bool gated;
  bool sparse = false;       // leaves out what a mask removes: sparse_variants() in plan/registry.hpp
  bool filtered = false;     // short filters convolve u and gates first: filtered_variants()
  int size;                  // N; 0 without an FFT
  std::vector<int> factors;  // of N, outermost stage first
  bool preferred;            // the choice of its kind and N where the caller makes none
  bool unaligned = false;    // and instead of that one, where L is no multiple of 8
  unsigned classes;          // bit i: for kDeviceClasses[i]
  bool compiled;             // in this build
  int threads, shared_bytes, blocks_per_sm;
  std::string name;  // one word: exchange_64x128_f16_pair_w8_ring6_x2

  virtual Way way() const { return size == 0 ? Way::taps : Way::fused; }
  // N1 of outer passes; 1 without.
  virtual int outer_rows() const { return 1; }
  // Rows k_hi of the outer passes that a mask leaves something of, ascending, where these marks [N] are of frequencies
  // that are live (live_with_mirrors()); empty where that is all of them.
  virtual std::vector<int> live_rows(std::span<const std::uint8_t>) const { return {}; }
  bool suits(int device_class) const { return classes >> device_class & 1; }
  // Whether samples N apart meet, so that N is L of a circular case; the right angle tells them apart.
  bool wraps() const { return fold != Fold::right_angle; }
  int item_rows() const { return fold == Fold::pair ? 2 : 1; }
  std::int64_t items_of_channel(std::int64_t batch) const { return (batch + item_rows() - 1) / item_rows(); }

  // Whether it is for the case, which it has the type, the gates and room for: a kernel without an FFT computes some
  // alone, one with an FFT computes all, of which there may be some that another is better at.
  virtual bool takes(const Convolution& problem) const = 0;
  // Constants of the kernel, computed in double and rounded once.
  virtual std::vector<std::uint32_t> make_tables() const = 0;
  // Where the kernel reads frequency k of the spectrum: slot[k], 0 <= slot < N. Slot s is the complex number whose real
  // part is half 4 (s / 2) + s mod 2 of a channel's N packed pairs, its imaginary part two halves later.
  virtual std::vector<std::int32_t> spectrum_slots() const = 0;
  // Of these slots the first ones that it reads; a sparse kernel reads live pieces of them.
  virtual int spectrum_numbers() const { return size; }
  // What the unnormalised spectrum is multiplied by: 1 / N over the scales of the forward and the inverse stages, a
  // number between 1/4 and 4 that keeps every intermediate at the scale of u.
  virtual double spectrum_scale() const = 0;
  // Of a sparse kernel: the block that a vector of the spectrum belongs to, which is computed or left out as a whole.
  virtual int live_block(int vector) const { return vector; }
  // That a sample goes through on its way from u to y, gates aside; what bound_l2_of_kernel() takes.
  virtual int roundings() const = 0;
  // How rows lie in shared memory.
  virtual const RowLayout& rows() const = 0;
  // Of rows [B, H, L] and what a slab has of them. L must be a multiple of the grain.
  TensorShape tensor_shape(int batch, int channels, int length, const RowStrides& strides) const;
  int tensor_grain() const { return rows().line_step; }
  bool takes_any_alignment() const { return !filtered && danaus::takes_any_alignment(size, fold); }
  virtual Share share(const Load& load) const = 0;
  // Of a sparse kernel: how many live pieces of a spectrum it has room for, and pays with.
  virtual int most_pieces() const { return spectrum_numbers() / 4; }
};

inline TensorShape tensor_shape(const RowLayout& r, int batch, int channels, int length, const RowStrides& strides) {
  const auto l = std::uint64_t(length), h = std::uint64_t(channels), b = std::uint64_t(batch);
  const auto line = std::uint64_t(r.line_step), plane = std::uint64_t(r.plane_step);
  return {{64u * r.slabs, l / line, std::uint64_t(r.planes), h, b},
          {1, line, plane, std::uint64_t(strides.channel), std::uint64_t(strides.row)},
          {64, std::uint32_t(r.plane_lines), std::uint32_t(r.planes), 1, std::uint32_t(r.item_rows)}};
}

inline TensorShape Variant::tensor_shape(int batch, int channels, int length, const RowStrides& strides) const {
  return danaus::tensor_shape(rows(), batch, channels, length, strides);
}

// A variant of a family, from what the family exports.
template <class Family>
class VariantOf final : public Variant {
 public:
  VariantOf(const Instance<Family>& made, std::size_t line_number, std::size_t instance_number)
      : layout_(made.key, made.tuning) {
    family = Family::name, line = line_number, instance = instance_number;
    dtype = made.key.dtype, fold = made.key.fold, gated = made.key.gated;
    size = made.key.size();
    factors = Family::factors(layout_);
    if constexpr (requires { made.key.sparse; }) sparse = made.key.sparse;
    if constexpr (requires { made.key.filtered; }) filtered = made.key.filtered;
    preferred = made.worth == kChosen, unaligned = made.worth == kUnaligned, classes = made.classes,
    compiled = made.compiled;
    threads = layout_.threads, shared_bytes = layout_.shared_bytes, blocks_per_sm = made.tuning.blocks;
    name = text(family, '_', Family::key_words(made.key), '_', danaus::name(dtype), '_', danaus::name(fold),
                gated ? "_gated" : "", '_', Family::tuning_words(made.tuning), "_x", blocks_per_sm);
  }
  bool takes(const Convolution& problem) const override {
    if constexpr (requires { Family::takes(layout_, problem); }) return Family::takes(layout_, problem);
    return true;
  }
  std::vector<std::uint32_t> make_tables() const override { return Family::make_tables(layout_); }
  std::vector<std::int32_t> spectrum_slots() const override { return Family::spectrum_slots(layout_); }
  int spectrum_numbers() const override {
    if constexpr (requires { layout_.spectrum_numbers; }) return layout_.spectrum_numbers;
    return size;
  }
  int most_pieces() const override {
    if constexpr (requires { layout_.most_pieces; }) return layout_.most_pieces;
    return Variant::most_pieces();
  }
  double spectrum_scale() const override { return Family::spectrum_scale(layout_); }
  int live_block(int vector) const override {
    if constexpr (requires { layout_.live_block(vector); }) return layout_.live_block(vector);
    return vector;
  }
  int roundings() const override { return Family::roundings(layout_); }
  const RowLayout& rows() const override { return layout_; }
  Share share(const Load& load) const override { return Family::share(layout_, load); }

 private:
  typename Family::Layout layout_;
};

template <class Family>
std::vector<std::unique_ptr<const Variant>> variants_of() {
  std::vector<std::unique_ptr<const Variant>> list;
  for (std::size_t line = 0; line < Family::line_count; ++line) {
    const Instances<Family> all = Family::instances(line);
    for (int i = 0; i < all.count; ++i) list.push_back(std::make_unique<VariantOf<Family>>(all.list[i], line, i));
  }
  return list;
}

}  // namespace danaus
