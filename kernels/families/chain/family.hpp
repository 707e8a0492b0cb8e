// The chain: a whole FFT in one warp's registers. What it exports says families/variant.hpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/families/chain/tunings.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::chain {

struct Family {
  static constexpr std::string_view name = "chain";
  using Key = chain::Key;
  using Tuning = chain::Tuning;
  using Layout = chain::Layout;
  using Arguments = ConvolutionArguments;
  static constexpr const auto& lines = kLines;
  static constexpr std::size_t line_count = kLines.size();
  static constexpr Instances<Family> instances(std::size_t line) { return fused_instances<Family>(line); }

  static constexpr Key key_of(const Line& line, Dtype dtype, Fold fold, bool gated) {
    return {dtype, fold, gated, line.radix, is_sparse(line.kinds)};
  }

  // The ring shrinks first, to two items at least; then blocks per SM; then the warps.
  static constexpr std::optional<Tuning> fitted(const Key& key, const Tuning& tuned, const DeviceClass& device) {
    if (key.sparse) return std::nullopt;  // dense kernels serve masks there
    for (int warps = tuned.warps; warps > 0; warps /= 2)
      for (int blocks = tuned.blocks; blocks > 0; --blocks)
        for (int ring = tuned.ring; ring >= 2; --ring) {
          Tuning smaller = tuned;
          smaller.warps = warps, smaller.ring = ring, smaller.blocks = blocks;
          if (!device.fits(Layout(key, smaller).shared_bytes, blocks)) continue;
          // Where only blocks are fewer than tuned, that kernel will do.
          if (warps == tuned.warps && ring == tuned.ring) smaller.blocks = tuned.blocks;
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

}  // namespace danaus::chain
