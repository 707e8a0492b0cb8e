// The exchange: an FFT spread over a block, through shared memory once each way. What it exports says
// families/variant.hpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/families/exchange/tunings.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::exchange {

struct Family {
  static constexpr std::string_view name = "exchange";
  using Key = exchange::Key;
  using Tuning = exchange::Tuning;
  using Layout = exchange::Layout;
  using Arguments = ConvolutionArguments;
  static constexpr const auto& lines = kLines;
  static constexpr std::size_t line_count = kLines.size();
  static constexpr Instances<Family> instances(std::size_t line) { return fused_instances<Family>(line); }

  static constexpr Key key_of(const Line& line, Dtype dtype, Fold fold, bool gated) {
    return {dtype, fold, gated, line.radix, line.columns, is_sparse(line.kinds)};
  }

  // Without tensor copies a ring of gates is of no use, and instead of the spectrum there is room for more of the ring.
  // That shrinks first while it holds two items; then blocks per SM; then the rest of it, down to one slab more than an
  // item has.
  static constexpr std::optional<Tuning> fitted(const Key& key, const Tuning& tuned, const DeviceClass& device) {
    if (key.sparse) return std::nullopt;  // dense kernels serve masks there
    Tuning smaller = tuned;
    smaller.gate_ring = 0, smaller.spectrum = Keep::cache;
    const Layout most(key, smaller);
    if (!most.several_groups && most.pairs_per_warp * most.slabs <= 4) smaller.spectrum = Keep::registers;
    const int two_items = std::min(2 * most.slabs, tuned.ring);
    for (int blocks = tuned.blocks; blocks > 0; --blocks)
      for (int ring = tuned.ring; ring > most.slabs; --ring) {
        if (ring < two_items && blocks > 1) continue;
        smaller.ring = ring, smaller.blocks = blocks;
        if (!device.fits(Layout(key, smaller).shared_bytes, blocks)) continue;
        if (ring == tuned.ring) smaller.blocks = tuned.blocks;  // that kernel will do
        if (Layout(key, smaller).broken_rule()) smaller.order = Order::in_turn, smaller.stores = 1;
        return smaller;
      }
    return std::nullopt;
  }

  static std::string key_words(const Key& key);
  static std::string tuning_words(const Tuning& tuning);
  static std::vector<int> factors(const Layout& layout);
  static std::vector<std::int32_t> spectrum_slots(const Layout& layout);
  static double spectrum_scale(const Layout& layout);
  static std::vector<std::uint32_t> make_tables(const Layout& layout);
  static int roundings(const Layout& layout);
  static Share share(const Layout& layout, const Load& load);
};

std::vector<std::unique_ptr<const Variant>> variants();

}  // namespace danaus::exchange
