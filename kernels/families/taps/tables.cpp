#include <algorithm>
#include <numeric>

#include "kernels/families/taps/family.hpp"
#include "kernels/memory/correlation.hpp"

namespace danaus::taps {

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

std::vector<std::uint32_t> make_table(std::span<const std::int32_t> slots, int phases) {
  const int points = static_cast<int>(slots.size()) / phases;
  const auto place = [&](int k) { return sum_index(slots[k]); };
  std::vector<int> order(points);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, place);
  std::vector<std::uint32_t> words;
  for (int phase = 0; phase < phases; ++phase)
    for (int k : order) words.push_back(static_cast<std::uint32_t>(k) << 16 | place(k + phase * points));
  const std::vector<std::uint32_t> roots = spectrum::roots_of(points);
  words.insert(words.end(), roots.begin(), roots.end());
  return words;
}

}  // namespace danaus::taps
