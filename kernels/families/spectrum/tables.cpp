#include <algorithm>
#include <array>
#include <bit>

#include "kernels/families/spectrum/family.hpp"
#include "kernels/tile/table.hpp"

namespace danaus::spectrum {
namespace {

// Frequency M is behind the others.
int place_of_frequency(const Layout& layout, int f) {
  const Tuning& t = layout.tuning;
  if (f == layout.points) return place_of(f, layout.step0);
  int p = 0;
  for (const auto& [radix, step] :
       {std::pair(t.radix0, layout.step0), {t.radix1, layout.step1}, {t.radix2, layout.step2}, {t.radix3, 1}})
    p += f % radix * step, f /= radix;
  return place_of(p, layout.step0);
}

}  // namespace

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

Split split_of(bool real_pairs, int size, int block_bytes) {
  for (int parts = 1; parts <= (real_pairs ? 1 : size); parts *= 2) {
    const int points = real_pairs ? size / 2 : size / parts;
    const auto line = std::ranges::find_if(kLines, [=](const Line& l) { return l.points == points && !l.columns; });
    if (line == kLines.end()) continue;
    const Split split{static_cast<std::size_t>(line - kLines.begin()), parts, real_pairs};
    if (split.layout().shared_bytes <= block_bytes) return split;
  }
  throw std::logic_error(text("spectrum: no transform of ", size, " points fits ", block_bytes, " bytes"));
}

Split split_of_columns(int rows) {
  const auto line = std::ranges::find_if(kLines, [=](const Line& l) { return l.points == rows && l.columns; });
  if (line == kLines.end()) throw std::logic_error(text("spectrum: no outer pass of ", rows, " rows"));
  return {static_cast<std::size_t>(line - kLines.begin()), 1, false};
}

std::vector<std::uint32_t> roots_of(int points) {
  std::vector<std::uint32_t> words;
  for (int j = 0; j < points / 2; ++j)
    for (double part : {root(points, j).real(), root(points, j).imag()})
      words.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(part)));
  return words;
}

Table make_table(const Variant& convolution, const Split& split, std::span<const std::uint8_t> kept) {
  const Layout layout = split.layout();
  const int size = convolution.size, parts = split.parts, points = layout.points, entries = size / parts / 4;
  if (!kept.empty() && std::ssize(kept) != size)
    fail("spectrum: the mask has ", kept.size(), " frequencies, must be ", size, " (N)");
  const std::vector<std::int32_t> slots = convolution.spectrum_slots();
  std::vector<std::array<int, 2>> frequency(size / 2);  // of a pair of slots
  for (int k = 0; k < size; ++k) frequency[slots[k] / 2][slots[k] % 2] = k;

  const auto entry = [&](int k) -> std::uint32_t {
    const int m = k / parts;
    const bool mirrored = split.real_pairs && m > points;
    return (mirrored ? kMirrored : 0) | place_of_frequency(layout, mirrored ? size - m : m);
  };
  // Live pieces alone are kept, one behind the other.
  const auto mirror = [=](int k) { return (size - k) % size; };
  const auto is_live = [&](int k) {
    return slots[k] < convolution.spectrum_numbers() &&
           (!convolution.sparse || kept.empty() || kept[k] || kept[mirror(k)]);
  };
  Table table;
  table.words.resize(size / 2);
  std::vector<std::uint32_t> numbers(size / 4);
  std::vector<int> filled(parts);  // entries of each part
  for (int number = 0; number < size / 4; ++number) {
    const auto& of_first = frequency[2 * number];
    const auto& of_second = frequency[2 * number + 1];
    if (std::ranges::none_of(of_first, is_live) && std::ranges::none_of(of_second, is_live)) continue;
    const int part = of_first[0] % parts, at = part * entries + filled[part]++;
    for (int k : {of_first[1], of_second[0], of_second[1]})
      if (k % parts != part) throw std::logic_error(text("spectrum: slots from ", 4 * number, " on are of two parts"));
    table.words[2 * at] = entry(of_first[0]) | entry(of_first[1]) << 16;
    table.words[2 * at + 1] = entry(of_second[0]) | entry(of_second[1]) << 16;
    numbers[at] = number;
  }
  table.entries = filled[0];
  table.words.resize(std::size_t{2} * parts * table.entries);
  table.roots_at = std::ssize(table.words);
  const std::vector<std::uint32_t> roots = roots_of(points);
  table.words.insert(table.words.end(), roots.begin(), roots.end());
  if (parts > 1) {
    table.numbers_at = std::ssize(table.words);
    table.words.insert(table.words.end(), numbers.begin(), numbers.end());
  }
  if (!kept.empty() || convolution.spectrum_numbers() < size) {
    table.marks_at = std::ssize(table.words);
    for (int k = 0; k <= points; ++k) {
      const float sum = kept.empty() ? 2 : static_cast<float>(kept[k] + kept[mirror(k)]);
      table.words.push_back(std::bit_cast<std::uint32_t>(is_live(k) == is_live(mirror(k)) ? sum / 2 : sum));
    }
  }
  return table;
}

}  // namespace danaus::spectrum
