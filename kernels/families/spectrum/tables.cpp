#include <array>
#include <bit>

#include "kernels/families/spectrum/family.hpp"

namespace danaus::spectrum {

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

int parts(int size) {
  int count = 1;
  while (size / count > kMostPoints) count *= 2;
  return count;
}

int place(int m, int points) {
  int at = 0;
  for (int span = points; span > 1;) {
    const int radix = stage_radix(span);
    span /= radix;
    at += m % radix * span;
    m /= radix;
  }
  return at;
}

std::vector<std::uint32_t> make_table(const Variant& convolution, std::span<const std::uint8_t> kept) {
  const int size = convolution.size, part_count = parts(size), points = size / part_count;
  if (!kept.empty() && std::ssize(kept) != size)
    fail("spectrum: the mask has ", kept.size(), " frequencies, must be ", size, " (N)");
  const double scale = convolution.spectrum_scale();
  const std::vector<std::int32_t> slots = convolution.spectrum_slots();
  std::vector<std::array<int, 2>> frequency(size / 2);  // of a pair of slots
  for (int k = 0; k < size; ++k) frequency[slots[k] / 2][slots[k] % 2] = k;

  std::vector<std::uint32_t> table(2 * size);
  std::vector<int> filled(part_count);  // entries of each part
  for (int pair = 0; pair < size / 2; ++pair) {
    const auto [first, second] = frequency[pair];
    const int q = first % part_count;
    if (second % part_count != q)
      throw std::logic_error(text("spectrum: slots ", 2 * pair, " and ", 2 * pair + 1, " belong to two parts"));
    const auto weight = [&](int k) {
      const double mark = kept.empty() ? 1 : (kept[k] + kept[(size - k) % size]) / 2.0;
      return std::bit_cast<std::uint32_t>(static_cast<float>(scale * mark));
    };
    std::uint32_t* entry = table.data() + kEntryWords * (q * (points / 2) + filled[q]++);
    entry[0] = pair;
    entry[1] = place(first / part_count, points) | place(second / part_count, points) << 16;
    entry[2] = weight(first), entry[3] = weight(second);
  }
  return table;
}

}  // namespace danaus::spectrum
