// mbarriers: phases end when all have arrived and all bytes have.
#include <algorithm>

#include "kernels/executor/state.hpp"

namespace danaus::host {

// `by_copy`: a bulk copy is to complete on it, which takes a fence after its initialisation.
Barrier& Executor::State::barrier_at(const Origin& origin, Block& block, SharedAddress address, bool by_copy) {
  const auto found = block.barriers.find(address);
  if (found == block.barriers.end()) violate(origin, "no barrier was initialised at shared address ", address);
  Barrier& barrier = found->second;
  const bool known =
      barrier.init_fenced ? origin.lane->has_seen_read(barrier.init) : origin.lane->has_seen(barrier.init);
  if (!known)
    violate(origin, "the barrier at shared address ", address, " was initialised by ", who(barrier.init, origin),
            at(barrier.init), ", with no barrier since");
  if (by_copy && !barrier.init_fenced && !lanes[barrier.init.who].has_fenced(barrier.init.clock, *origin.lane))
    violate(origin, "the barrier at shared address ", address, " was initialised by ", who(barrier.init, origin),
            at(barrier.init), ", which has not called fence_async since");
  return barrier;
}

using device::detail::Scope;

bool Executor::State::complete(Barrier& barrier) {
  if (barrier.pending > 0 || barrier.bytes != 0) return false;
  ++barrier.phase;
  barrier.pending = barrier.arrivals;
  barrier.arrived = std::move(barrier.arriving);
  barrier.arriving.clear();
  barrier.expected = barrier.loading = 0;
  barrier.met = {};
  return true;
}

// A GPU counts the bytes of a phase that are expected and not there in 20 bits and a sign. How many of them are there
// already is chance.
void Executor::State::check_transaction(const Origin& origin, const Barrier& barrier, std::int64_t bytes) const {
  constexpr std::int64_t kMostBytes = (1 << 20) - 1;
  if (bytes <= kMostBytes) return;
  const bool first = !barrier.expected_at.line() || same_place(barrier.expected_at, origin.site);
  violate(origin, bytes, " bytes in one phase of a barrier", first ? "" : ", others at " + place(barrier.expected_at),
          ", must be at most ", kMostBytes);
}

void Executor::State::arrive(const Origin& origin, Block& block, SharedAddress address, u32 bytes, bool only_reads) {
  Barrier& barrier = barrier_at(origin, block, address);
  if (barrier.pending == 0) violate(origin, "more arrivals than the barrier at ", address, " counts");
  barrier.bytes += bytes;
  barrier.expected += bytes;
  check_transaction(origin, barrier, barrier.expected);
  if (bytes > 0) barrier.expected_at = origin.site;
  --barrier.pending;
  barrier.arriving.push_back(only_reads ? current->release_reads() : current->release());
  complete(barrier);
}

// Whether the phase is over; the lane then has seen what completed it. Of what threads of other blocks did before they
// arrived it has seen nothing without the scope of the cluster, or only that they have read.
bool Executor::State::pass(Lane& lane, const Origin& origin, const device::detail::BarrierWait& wait) {
  Barrier& barrier = barrier_at(origin, *lane.of, wait.barrier);
  if (u32(barrier.phase & 1) == wait.parity) return false;
  const auto is_full = [&](const Release& arrival) {
    return !arrival.only_reads && (wait.scope == Scope::cluster || lanes[arrival.who].of == lane.of);
  };
  const auto is_known = [&](const Release& arrival) {
    const Stamp at{arrival.clock, arrival.who};
    return is_full(arrival) ? lane.has_seen(at) : lane.has_seen_read(at);
  };
  const bool of_others = wait.scope != Scope::block;
  if (!std::ranges::all_of(barrier.arrived, [&](const Release& arrival) {
        return is_known(arrival) || !(of_others || lanes[arrival.who].of == lane.of);
      })) {
    auto& met = barrier.met[std::size_t(wait.scope)];  // the same for all who wait
    if (!met) {
      met.emplace();
      for (const Release& arrival : barrier.arrived) {
        if (is_full(arrival))
          met->acquire(arrival);
        else if (of_others || lanes[arrival.who].of == lane.of)
          met->acquire_reads(arrival);
      }
    }
    lane.acquire_all(*met);
  }
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

void fence_barrier_init() {
  host::Lane& lane = *host::running_state().current;
  for (auto& [address, barrier] : lane.of->barriers)
    if (barrier.init.who == lane.number) barrier.init_fenced = true;
}

void barrier_wait(SharedAddress barrier, u32 parity, Scope scope, Site site) {
  auto& s = host::running_state();
  BarrierWait wait{barrier, parity, scope};
  if (!s.pass(*s.current, {"barrier_wait", site, s.current}, wait)) s.wait(Kind::barrier_wait, &wait, site);
}

}  // namespace danaus::inline host_backend::device::detail
