// Spectral layers: a truncated transform, a product over channels, a zero-padded inverse in one kernel; and the kernel
// that prepares their weights.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/layer/tunings.hpp"
#include "kernels/families/variant.hpp"

namespace danaus::layer {

// Which samples and products a stage is compiled with.
constexpr bool is_made(Stage stage, bool complex, Product product) {
  switch (stage) {
    case Stage::layer:
    case Stage::middle: return product != Product::none;
    case Stage::there:
    case Stage::back: return product != Product::each;
    case Stage::filter: return complex && product == Product::none;
    case Stage::arrange: return product == Product::none;
  }
  return false;
}

struct Family {
  static constexpr std::string_view name = "layer";
  using Key = layer::Key;
  using Tuning = layer::Tuning;
  using Layout = layer::Layout;
  using Arguments = layer::Arguments;
  static constexpr std::size_t line_count = kLines.size();

  static constexpr bool are_made_alike(const Line& one, const Line& other) {
    return one.stage == other.stage && one.operands == other.operands && one.tuning == other.tuning;
  }
  // The first line that differs from this one at most in what it is chosen for: its kernels are both lines'.
  static constexpr std::size_t maker_of(std::size_t number) {
    std::size_t maker = 0;
    while (!are_made_alike(kLines[maker], kLines[number])) ++maker;
    return maker;
  }
  static constexpr Instances<Family> instances(std::size_t number) {
    const Line& line = kLines[number];
    const auto is_chosen_for = [&](const Key& key) {
      for (const Line& other : kLines)
        if (are_made_alike(line, other) && other.takes(key)) return true;
      return false;
    };
    Instances<Family> all;
    if (maker_of(number) != number) return all;
    const bool samples = line.stage != Stage::middle && line.stage != Stage::arrange;
    for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32})
      for (bool tf32 : {false, true})
        for (bool complex : {false, true})
          for (Product product : {Product::none, Product::shared, Product::each}) {
            const Key key{dtype, tf32, complex, line.stage, product};
            if ((tf32 && dtype != Dtype::f32) || (complex && !samples)) continue;
            if (!is_made(line.stage, complex, product) || !is_chosen_for(key)) continue;
            const Layout layout(key, line.tuning);
            if ((line.tuning.teams > 0 && !layout.in_teams) || (line.tuning.cluster && !layout.in_cluster)) continue;
            if (operands_of(dtype, tf32) == line.operands)
              all.list[all.count++] = {key, line.tuning, kChosen, 0b111, true};
          }
    return all;
  }
};

// No convolution.
std::vector<std::unique_ptr<const Variant>> variants();

// A kernel of the table.
struct Choice {
  std::size_t line = 0, instance = 0;
  Layout layout() const {
    const auto made = Family::instances(line).list[instance];
    return {made.key, made.tuning};
  }
  std::string name() const;
};
// Of what one kernel computes: items of a call, channels, frequencies.
struct Size {
  std::int64_t items, inputs, outputs, frequencies;
};
// What computes a stage of a layer, of one axis maybe in clusters. Throws where the family has none for the type.
Choice choose(const Spectral& problem, Stage stage, Product product, const Size& size, bool in_cluster = false);

// How often a number is rounded on its way from u to y: samples, table and product on each axis there, weights and
// product, table and product on each axis back.
constexpr int roundings(std::size_t axes) { return 3 + 4 * static_cast<int>(axes); }

// Constants of the kernel, of `length` points and these frequencies of them, in so many tiles of 8, zeros beyond; of
// real samples those that a mirror image stands for count twice in the inverse.
struct Tables {
  std::vector<std::uint32_t> words;
  std::int64_t inverse_at;
  double scale;  // of the results
};
// The power of two next to 1 / sqrt(X), by which the transform there is scaled, so that spectra have the scale of the
// samples.
double scale_of(int length);
// Rows of even length are folded at their middle and once more at that of their halves.
constexpr bool is_folded_twice(int length) { return length % 2 == 0; }
constexpr int part_of(int length) { return is_folded_twice(length) ? (length / 2 + 1) / 2 : (length + 1) / 2; }
Tables make_tables(const Layout& layout, int length, std::span<const int> frequencies, int tiles);

// A matrix in the order of fragments, as Stage::arrange makes it of weights.
using Matrix = std::function<std::complex<double>(int output, int input)>;
std::vector<std::uint32_t> arrange(const Layout& layout, int outputs, int inputs, const Matrix& matrix);

}  // namespace danaus::layer
