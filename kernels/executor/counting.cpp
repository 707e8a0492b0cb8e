// What a warp's accesses cost: lanes that stand at the same place in the source make one instruction.
#include <algorithm>

#include "kernels/executor/state.hpp"

namespace danaus::host {

// As if the lanes had kept step: the first that has something left goes on, with all that are at the same place.
void Executor::State::count_accesses(std::span<Lane> lanes_of_warp) {
  std::array<std::size_t, kWarp> next{};
  std::array<SharedAccess, kWarp> shared_accesses;
  std::array<std::uintptr_t, kWarp> sectors;
  const int size = int(lanes_of_warp.size());
  for (int leader = 0; leader < size;) {
    if (next[leader] == lanes_of_warp[leader].accesses.size()) {
      ++leader;
      continue;
    }
    const Access& first = lanes_of_warp[leader].accesses[next[leader]];
    int shared_count = 0, sector_count = 0;
    for (int i = leader; i < size; ++i) {
      const auto& accesses = lanes_of_warp[i].accesses;
      if (next[i] == accesses.size()) continue;
      const Access& access = accesses[next[i]];
      if (access.space != first.space || !same_place(access.site, first.site)) continue;
      ++next[i];
      if (access.space == Access::Space::shared || access.space == Access::Space::copy)
        shared_accesses[shared_count++] = {i, access.shared, access.bytes};
      if (access.counts_sector) sectors[sector_count++] = access.global / 32;
    }
    if (first.space != Access::Space::shared) {
      ++counters.global_instructions;
      std::sort(sectors.begin(), sectors.begin() + sector_count);
      const auto distinct = std::unique(sectors.begin(), sectors.begin() + sector_count) - sectors.begin();
      (first.space == Access::Space::global_store ? counters.global_store_sectors : counters.global_load_sectors) +=
          std::uint64_t(distinct);
    }
    if (shared_count > 0) count_shared({shared_accesses.data(), std::size_t(shared_count)});
  }
  for (Lane& lane : lanes_of_warp) lane.accesses.clear();
}

// The hardware serves 128 bytes a wavefront: a warp's 8-byte accesses in two halves, its 16-byte accesses in four
// quarters. Lanes that read the same word share it; different words of one bank take turns.
void Executor::State::count_shared(std::span<const SharedAccess> accesses) {
  constexpr int kBanks = 32;
  ++counters.shared_instructions;
  const int together = 128 / std::max(accesses.front().bytes, 4);
  for (auto first = accesses.begin(); first != accesses.end();) {
    std::array<u32, kBanks> seen;  // the first word of each bank; few banks have more
    std::vector<u32> more;
    u32 used = 0;
    std::array<std::uint8_t, kBanks> count;
    int passes = 1;
    const int part = first->lane / together;
    for (; first != accesses.end() && first->lane / together == part; ++first)
      for (u32 word = first->address / 4; word * 4 < first->address + u32(first->bytes); ++word) {
        const u32 bank = word % kBanks;
        if (!(used >> bank & 1)) {
          used |= 1u << bank;
          seen[bank] = word, count[bank] = 1;
        } else if (seen[bank] != word && std::ranges::find(more, word) == more.end()) {
          more.push_back(word);
          passes = std::max<int>(passes, ++count[bank]);
        }
      }
    counters.shared_wavefronts += std::uint64_t(passes);
    counters.shared_conflicts += std::uint64_t(passes - 1);
  }
}

}  // namespace danaus::host
