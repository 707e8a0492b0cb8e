// Sums over the batch of conj(U) dY, by the steps of an exchange.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/families/correlator.hpp"
#include "kernels/families/exchange_gradient/tunings.hpp"

namespace danaus::exchange_gradient {

struct Family {
  static constexpr std::string_view name = "exchange_gradient";
  using Key = exchange_gradient::Key;
  using Tuning = exchange_gradient::Tuning;
  using Layout = exchange_gradient::Layout;
  using Arguments = CorrelationArguments;
  static constexpr std::size_t line_count = kLines.size();
  static constexpr Instances<Family> instances(std::size_t line) {
    return correlator_instances<Family>(kLines[line].tuning, [line](Dtype dtype, bool pair) {
      const Line& of = kLines[line];
      return Key{dtype, pair, of.radix, of.columns, of.shares, of.gated, of.all};
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

}  // namespace danaus::exchange_gradient
