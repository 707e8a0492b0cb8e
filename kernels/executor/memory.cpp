// Accesses to shared and global memory: bounds, what was written, and what orders it.
#include <cstring>

#include "kernels/executor/state.hpp"
#include "kernels/executor/witness.hpp"

namespace danaus::host {

constinit thread_local Witness* witness = nullptr;

// "thread 3", with its block where that is another; or the copies that a barrier stands for.
std::string Executor::State::who(const Stamp& stamp, const Origin& origin) const {
  if (stamp.who >= lane_count) return "an asynchronous copy";
  const Lane& lane = lanes[stamp.who];
  const std::string thread = "thread " + std::to_string(lane.thread);
  return lane.of == origin.lane->of ? thread : thread + " of block " + std::to_string(lane.block);
}

std::string Executor::State::at(const Stamp& stamp) const {
  return stamp.site == 0 ? "" : " at " + place(sites[stamp.site]);
}

void Executor::State::refuse(const Origin& origin, const std::string& memory, std::size_t at_byte, int bytes,
                             const History::Conflict& conflict) const {
  const Stamp& earlier = conflict.earlier;
  const bool copy = earlier.clock == kInFlight || earlier.who >= lane_count;
  std::string what = "are read before anything wrote them";
  if (conflict.block >= 0)
    what = text(conflict.with == History::Conflict::With::write ? "were written by block " : "were read by block ",
                conflict.block, at(earlier), ", and nothing orders blocks of a launch");
  else if (conflict.with != History::Conflict::With::nothing_written)
    what = text(conflict.with == History::Conflict::With::write ? "were written by " : "are read by ",
                copy && earlier.who < lane_count ? "a copy of " : "", who(earlier, origin), at(earlier),
                copy ? ", which was not waited for since" : ", with no barrier since");
  violate(origin, memory, " bytes ", at_byte, " to ", at_byte + std::size_t(bytes), " ", what);
}

std::uint8_t* Executor::State::shared_at(const Origin& origin, Block& block, SharedAddress address, int bytes) const {
  if ((address & (static_cast<u32>(bytes) - 1)) != 0)  // a power of two
    violate(origin, "shared address ", address, " is not aligned to its ", bytes, " bytes");
  if (std::size_t{address} + bytes > block.shared.size())
    violate(origin, "shared bytes ", address, " to ", address + bytes, " are outside the block's ",
            block.shared.size());
  return block.shared.data() + address;
}

const std::uint8_t* Executor::State::read_shared(const Origin& origin, Block& block, SharedAddress address, int bytes,
                                                 const Stamp& stamp) {
  const std::uint8_t* at = shared_at(origin, block, address, bytes);
  if (const auto conflict = block.history.read(*origin.lane, stamp, address, bytes))
    refuse(origin, "shared", address, bytes, *conflict);
  return at;
}

std::uint8_t* Executor::State::write_shared(const Origin& origin, Block& block, SharedAddress address, int bytes,
                                            const Stamp& stamp) {
  std::uint8_t* at = shared_at(origin, block, address, bytes);
  if (const auto conflict = block.history.write(*origin.lane, stamp, address, bytes))
    refuse(origin, "shared", address, bytes, *conflict);
  return at;
}

Executor::State::Unfenced Executor::State::unfenced(const Origin& origin, Block& block, SharedAddress address,
                                                    int bytes) const {
  shared_at(origin, block, address, bytes);
  for (SharedAddress cell = address; cell < address + bytes; cell += 2) {
    const Stamp& written = block.history.writer(cell);
    if (written.who < lane_count && !lanes[written.who].has_fenced(written.clock, *origin.lane))
      return std::pair(cell, written);
  }
  return std::nullopt;
}

void Executor::State::refuse(const Origin& origin, const std::pair<SharedAddress, Stamp>& unfenced) const {
  const auto& [cell, written] = unfenced;
  violate(origin, "shared bytes ", cell, " to ", cell + 2, " were written by ", who(written, origin), at(written),
          ", which has not called fence_async since");
}

void Executor::State::check_fenced(const Origin& origin, Block& block, SharedAddress address, int bytes) const {
  if (const Unfenced found = unfenced(origin, block, address, bytes)) refuse(origin, *found);
}

// What was written there in this run, and not by a bulk copy, must have been fenced before one reads or writes there.
std::optional<Stamp> Executor::State::unfenced_global(const Origin& origin, const Region& region,
                                                      std::uintptr_t address, int bytes) const {
  if (!region.writable) return std::nullopt;
  for (std::uintptr_t cell = address; cell < address + std::uintptr_t(bytes); cell += 2) {
    const Stamp written = region.history.writer(cell);
    if (written.who < lane_count && !copy_sites.contains(written.site) &&
        !lanes[written.who].has_fenced_global(written.clock, *origin.lane))
      return written;
  }
  return std::nullopt;
}

void Executor::State::refuse(const Origin& origin, const Region& region, std::uintptr_t address, int bytes,
                             const Stamp& unfenced) const {
  const std::size_t begin = address - region.begin;
  violate(origin, region.name, " bytes ", begin, " to ", begin + std::size_t(bytes), " were written by ",
          who(unfenced, origin), at(unfenced), ", which has not called fence_async_global since");
}

Region& Executor::State::region_at(const Origin& origin, std::uintptr_t address, std::size_t bytes, bool write) {
  for (Region& region : regions) {
    if (address < region.begin || address >= region.end) continue;
    if (address + bytes > region.end)
      violate(origin, bytes, " bytes at offset ", address - region.begin, " run past the end of ", region.name, " (",
              region.end - region.begin, " bytes)");
    if (write && !region.writable) violate(origin, region.name, " may not be written");
    if (region.awaited && !origin.lane->has_waited_for_previous_grid)
      violate(origin, region.name, " may be in use by an earlier kernel: wait_for_previous_grid comes first");
    return region;
  }
  const Region* nearest = nullptr;
  for (const Region& region : regions)
    if (address >= region.end && (!nearest || region.end > nearest->end)) nearest = &region;
  violate(origin, "address outside every declared buffer",
          nearest ? ", " + std::to_string(address - nearest->end) + " bytes past the end of " + nearest->name
                  : std::string());
}

void Executor::State::read_global(const Origin& origin, std::uintptr_t address, std::size_t bytes, const Stamp& stamp,
                                  bool constant) {
  Region& region = region_at(origin, address, bytes, false);
  if (constant && (region.writable || region.awaited))
    violate(origin, region.name, " may be written by a kernel: load_global reads it");
  if (witness) witness->reads(address, bytes);
  if (!region.writable) return;
  if (const auto conflict = region.history.read(*origin.lane, stamp, origin.lane->of->index, address, bytes))
    refuse(origin, region.name, conflict->at - region.begin, 2, *conflict);
  if (stamp.who >= lane_count)
    if (const auto unfenced = unfenced_global(origin, region, address, int(bytes)))
      refuse(origin, region, address, int(bytes), *unfenced);
}

void Executor::State::write_global(const Origin& origin, std::uintptr_t address, std::size_t bytes,
                                   const Stamp& stamp) {
  Region& region = region_at(origin, address, bytes, true);
  if (witness) witness->writes(address, bytes);
  const bool copies = stamp.clock == kInFlight;
  const auto unfenced = copies ? unfenced_global(origin, region, address, int(bytes)) : std::nullopt;
  if (const auto conflict = region.history.write(*origin.lane, stamp, origin.lane->of->index, address, bytes))
    refuse(origin, region.name, conflict->at - region.begin, 2, *conflict);
  if (unfenced) refuse(origin, region, address, int(bytes), *unfenced);
}

}  // namespace danaus::host

