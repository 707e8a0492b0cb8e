// Clusters: their barrier, and the shared memory of their other blocks.
#include <algorithm>
#include <cstring>

#include "kernels/executor/state.hpp"

namespace danaus::host {

// The block that the address is of, which must have begun and not ended for the thread to use its memory.
Block& Executor::State::block_of(const Origin& origin, RemoteAddress address) {
  const Lane& lane = *origin.lane;
  const int rank = rank_of(address);
  if (rank >= launch.cluster) violate(origin, "rank ", rank, " of a cluster of ", launch.cluster, " blocks");
  Block& block = blocks[std::size_t((lane.of - blocks.data()) - lane.rank + rank)];
  if (block.ended) violate(origin, "block ", block.index, " has ended");
  if (&block != lane.of && !lane.has_seen_read({1, block.lanes.front().number, 0}))
    violate(origin, "block ", block.index, " may not have begun: a barrier of the cluster comes first");
  return block;
}

// Threads that have ended do not count.
void Executor::State::complete(Cluster& cluster) {
  if (cluster.arrived == 0 || cluster.arrived + cluster.finished < cluster.threads) return;
  const std::size_t number = std::size_t(&cluster - clusters.data());
  const std::span<Block> of_cluster(blocks.data() + number * launch.cluster, std::size_t(launch.cluster));
  for (const Block& block : of_cluster)
    for (const Lane& lane : block.lanes)
      if (lane.status != Lane::Status::finished && lane.arrivals <= cluster.phase) return;
  cluster.met[cluster.phase++ % 2] = cluster.meeting;
  cluster.meeting = {};
  cluster.arrived = 0;
  ++counters.cluster_barriers;
}

void Executor::State::leave_cluster(Cluster& cluster) {
  ++cluster.finished;
  complete(cluster);
}

bool Executor::State::pass_cluster(Lane& lane) {
  const Cluster& cluster = *lane.of->cluster;
  if (cluster.phase < lane.arrivals) return false;
  const Meeting& met = cluster.met[(lane.arrivals - 1) % 2];
  if (lane.knows == lane.knew && !met.relaxed())
    lane.knows = met.all();
  else if (met.all())
    lane.own().raise(*met.all());
  if (met.reads()) lane.own_reads().raise(*met.reads());
  lane.knew = nullptr;
  lane.waits = lane.arrivals;
  return true;
}

}  // namespace danaus::host

namespace danaus::inline host_backend::device::detail {

using host::Lane;
using host::Origin;

void arrive_cluster(bool relaxed, Site site) {
  auto& s = host::running_state();
  Lane& lane = *s.current;
  if (lane.waits < lane.arrivals)
    s.violate({"arrive_cluster", site, &lane}, "a second time, without wait_cluster in between");
  host::Cluster& cluster = *lane.of->cluster;
  lane.settle();
  lane.knew = lane.knows;
  relaxed ? cluster.meeting.join_relaxed(lane) : cluster.meeting.join(lane);
  ++cluster.arrived, ++lane.arrivals;
  s.complete(cluster);
}

void wait_cluster(Site site) {
  auto& s = host::running_state();
  Lane& lane = *s.current;
  if (lane.waits == lane.arrivals) s.violate({"wait_cluster", site, &lane}, "without arrive_cluster before");
  if (!s.pass_cluster(lane)) s.wait(Kind::wait_cluster, nullptr, site);
}

RemoteAddress remote_address(SharedAddress address, int rank, Site site) {
  auto& s = host::running_state();
  if (rank < 0 || rank >= s.launch.cluster)
    s.violate({"remote_address", site, s.current}, "rank ", rank, " of a cluster of ", s.launch.cluster, " blocks");
  return {u32(rank) << 20 | address};
}

void load_remote(RemoteAddress from, int bytes, void* words, Site site) {
  auto& s = host::running_state();
  Lane& lane = *s.current;
  const Origin origin{"load_remote", site, &lane};
  host::Block& block = s.block_of(origin, from);
  std::memcpy(words, s.read_shared(origin, block, host::offset_of(from), bytes, s.stamp(lane, site)), bytes);
  if (&block != lane.of) s.counters.remote_load_bytes += std::uint64_t(bytes);
}

void store_remote(RemoteAddress to, int bytes, const void* words, Site site) {
  auto& s = host::running_state();
  Lane& lane = *s.current;
  const Origin origin{"store_remote", site, &lane};
  host::Block& block = s.block_of(origin, to);
  std::memcpy(s.write_shared(origin, block, host::offset_of(to), bytes, s.stamp(lane, site)), words, bytes);
  if (&block != lane.of) s.counters.remote_store_bytes += std::uint64_t(bytes);
}

namespace {

// Of a copy into the shared memory of another block, which completes on a barrier there.
host::Block& target(host::Executor::State& s, const Origin& origin, RemoteAddress to, RemoteAddress barrier,
                    u32 bytes) {
  host::Block& block = s.block_of(origin, to);
  if (host::rank_of(to) != host::rank_of(barrier))
    s.violate(origin, "to rank ", host::rank_of(to), " with a barrier of rank ", host::rank_of(barrier),
              ", must be of the same block");
  if (&block != s.current->of) s.counters.remote_store_bytes += bytes;
  return block;
}

}  // namespace

void store_remote_async(RemoteAddress to, int bytes, const void* words, RemoteAddress barrier, Site site) {
  auto& s = host::running_state();
  const Origin origin{"store_remote_async", site, s.current};
  host::BulkLoad load{origin, {}, &target(s, origin, to, barrier, u32(bytes)), host::offset_of(barrier), {}, {}};
  const auto* first = static_cast<const std::uint8_t*>(words);
  load.words.assign(first, first + bytes);
  load.runs = {{host::offset_of(to), bytes, reinterpret_cast<std::uintptr_t>(load.words.data())}};
  s.begin_load(std::move(load), false);
}

// The source is read until the barrier's phase is over.
void copy_remote(RemoteAddress to, SharedAddress from, u32 bytes, RemoteAddress barrier, Site site) {
  auto& s = host::running_state();
  const Origin origin{"copy_remote", site, s.current};
  host::Block& block = target(s, origin, to, barrier, bytes);
  if (from % 16 != 0 || host::offset_of(to) % 16 != 0 || bytes % 16 != 0)
    s.violate(origin, bytes, " bytes from shared address ", from, " to ", host::offset_of(to),
              ", all must be multiples of 16");
  const host::Barrier& on = s.barrier_at(origin, block, host::offset_of(barrier), true);
  const host::Stamp stamp{on.phase + 1, on.number, s.sites.number(site)};
  std::vector<host::Run> runs;
  for (u32 at = 0; at < bytes; at += 16) {
    const std::uint8_t* source = s.read_shared(origin, *s.current->of, from + at, 16, stamp);
    s.check_fenced(origin, *s.current->of, from + at, 16);
    runs.push_back({host::offset_of(to) + at, 16, reinterpret_cast<std::uintptr_t>(source)});
  }
  s.begin_load({origin, {}, &block, host::offset_of(barrier), std::move(runs), {}}, false);
}

void barrier_arrive_remote(RemoteAddress barrier, bool only_reads, Site site) {
  auto& s = host::running_state();
  const Origin origin{only_reads ? "barrier_release_remote" : "barrier_arrive_remote", site, s.current};
  s.arrive(origin, s.block_of(origin, barrier), host::offset_of(barrier), 0, only_reads);
}

}  // namespace danaus::inline host_backend::device::detail
