// The arguments of a launch, the same for both back ends but for their types.
#pragma once

#include <cstdint>

#include "kernels/arguments.hpp"
#include "kernels/backend.hpp"
#include "kernels/spectrum.hpp"

namespace danaus::inline DANAUS_BACKEND {

// The fastest that length, alignment and device allow. Only transfers by threads know how to wrap.
inline Transfer choose_transfer(const Setup& s, const Rows& rows) {
  const auto misaligned = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16; };
  if (misaligned(rows.u) || misaligned(rows.y) || misaligned(rows.pregate) || misaligned(rows.postgate))
    return Transfer::element;
  const std::int64_t length = s.problem.length, batch_stride_bytes = 2 * length * s.problem.channels;
  const bool whole_lines = length % tensor_grain(s.choice.variant->geometry) == 0;
  const bool addressable = batch_stride_bytes < std::int64_t{1} << 40;  // by a tensor map
  if (s.device.has_tensor_copies() && whole_lines && addressable && !s.choice.wraps) return Transfer::tensor;
  return length % 8 == 0 ? Transfer::vector : Transfer::element;
}

// The blocks of a launch. The first of them take a channel each, so that those that run side by side move neighbouring
// rows, as far as rounds of blocks are whole; the others, as many as run at once, share what is left. Against even
// shares of all items: 2K 117 -> 112 us, 16K 1052 -> 1032, 32K 2420 -> 2260.
struct Spread {
  std::int64_t blocks;
  int whole_channels;
};

// Where `concurrent` blocks run at once.
inline Spread spread(const Setup& s, Transfer transfer, std::int64_t concurrent) {
  const Variant& v = *s.choice.variant;
  if (v.geometry.algorithm == Algorithm::chain)
    return {std::min(concurrent, (s.items() + v.tuning.warps - 1) / v.tuning.warps), 0};
  // Threads load an item before they begin with it, for which the ring must have room beside the item before.
  if (transfer != Transfer::tensor && v.tuning.ring < 2 * v.slabs) return {s.items(), 0};
  constexpr int kWorthABlock = 8;  // items; fewer do not pay for its start
  const std::int64_t channels = s.problem.channels, items = s.items() / channels;
  const std::int64_t whole = items < kWorthABlock ? 0 : channels / concurrent * concurrent;
  const std::int64_t left = items * (channels - whole);
  return {whole + std::min(concurrent, left), static_cast<int>(whole)};
}

// make_map(shape, address) makes a tensor map.
template <class MakeMap>
FusedArguments make_arguments(const Setup& s, const Rows& rows, const u32* spectrum, const u32* tables, Spread spread,
                              MakeMap make_map) {
  FusedArguments a{};
  a.whole_channels = spread.whole_channels;
  a.u = rows.u, a.y = rows.y, a.pregate = rows.pregate, a.postgate = rows.postgate;
  a.spectrum = spectrum, a.tables = tables;
  a.batch = static_cast<int>(s.problem.batch);
  a.channels = static_cast<int>(s.problem.channels);
  a.length = static_cast<int>(s.problem.length);
  a.wrap = s.choice.wraps;
  a.transfer = choose_transfer(s, rows);
  if (a.transfer == Transfer::tensor) {
    const TensorShape shape = tensor_shape(s.choice.variant->geometry, a.batch, a.channels, a.length);
    a.u_map = make_map(shape, rows.u);
    a.y_map = make_map(shape, rows.y);
    if (rows.pregate) a.pregate_map = make_map(shape, rows.pregate);
    if (rows.postgate) a.postgate_map = make_map(shape, rows.postgate);
  }
  return a;
}

inline SpectrumArguments make_spectrum_arguments(const Setup& s, const float* k, const u32* table, u32* spectrum,
                                                 int parts) {
  SpectrumArguments a{};
  a.k = k, a.table = table, a.spectrum = spectrum;
  a.size = s.size(), a.parts = parts;
  a.filter_length = static_cast<int>(s.problem.filter_length), a.period = static_cast<int>(s.problem.length);
  a.wraps = s.problem.mode == Mode::circular;
  a.right_angle = s.choice.variant->geometry.fold == Fold::right_angle;
  return a;
}

}  // namespace danaus::inline DANAUS_BACKEND
