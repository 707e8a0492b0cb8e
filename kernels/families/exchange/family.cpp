#include "kernels/families/exchange/family.hpp"

#include <algorithm>

#include "kernels/families/roundings.hpp"

namespace danaus::exchange {

std::string Family::key_words(const Key& key) {
  return text(64 * key.radix, 'x', key.columns, key.sparse ? "_sparse" : "");
}

std::string Family::tuning_words(const Tuning& t) {
  std::string words = text('w', t.warps, "_ring", t.ring);
  if (t.gate_ring > 0) words += text("_gates", t.gate_ring);
  if (t.spectrum == Keep::shared) words += "_spectrum";
  if (t.spectrum == Keep::bulk) words += "_bulk";
  if (t.twiddles == Keep::cache) words += "_l1";
  return words;
}

std::vector<int> Family::factors(const Layout& l) {
  std::vector<int> list = l.rows16 ? std::vector{16, 8} : l.radix == 1 ? std::vector{8, 8} : std::vector{l.radix, 8, 8};
  const std::vector<int> columns =
      l.columns16 ? std::vector{l.slabs / 2, 16, 8} : std::vector{l.slabs, l.column_chunks, 8};
  for (int factor : columns)
    if (factor > 1) list.push_back(factor);
  return list;
}

int Family::roundings(const Layout& l) {
  std::vector<int> stages = factors(l);
  // Real data: radix 3 and the 8 after it are one digit.
  if (!l.pair && l.radix == 3) stages.erase(stages.begin()), stages.front() = 24;
  int one_way = kTwiddleRoundings * (static_cast<int>(stages.size()) - 1);
  for (int factor : stages) one_way += factor == 24 || factor == 6 ? 4 : factor == 16 || factor == 3 ? 3 : 2;
  if (!l.pair && l.radix > 3) one_way += kTwiddleRoundings;  // weights of the right angle over blocks
  return 2 * one_way + kTwiddleRoundings;
}

// The first blocks take a channel each, so that those that run side by side move neighbouring rows, as far as rounds of
// blocks are whole; the others, as many as run at once, share what is left. Against even shares of all items: 2K 117 ->
// 112 us, 16K 1052 -> 1032, 32K 2420 -> 2260.
Share Family::share(const Layout& l, const Load& load) {
  const std::int64_t of_channel = load.items_of_channel, items = of_channel * load.channels;
  // Threads load an item before they begin with it, for which the ring must have room beside the item before.
  if (path_of(load.transfer) == Path::threads && l.tuning.ring < 2 * l.slabs)
    return {items, 1, {static_cast<int>(of_channel), 0}};
  constexpr int kWorthABlock = 8;  // items; fewer do not pay for its start
  const std::int64_t whole = of_channel < kWorthABlock ? 0 : load.channels / load.concurrent * load.concurrent;
  const std::int64_t left = of_channel * (load.channels - whole);
  return {whole + std::min(load.concurrent, left), 1, {static_cast<int>(of_channel), static_cast<int>(whole)}};
}

std::vector<std::unique_ptr<const Variant>> variants() { return variants_of<Family>(); }

}  // namespace danaus::exchange
