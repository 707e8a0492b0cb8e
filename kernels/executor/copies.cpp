// Asynchronous copies: they happen at once or as late as they may, and count as done when they were waited for.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/executor/state.hpp"

namespace danaus::host {

namespace {

// A box of the view in pieces of at most 16 bytes, which lie together on both sides.
std::vector<Run> runs_of(const TensorView& view, const int (&at)[5], SharedAddress shared) {
  std::vector<Run> runs;
  std::array<std::uint32_t, 5> i{};
  SharedAddress line = shared;
  for (i[4] = 0; i[4] < view.box[4]; ++i[4])
    for (i[3] = 0; i[3] < view.box[3]; ++i[3])
      for (i[2] = 0; i[2] < view.box[2]; ++i[2])
        for (i[1] = 0; i[1] < view.box[1]; ++i[1], line += 2 * view.box[0]) {
          std::uintptr_t memory = reinterpret_cast<std::uintptr_t>(view.base);
          bool inside = true;
          for (int d = 1; d < TensorView::kRank; ++d) {
            const std::int64_t index = std::int64_t{at[d]} + i[d];
            inside &= index >= 0 && index < std::int64_t(view.extent[d]);
            memory += std::uint64_t(index) * view.stride_bytes[d];
          }
          for (std::uint32_t element = 0; element < view.box[0]; ++element) {
            const std::int64_t index = std::int64_t{at[0]} + element;
            const SharedAddress to = swizzled(line + 2 * element);
            const bool present = inside && index >= 0 && index < std::int64_t(view.extent[0]);
            const std::uintptr_t from = present ? memory + 2 * std::uint64_t(index) : 0;
            Run* last = element > 0 ? &runs.back() : nullptr;
            const bool joins = last && to % 16 != 0 && to == last->shared + last->bytes &&
                               from == (last->memory ? last->memory + last->bytes : 0);
            if (joins)
              last->bytes += 2;
            else
              runs.push_back({to, 2, from});
          }
        }
  return runs;
}

// `bytes` that lie together.
std::vector<Run> runs_of(SharedAddress shared, std::uintptr_t memory, u32 bytes) {
  std::vector<Run> runs;
  for (u32 at = 0; at < bytes; at += 16) runs.push_back({shared + at, 16, memory + at});
  return runs;
}

// What a device refuses when the map is made, and the alignment that the swizzle needs. A first coordinate that is no
// multiple of 16 bytes is an illegal instruction on an H200, with every swizzle and either way.
void check(const Executor::State& s, const Origin& origin, const TensorView& map, const int (&at)[5],
           SharedAddress shared) {
  if (at[0] % 8 != 0) s.violate(origin, "the first coordinate is ", at[0], ", must be a multiple of 8 (16 bytes)");
  if (shared % 128 != 0) s.violate(origin, "shared address ", shared, " is not aligned to 128");
  if (reinterpret_cast<std::uintptr_t>(map.base) % 16 != 0)
    s.violate(origin, "the map's memory is not aligned to 16 bytes");
  for (int d = 1; d < TensorView::kRank; ++d)
    if (map.stride_bytes[d] % 16 != 0)
      s.violate(origin, "stride ", d, " of the map is ", map.stride_bytes[d], " bytes, must be a multiple of 16");
  for (int d = 0; d < TensorView::kRank; ++d)
    if (map.box[d] < 1 || map.box[d] > 256 || map.extent[d] < 1)
      s.violate(origin, "dimension ", d, " of the map has ", map.extent[d], " elements in boxes of ", map.box[d],
                ", must be at least 1 and 1 to 256");
  if (map.box[0] > 64)
    s.violate(origin, "the map's box is ", map.box[0], " elements wide, must be at most 64 (128 bytes)");
}

void check_bulk(const Executor::State& s, const Origin& origin, std::uint64_t shared, std::uintptr_t memory,
                u32 bytes) {
  if (shared % 16 != 0 || memory % 16 != 0 || bytes % 16 != 0)
    s.violate(origin, bytes, " bytes at shared address ", shared,
              ", all must be multiples of 16, and so the other address");
}

}  // namespace

void Executor::State::land(PendingCopy& copy, Lane& lane) {
  if (copy.landed) return;
  copy.landed = true;
  std::uint8_t* to = lane.of->shared.data() + copy.to;
  std::memset(to, 0, 16);
  if (copy.copied > 0) std::memcpy(to, reinterpret_cast<const void*>(copy.from), std::size_t(copy.copied));
}

// Its place must be free; a bulk copy's must be fenced by who wrote there last. It is the copy's own until its phase of
// the barrier has been waited for.
void Executor::State::begin_load(BulkLoad load, bool from_global) {
  Barrier& barrier = barrier_at(load.origin, *load.to, load.barrier, true);
  const Clock phase = barrier.phase + 1;
  load.stamp = {phase, barrier.number, sites.number(load.origin.site)};
  barrier.copies.push_back(phase);
  const bool is_bulk = load.words.empty();
  for (const Run& run : load.runs) barrier.loading += run.bytes;
  check_transaction(load.origin, barrier, barrier.loading);
  for (const Run& run : load.runs) {
    const Unfenced before = unfenced(load.origin, *load.to, run.shared, run.bytes);
    write_shared(load.origin, *load.to, run.shared, run.bytes, load.stamp);
    if (is_bulk && before) refuse(load.origin, *before);
    if (!from_global || !run.memory) continue;
    read_global(load.origin, run.memory, std::size_t(run.bytes), load.stamp);
    counters.bulk_load_bytes += std::uint64_t(run.bytes);
  }
  if (coin())
    land(load);
  else
    loads.push_back(std::move(load));
}

bool Executor::State::land(const BulkLoad& load) {
  Barrier& barrier = load.to->barriers.at(load.barrier);
  for (const Run& run : load.runs) {
    std::uint8_t* to = load.to->shared.data() + run.shared;
    if (run.memory)
      std::memcpy(to, reinterpret_cast<const void*>(run.memory), run.bytes);
    else
      std::memset(to, 0, run.bytes);
    barrier.bytes -= run.bytes;
  }
  return complete(barrier);
}

// Reads what was written and fenced, and keeps others from writing it until it was waited for.
void Executor::State::begin_store(BulkStore store) {
  Lane& lane = *current;
  const Stamp written = stamp(lane, store.origin.site);
  store.stamp = {kInFlight, lane.number, written.site};
  copy_sites.insert(written.site);
  for (const Run& run : store.runs) {
    if (!run.memory) continue;
    read_shared(store.origin, *lane.of, run.shared, run.bytes, store.stamp);
    check_fenced(store.origin, *lane.of, run.shared, run.bytes);
    write_global(store.origin, run.memory, run.bytes, store.stamp);
  }
  lane.stores.push_back(std::move(store));
}

void Executor::State::read(BulkStore& store) {
  const Lane& lane = *store.origin.lane;
  for (const Run& run : store.runs) {
    if (!run.memory) continue;
    const std::uint8_t* from = lane.of->shared.data() + run.shared;
    store.read.insert(store.read.end(), from, from + run.bytes);
    lane.of->history.complete_read(store.stamp, {lane.clock, lane.number, store.stamp.site}, run.shared, run.bytes);
  }
}

void Executor::State::land(BulkStore& store) {
  if (std::exchange(store.landed, true)) return;
  const std::uint8_t* from = store.read.data();
  for (const Run& run : store.runs) {
    if (!run.memory) continue;
    std::memcpy(reinterpret_cast<void*>(run.memory), from, run.bytes);
    from += run.bytes;
    counters.bulk_store_bytes += std::uint64_t(run.bytes);
  }
  store.read = {};
}

void Executor::State::complete_write(BulkStore& store) {
  land(store);
  const Lane& lane = *store.origin.lane;
  for (const Run& run : store.runs) {
    if (!run.memory) continue;
    Region& region = region_at(store.origin, run.memory, run.bytes, true);
    region.history.complete_write(store.stamp, {lane.clock, lane.number, store.stamp.site}, run.memory, run.bytes);
  }
}

}  // namespace danaus::host

