#include "kernels/spectrum_table.hpp"

#include <array>
#include <bit>

#include "kernels/spectrum.hpp"

namespace danaus {

int spectrum_parts(int size) {
  int parts = 1;
  while (size / parts > spectrum::kMostPoints) parts *= 2;
  return parts;
}

int spectrum_place(int m, int points) {
  int place = 0;
  for (int span = points; span > 1;) {
    const int radix = spectrum::stage_radix(span);
    span /= radix;
    place += m % radix * span;
    m /= radix;
  }
  return place;
}

std::vector<std::uint32_t> make_spectrum_table(const Geometry& geometry, std::span<const std::uint8_t> kept) {
  const int size = geometry.size(), parts = spectrum_parts(size), points = size / parts;
  if (!kept.empty() && std::ssize(kept) != size)
    fail("spectrum: the mask has ", kept.size(), " frequencies, must be ", size, " (N)");
  const double scale = spectrum_scale(geometry);
  const std::vector<std::int32_t> slots = spectrum_slots(geometry);
  std::vector<std::array<int, 2>> frequency(size / 2);  // of a pair of slots
  for (int k = 0; k < size; ++k) frequency[slots[k] / 2][slots[k] % 2] = k;

  std::vector<std::uint32_t> table;
  table.reserve(2 * size);
  for (int q = 0; q < parts; ++q)
    for (int pair = 0; pair < size / 2; ++pair) {
      const auto [first, second] = frequency[pair];
      if (first % parts != q) continue;
      if (second % parts != q) fail("spectrum: slots ", 2 * pair, " and ", 2 * pair + 1, " belong to two parts");
      table.push_back(pair);
      table.push_back(spectrum_place(first / parts, points) | spectrum_place(second / parts, points) << 16);
      for (int k : {first, second}) {
        const double weight = kept.empty() ? 1 : (kept[k] + kept[(size - k) % size]) / 2.0;
        table.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(scale * weight)));
      }
    }
  return table;
}

}  // namespace danaus
