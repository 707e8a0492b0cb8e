#include "kernels/families/chain/family.hpp"

#include <algorithm>

#include "kernels/families/roundings.hpp"

namespace danaus::chain {

std::string Family::key_words(const Key& key) { return text(key.radix, "x256", key.sparse ? "_sparse" : ""); }

std::string Family::tuning_words(const Tuning& t) { return text('w', t.warps, "_ring", t.ring); }

std::vector<int> Family::factors(const Layout& l) {
  return l.radix > 1 ? std::vector{l.radix, 16, 16} : std::vector{16, 16};
}

int Family::roundings(const Layout& l) {
  // Additions and products of radix_dft() that one value depends on.
  const int radix = l.radix == 1 ? 0 : l.radix == 8 ? 5 : l.radix == 6 ? 4 : l.radix == 3 ? 3 : 2;
  const int stages = l.radix > 1 ? 3 : 2;
  int one_way = 2 * 3 + radix + kTwiddleRoundings * (stages - 1);
  if (!l.pair && l.radix > 1) one_way += kTwiddleRoundings;  // weights of the right angle over blocks
  return 2 * one_way + kTwiddleRoundings;
}

Share Family::share(const Layout& l, const Load& load) {
  const std::int64_t warps = l.tuning.warps, items = load.items_of_channel * load.channels;
  return {std::min(load.concurrent, (items + warps - 1) / warps),
          l.tuning.warps,
          {static_cast<int>(load.items_of_channel), 0}};
}

std::vector<std::unique_ptr<const Variant>> variants() { return variants_of<Family>(); }

}  // namespace danaus::chain
