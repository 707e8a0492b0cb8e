#include "kernels/families/taps/family.hpp"
#include "kernels/memory/correlation.hpp"

namespace danaus::taps {

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

std::vector<std::uint32_t> make_table(std::span<const std::int32_t> slots) {
  std::vector<std::uint32_t> words(slots.size());
  for (std::size_t f = 0; f < slots.size(); ++f) words[sum_index(slots[f])] = static_cast<std::uint32_t>(f);
  const std::vector<std::uint32_t> roots = spectrum::roots_of(static_cast<int>(slots.size()));
  words.insert(words.end(), roots.begin(), roots.end());
  return words;
}

}  // namespace danaus::taps
