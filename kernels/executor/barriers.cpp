// mbarriers: phases end when all have arrived and all bytes have.
#include "kernels/executor/state.hpp"

namespace danaus::host {

// `by_copy`: a bulk copy is to complete on it, which takes a fence after its initialisation.
Barrier& Executor::State::barrier_at(const Origin& origin, Block& block, SharedAddress address, bool by_copy) {
  const auto found = block.barriers.find(address);
  if (found == block.barriers.end()) violate(origin, "no barrier was initialised at shared address ", address);
  Barrier& barrier = found->second;
  if (!origin.lane->has_seen(barrier.init))
    violate(origin, "the barrier at shared address ", address, " was initialised by ", who(barrier.init, origin),
            at(barrier.init), ", with no barrier since");
  if (by_copy && !lanes[barrier.init.who].has_fenced(barrier.init.clock))
    violate(origin, "the barrier at shared address ", address, " was initialised by ", who(barrier.init, origin),
            ", which has not called fence_async since");
  return barrier;
}

bool Executor::State::complete(Barrier& barrier) {
  if (barrier.pending > 0 || barrier.bytes != 0) return false;
  ++barrier.phase;
  barrier.pending = barrier.arrivals;
  barrier.arrived = std::move(barrier.arriving);
  barrier.arriving.clear();
  return true;
}

void Executor::State::arrive(const Origin& origin, Block& block, SharedAddress address, u32 bytes) {
  Barrier& barrier = barrier_at(origin, block, address);
  if (barrier.pending == 0) violate(origin, "more arrivals than the barrier at ", address, " counts");
  barrier.bytes += bytes;
  --barrier.pending;
  barrier.arriving.push_back(current->release());
  complete(barrier);
}

// Whether the phase is over; the lane then has seen what completed it. Without the scope of the cluster it has not seen
// what threads of other blocks did before they arrived.
bool Executor::State::pass(Lane& lane, const Origin& origin, const device::detail::BarrierWait& wait) {
  Barrier& barrier = barrier_at(origin, *lane.of, wait.barrier);
  if (u32(barrier.phase & 1) == wait.parity) return false;
  for (const Release& arrival : barrier.arrived)
    if (wait.of_cluster || lanes[arrival.who].of == lane.of) lane.acquire(arrival);
  lane.acquire_phase(barrier.number, barrier.phase);
  std::erase_if(barrier.copies, [&](Clock phase) { return phase <= barrier.phase; });
  return true;
}

}  // namespace danaus::host

namespace danaus::inline host_backend::device::detail {

void barrier_init(SharedAddress barrier, u32 arrivals, Site site) {
  auto& s = host::running_state();
  host::Lane& lane = *s.current;
  const host::Origin origin{"barrier_init", site, &lane};
  if (arrivals < 1) s.violate(origin, "a barrier of no arrivals");
  if (s.lane_count + s.barrier_count >= host::kMostNumbers)
    s.violate(origin, "the launch has initialised barriers ", s.barrier_count,
              " times, more than the executor tells apart");
  const host::Stamp stamp = s.stamp(lane, site);
  s.write_shared(origin, *lane.of, barrier, 8, stamp);
  host::Barrier& made = lane.of->barriers[barrier] = {};
  made.arrivals = made.pending = arrivals;
  made.init = stamp;
  made.number = host::Who(s.lane_count + s.barrier_count++);
}

void barrier_arrive(SharedAddress barrier, Site site) {
  auto& s = host::running_state();
  s.arrive({"barrier_arrive", site, s.current}, *s.current->of, barrier, 0);
}

void barrier_expect(SharedAddress barrier, u32 bytes, Site site) {
  auto& s = host::running_state();
  s.arrive({"barrier_expect", site, s.current}, *s.current->of, barrier, bytes);
}

void barrier_wait(SharedAddress barrier, u32 parity, bool of_cluster, Site site) {
  auto& s = host::running_state();
  BarrierWait wait{barrier, parity, of_cluster};
  if (!s.pass(*s.current, {"barrier_wait", site, s.current}, wait)) s.wait(Kind::barrier_wait, &wait, site);
}

}  // namespace danaus::inline host_backend::device::detail
