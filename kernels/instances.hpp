// Turns the splits of one FFT size into kernels. Included by one file of each back end and size.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "kernels/fused_chain.hpp"
#include "kernels/fused_exchange.hpp"
#include "kernels/variants.hpp"

namespace danaus::inline DANAUS_BACKEND {

// A line of the table for one dtype, fold and gating.
struct Instance {
  Split split;
  Dtype dtype;
  Fold fold;
  bool gated;
  constexpr Tuning tuning() const { return split.tuning(dtype, fold, gated); }
};

template <Instance i, Tuning tuning>
constexpr auto shape_of() {
  if constexpr (i.split.algorithm == Algorithm::chain)
    return std::type_identity<FusedChain<i.dtype, i.fold, i.gated, i.split.radix, tuning.warps, tuning.ring>>();
  else
    return std::type_identity<FusedExchange<i.dtype, i.fold, i.gated, i.split.radix, i.split.columns, tuning.warps,
                                            tuning.ring, tuning.gates, tuning.spectrum, tuning.table>>();
}
template <Instance i, Tuning tuning>
using Shape = typename decltype(shape_of<i, tuning>())::type;

template <class P, Path path>
DANAUS_DEVICE void fused(const FusedArguments& arguments) {
  if constexpr (requires { P::kColumns; })
    fused_exchange<P, path>(arguments);
  else
    fused_chain<P, path>(arguments);
}

constexpr Tuning with_room(Tuning tuning, int ring, int blocks_per_sm) {
  tuning.ring = ring, tuning.blocks_per_sm = blocks_per_sm;
  return tuning;
}

// Shared memory of a block with ring 2, 3, ...
template <Instance i, Tuning tuning, int... offset>
constexpr auto shared_bytes(std::integer_sequence<int, offset...>) {
  return std::array{Shape<i, with_room(tuning, 2 + offset, 1)>::kSharedBytes...};
}

constexpr bool fits(const DeviceClass& device, int shared_bytes, int blocks) {
  return shared_bytes <= device.block_bytes && blocks * (shared_bytes + kReservedBytes) <= device.sm_bytes;
}

// The tuning as far as a device class has room for it, where that may be less than it is tuned for. Ring comes first to
// shrink while it holds two items; then blocks per SM; then, of a chain, the warps; then the rest of an exchange's
// ring, down to one slab more than an item has.
template <Instance i, int device_class, int warps = i.tuning().warps>
constexpr std::optional<Tuning> fitted() {
  constexpr bool chain = i.split.algorithm == Algorithm::chain;
  constexpr Tuning tuned = i.tuning();
  // Without tensor copies a ring of gates is of no use; instead of the spectrum there is room for more of the ring.
  constexpr Tuning most = {.warps = warps, .table = tuned.table};
  constexpr auto bytes = shared_bytes<i, most>(std::make_integer_sequence<int, tuned.ring - 1>());
  constexpr int slabs = Shape<i, tuned>::kSlabs, two_items = std::min(2 * slabs, tuned.ring);
  constexpr DeviceClass device = kDeviceClasses[device_class];
  for (int blocks = tuned.blocks_per_sm; blocks > 0; --blocks)
    for (int ring = tuned.ring; ring >= two_items; --ring)
      if (fits(device, bytes[ring - 2], blocks))  // where only blocks are fewer than tuned, that kernel will do
        return with_room(most, ring, warps == tuned.warps && ring == tuned.ring ? tuned.blocks_per_sm : blocks);
  if constexpr (chain && warps > 1) return fitted<i, device_class, warps / 2>();
  if constexpr (!chain)
    for (int ring = two_items; ring > slabs; --ring)
      if (fits(device, bytes[ring - 2], 1)) return with_room(most, ring, 1);
  return std::nullopt;
}

// Of each device class; nothing where there is no room at all. The first is what the table is tuned for.
template <Instance i>
inline constexpr std::array<std::optional<Tuning>, kDeviceClasses.size()> kTunings = {i.tuning(), fitted<i, 1>(),
                                                                                      fitted<i, 2>()};

constexpr unsigned classes_with(std::span<const std::optional<Tuning>> tunings, Tuning tuning) {
  unsigned classes = 0;
  for (std::size_t c = 0; c < tunings.size(); ++c) classes |= unsigned{tunings[c] == tuning} << c;
  return classes;
}

// Calls visit.operator()<instance, tuning, classes>() for each different tuning, classes being those that it is for.
template <Instance i, std::size_t device_class = 0, class Visit>
void for_each_tuning(Visit& visit) {
  static_assert(fits(kDeviceClasses[0], Shape<i, i.tuning()>::kSharedBytes, i.tuning().blocks_per_sm),
                "a line of the table is for devices that have room for it");
  if constexpr (kTunings<i>[device_class].has_value()) {
    constexpr Tuning tuning = *kTunings<i>[device_class];
    constexpr unsigned classes = classes_with(kTunings<i>, tuning);
    if constexpr (classes % (1u << device_class) == 0) visit.template operator()<i, tuning, classes>();
  }
  if constexpr (device_class + 1 < kDeviceClasses.size()) for_each_tuning<i, device_class + 1>(visit);
}

template <Split split, class Visit>
void for_each_instance_of(Visit& visit) {
  for_each_tuning<Instance{split, Dtype::f16, Fold::pair, false}>(visit);
  for_each_tuning<Instance{split, Dtype::f16, Fold::pair, true}>(visit);
  for_each_tuning<Instance{split, Dtype::f16, Fold::right_angle, false}>(visit);
  for_each_tuning<Instance{split, Dtype::f16, Fold::right_angle, true}>(visit);
  for_each_tuning<Instance{split, Dtype::bf16, Fold::pair, false}>(visit);
  for_each_tuning<Instance{split, Dtype::bf16, Fold::pair, true}>(visit);
  for_each_tuning<Instance{split, Dtype::bf16, Fold::right_angle, false}>(visit);
  for_each_tuning<Instance{split, Dtype::bf16, Fold::right_angle, true}>(visit);
}

// Every instance of a size, in the order of the table: the same for both back ends.
template <int size, std::size_t line = 0, class Visit>
void for_each_instance(Visit& visit) {
  static_assert(std::any_of(kSplits.begin(), kSplits.end(), [](const Split& s) { return s.size() == size; }),
                "a size that no line of the table has");
  if constexpr (kSplits[line].size() == size) for_each_instance_of<kSplits[line]>(visit);
  if constexpr (line + 1 < kSplits.size()) for_each_instance<size, line + 1>(visit);
}

}  // namespace danaus::inline DANAUS_BACKEND
