// A kernel that sums conj(U) dY over the batch, as plans see it: what the families of gradients export.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/families/instances.hpp"
#include "kernels/families/variant.hpp"

namespace danaus {

class Correlator {
 public:
  virtual ~Correlator() = default;

  std::string_view family;
  std::size_t line, instance;  // of the family's table, and of the line
  Dtype dtype;
  bool pair;   // fold: pair or right angle
  bool gated;  // takes gates
  bool all;    // makes the gradients of rows, too
  int size;    // N
  unsigned classes;
  bool compiled;
  int threads, shared_bytes;
  int warps_of_block;  // that have a part each; 1 where the block has one
  int shares;          // of an item, one a block of a cluster
  std::string name;

  bool suits(int device_class) const { return classes >> device_class & 1; }
  int item_rows() const { return pair ? 2 : 1; }
  // How rows lie in shared memory.
  virtual const RowLayout& rows() const = 0;
  virtual std::vector<std::uint32_t> make_tables() const = 0;
  // As Variant has them; the sums are where sum_index() of a frequency's slot says, times
  // N spectrum_scale() what they are of unscaled transforms.
  virtual std::vector<std::int32_t> spectrum_slots() const = 0;
  virtual double spectrum_scale() const = 0;
  // On the way from u and dy to a sum, and to a row's gradient.
  virtual int roundings() const = 0;
  // Of an item, of which the kernel leaves energies.
  virtual int units() const = 0;
  // The convolution whose steps these are, in whose order a spectrum is read where `all` gradients are made.
  virtual const Variant& convolution() const = 0;
};

template <class Family, class KeyOf>
constexpr Instances<Family> correlator_instances(const typename Family::Tuning& tuning, KeyOf key_of) {
  Instances<Family> all;
  for (Dtype dtype : {Dtype::f16, Dtype::bf16})
    for (bool pair : {true, false}) {
      auto& instance = all.list[all.count++];
      instance = {key_of(dtype, pair), tuning, kChosen};
      const int shared_bytes = typename Family::Layout(instance.key, tuning).shared_bytes;
      for (std::size_t c = 0; c < kDeviceClasses.size(); ++c) {
        if (!kDeviceClasses[c].fits(shared_bytes, 1)) continue;
        instance.classes |= 1u << c;
        instance.compiled |= is_compiled(instance.key.size(), kChosen, c);
      }
    }
  return all;
}

template <class Family>
class CorrelatorOf final : public Correlator {
 public:
  CorrelatorOf(const Instance<Family>& made, std::size_t line_number, std::size_t instance_number)
      : layout_(made.key, made.tuning) {
    family = Family::name, line = line_number, instance = instance_number;
    dtype = made.key.dtype, pair = made.key.pair, size = made.key.size();
    classes = made.classes, compiled = made.compiled;
    threads = layout_.threads, shared_bytes = layout_.shared_bytes;
    warps_of_block = shares = 1, gated = true, all = made.key.all;
    if constexpr (requires { layout_.workers; }) warps_of_block = layout_.workers;
    if constexpr (requires { made.key.shares; }) shares = made.key.shares;
    if constexpr (requires { made.key.gated; }) gated = made.key.gated;
    name = text(family, '_', size, '_', danaus::name(dtype), pair ? "_pair" : "_rightangle", gated ? "" : "_ungated",
                all ? "_all" : "");
  }
  const RowLayout& rows() const override { return layout_.steps; }
  std::vector<std::uint32_t> make_tables() const override { return Family::make_tables(layout_); }
  std::vector<std::int32_t> spectrum_slots() const override { return Family::spectrum_slots(layout_); }
  double spectrum_scale() const override { return Family::spectrum_scale(layout_); }
  int roundings() const override { return Family::roundings(layout_); }
  int units() const override {
    if constexpr (requires { layout_.steps.units; }) return layout_.steps.units;
    return 1;
  }
  const Variant& convolution() const override { return *convolution_; }

 private:
  typename Family::Layout layout_;
  std::unique_ptr<const Variant> convolution_ = Family::convolution(layout_);
};

template <class Family>
std::vector<std::unique_ptr<const Correlator>> correlators_of() {
  std::vector<std::unique_ptr<const Correlator>> list;
  for (std::size_t line = 0; line < Family::line_count; ++line) {
    const Instances<Family> all = Family::instances(line);
    for (int i = 0; i < all.count; ++i) list.push_back(std::make_unique<CorrelatorOf<Family>>(all.list[i], line, i));
  }
  return list;
}

}  // namespace danaus
