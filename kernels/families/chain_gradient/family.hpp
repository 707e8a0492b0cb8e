// Sums over the batch of conj(U) dY, by the steps of a chain.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/families/chain_gradient/tunings.hpp"
#include "kernels/families/correlator.hpp"

namespace danaus::chain_gradient {

struct Family {
  static constexpr std::string_view name = "chain_gradient";
  using Key = chain_gradient::Key;
  using Tuning = chain_gradient::Tuning;
  using Layout = chain_gradient::Layout;
  using Arguments = CorrelationArguments;
  static constexpr std::size_t line_count = kLines.size();
  static constexpr Instances<Family> instances(std::size_t line) {
    return correlator_instances<Family>(kLines[line].tuning, [line](Dtype dtype, bool pair) {
      return Key{dtype, pair, kLines[line].radix, kLines[line].all};
    });
  }

  static std::vector<std::int32_t> spectrum_slots(const Layout& layout);
  static double spectrum_scale(const Layout& layout);
  static std::vector<std::uint32_t> make_tables(const Layout& layout);
  static int roundings(const Layout& layout);
  static std::unique_ptr<const Variant> convolution(const Layout& layout);
};

// No convolution by itself.
std::vector<std::unique_ptr<const Variant>> variants();
std::vector<std::unique_ptr<const Correlator>> correlators();

}  // namespace danaus::chain_gradient