namespace danaus::inline host_backend::device::detail {

using host::Lane;
using host::Origin;

void copy_async(SharedAddress to, const void* from, int copied, Site site) {
  auto& s = host::running_state();
  Lane& lane = *s.current;
  const Origin origin{"copy_async", site, &lane};
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  s.shared_at(origin, *lane.of, to, 16);
  if (copied < 0 || copied > 16) s.violate(origin, copied, " bytes are copied, must be 0 to 16");
  if (address % 16 != 0) s.violate(origin, "global address is not aligned to its 16 bytes");
  if (copied > 0) s.read_global(origin, address, std::size_t(copied), s.stamp(lane, site));
  host::PendingCopy copy{
      {host::kInFlight, lane.number, s.sites.number(site)}, to, address, copied, lane.copy_group, false};
  s.write_shared(origin, *lane.of, to, 16, copy.stamp);
  if (s.coin()) s.land(copy, lane);
  lane.copies.push_back(copy);
  lane.accesses.push_back({site, address, to, 16, host::Access::Space::copy, copied > 0});
}

void copy_async_commit() { ++host::running_state().current->copy_group; }

// What is copied becomes a write of the thread's own.
void copy_async_wait(int pending) {
  auto& s = host::running_state();
  Lane& lane = *s.current;
  auto copy = lane.copies.begin();
  for (; copy != lane.copies.end() && copy->group + std::uint64_t(pending) < lane.copy_group; ++copy) {
    s.land(*copy, lane);
    lane.of->history.complete_write(copy->stamp, {lane.clock, lane.number, copy->stamp.site}, copy->to, 16);
  }
  lane.copies.erase(lane.copies.begin(), copy);
}

void tensor_load(SharedAddress to, const TensorMap& map, const int (&at)[5], SharedAddress barrier, Site site) {
  auto& s = host::running_state();
  const host::TensorView view = host::view_of(map);
  const Origin origin{"tensor_load", site, s.current};
  host::check(s, origin, view, at, to);
  s.begin_load({origin, {}, s.current->of, barrier, host::runs_of(view, at, to), {}}, true);
}

void bulk_load(SharedAddress to, const void* from, u32 bytes, SharedAddress barrier, Site site) {
  auto& s = host::running_state();
  const Origin origin{"bulk_load", site, s.current};
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  host::check_bulk(s, origin, to, address, bytes);
  s.begin_load({origin, {}, s.current->of, barrier, host::runs_of(to, address, bytes), {}}, true);
}

void tensor_store(const TensorMap& map, const int (&at)[5], SharedAddress from, Site site) {
  auto& s = host::running_state();
  const host::TensorView view = host::view_of(map);
  const Origin origin{"tensor_store", site, s.current};
  host::check(s, origin, view, at, from);
  for (int d = 0; d < host::TensorView::kRank; ++d)  // an H200 calls that an illegal instruction
    if (at[d] < 0) s.violate(origin, "coordinate ", d, " is ", at[d], ", stores take none below 0");
  s.begin_store({origin, {}, s.current->store_group, host::runs_of(view, at, from), {}});
}

void bulk_store(void* to, SharedAddress from, u32 bytes, Site site) {
  auto& s = host::running_state();
  const Origin origin{"bulk_store", site, s.current};
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  host::check_bulk(s, origin, from, address, bytes);
  s.begin_store({origin, {}, s.current->store_group, host::runs_of(from, address, bytes), {}});
}

void store_commit() { ++host::running_state().current->store_group; }

// `written`: until they have written, too; else they may have only read.
void store_wait(int pending, bool written) {
  auto& s = host::running_state();
  Lane& lane = *s.current;
  const auto is_over = [&](const host::BulkStore& store) {
    return store.group + std::uint64_t(pending) < lane.store_group;
  };
  // Those that an earlier wait left may land now.
  for (; lane.landed_writes < lane.writes.size(); ++lane.landed_writes) s.land(lane.writes[lane.landed_writes]);
  auto store = lane.stores.begin();
  for (; store != lane.stores.end() && is_over(*store); ++store) {
    s.read(*store);
    if (s.coin()) s.land(*store);
    lane.writes.push_back(std::move(*store));
  }
  lane.stores.erase(lane.stores.begin(), store);
  while (written && !lane.writes.empty() && is_over(lane.writes.front())) {
    s.complete_write(lane.writes.front());
    lane.writes.pop_front();
  }
  lane.landed_writes = std::min(lane.landed_writes, lane.writes.size());
}

void fence_async() {
  Lane& lane = *host::running_state().current;
  lane.fences.push_back(lane.clock++);
}

void fence_async_global() {
  Lane& lane = *host::running_state().current;
  lane.global_fences.push_back(lane.clock++);
}

}  // namespace danaus::inline host_backend::device::detail