namespace danaus::inline host_backend::device::detail {

using host::Access;
using host::Lane;
using host::Origin;

void load_shared(SharedAddress from, int bytes, void* words, Site site) {
  auto& s = host::running_state();
  Lane& lane = *s.current;
  std::memcpy(words, s.read_shared({"load_shared", site, &lane}, *lane.of, from, bytes, s.stamp(lane, site)), bytes);
  lane.accesses.push_back({site, 0, from, std::uint8_t(bytes), Access::Space::shared, false});
}

void store_shared(SharedAddress to, int bytes, const void* words, Site site) {
  auto& s = host::running_state();
  Lane& lane = *s.current;
  std::memcpy(s.write_shared({"store_shared", site, &lane}, *lane.of, to, bytes, s.stamp(lane, site)), words, bytes);
  lane.accesses.push_back({site, 0, to, std::uint8_t(bytes), Access::Space::shared, false});
}

namespace {
std::uintptr_t aligned_global(host::Executor::State& s, const Origin& origin, const void* address, int bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at % std::size_t(bytes) != 0) s.violate(origin, "global address is not aligned to its ", bytes, " bytes");
  return at;
}
}  // namespace

void load_global(const void* from, int bytes, bool constant, void* words, Site site) {
  auto& s = host::running_state();
  Lane& lane = *s.current;
  const Origin origin{constant ? "load_constant" : "load_global", site, &lane};
  const std::uintptr_t at = aligned_global(s, origin, from, bytes);
  s.read_global(origin, at, bytes, s.stamp(lane, site), constant);
  std::memcpy(words, from, bytes);
  lane.accesses.push_back({site, at, 0, std::uint8_t(bytes), Access::Space::global_load, true});
}

void store_global(void* to, int bytes, const void* words, Site site) {
  auto& s = host::running_state();
  Lane& lane = *s.current;
  const Origin origin{"store_global", site, &lane};
  const std::uintptr_t at = aligned_global(s, origin, to, bytes);
  s.write_global(origin, at, bytes, s.stamp(lane, site));
  std::memcpy(to, words, bytes);
  lane.accesses.push_back({site, at, 0, std::uint8_t(bytes), Access::Space::global_store, true});
}

void wait_for_previous_grid() { host::running_state().current->has_waited_for_previous_grid = true; }

}  // namespace danaus::inline host_backend::device::detail
