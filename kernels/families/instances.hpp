// The kernels of a family: the lines of its table, taken apart into kinds and device classes; and which of them this
// build has.
//
// By default it has those that are chosen for something, for the device classes of DANAUS_DEVICE_CLASSES (a set of
// bits). For each other class it has kernels of a few sizes, so tests reach every class. DANAUS_ALL has all of them,
// DANAUS_WANTED (an expression in `size`, of the CMake list DANAUS_SIZES) leaves sizes out.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "kernels/families/device_class.hpp"
#include "kernels/families/kinds.hpp"

namespace danaus {

// One kernel: a line of the table for one kind, as the device classes of `classes` have room for it.
template <class Family>
struct Instance {
  typename Family::Key key{};
  typename Family::Tuning tuning{};
  Worth worth{};
  unsigned classes = 0;   // bit i: kDeviceClasses[i]
  bool compiled = false;  // in this build
};

template <class Family>
struct Instances {
  std::array<Instance<Family>, 12 * kDeviceClasses.size()> list{};
  int count = 0;
};

// A chain of one block, a chain or an exchange, an exchange of several slabs. 0 is no FFT.
constexpr bool is_sampled(int size) { return size == 0 || size == 256 || size == 1024 || size == 4096; }

// Whether a kernel takes enclosed rows: of one row an item.
constexpr bool takes_any_alignment(int size, Fold fold) { return size > 0 && fold == Fold::right_angle; }

constexpr bool is_compiled(int size, Worth worth, std::size_t device_class) {
  if (size != 0 && !(DANAUS_WANTED)) return false;
  if (DANAUS_ALL) return true;
  return worth != kStudied && (DANAUS_DEVICE_CLASSES >> device_class & 1 || is_sampled(size));
}

// Those of one line of a table of fused convolutions. What several classes have alike is one instance.
template <class Family>
constexpr Instances<Family> fused_instances(std::size_t line_number) {
  const auto& line = Family::lines[line_number];
  Instances<Family> all;
  for (Dtype dtype : {Dtype::f16, Dtype::bf16})
    for (Fold fold : {Fold::pair, Fold::right_angle, Fold::plain})
      for (bool gated : {false, true}) {
        if (!(line.kinds & kind(fold, gated))) continue;
        const auto key = Family::key_of(line, dtype, fold, gated);
        const int first = all.count;
        for (std::size_t c = 0; c < kDeviceClasses.size(); ++c) {
          const auto tuning = c == 0 ? std::optional(line.tuning) : Family::fitted(key, line.tuning, kDeviceClasses[c]);
          if (!tuning) continue;
          int i = first;
          while (i < all.count && !(all.list[i].tuning == *tuning)) ++i;
          if (i == all.count) all.list[all.count++] = {key, *tuning, line.worth};
          all.list[i].classes |= 1u << c;
          all.list[i].compiled |= is_compiled(key.size(), line.worth, c);
        }
      }
  return all;
}

namespace detail {

template <class Family, std::size_t line>
inline constexpr Instances<Family> kInstances = Family::instances(line);

template <class Family, std::size_t line, std::size_t number, class Visit>
void visit_one(Visit& visit) {
  constexpr Instance<Family> instance = kInstances<Family, line>.list[number];
  if constexpr (instance.compiled) visit.template operator()<line, number, instance>();
}

template <class Family, std::size_t line, class Visit, std::size_t... number>
void visit_line(Visit& visit, std::index_sequence<number...>) {
  (visit_one<Family, line, number>(visit), ...);
}

}  // namespace detail

// Calls visit.operator()<line, number, instance>() for those that this build has, of every line whose number is `line`
// modulo `step`.
template <class Family, std::size_t line, std::size_t step, class Visit>
void for_each_instance(Visit visit) {
  if constexpr (line < Family::line_count) {
    detail::visit_line<Family, line>(visit, std::make_index_sequence<detail::kInstances<Family, line>.count>());
    for_each_instance<Family, line + step, step>(visit);
  }
}

}  // namespace danaus
