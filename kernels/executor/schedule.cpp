// Blocks begin, run and end; warps meet; who goes on when nobody can.
#include <algorithm>
#include <numeric>
#include <sstream>

#include "kernels/executor/state.hpp"

namespace danaus::host {

namespace {

const char* name(Kind kind) {
  switch (kind) {
    case Kind::load_matrices: return "load_matrices";
    case Kind::store_matrices: return "store_matrices";
    case Kind::mma_f16acc: return "mma_f16acc";
    case Kind::mma_f32acc: return "mma_f32acc";
    case Kind::mma_tf32: return "mma_tf32";
    case Kind::group_multiply: return "group_multiply";
    case Kind::group_commit: return "group_commit";
    case Kind::group_wait: return "group_wait";
    case Kind::shuffle: return "shuffle";
    case Kind::max_of_warp: return "max_of_warp";
    case Kind::sync_warp: return "sync_warp";
    case Kind::sync_block: return "sync_block";
    case Kind::barrier_wait: return "barrier_wait";
    case Kind::wait_cluster: return "wait_cluster";
    case Kind::wait_until_at_least: return "wait_until_at_least";
  }
  return "?";
}

}  // namespace

std::string place(const Site& site) {
  const std::string file = site.file_name();
  return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(site.line());
}

std::span<Lane> Lane::warp() {
  const std::size_t first = thread / kWarp * kWarp;
  return of->lanes.subspan(first, std::min<std::size_t>(kWarp, of->lanes.size() - first));
}

void Executor::State::begin(Lane& lane, Block& block, int thread) {
  const int blocks_of_grid = launch.grid_blocks > 0 ? launch.grid_blocks : launch.blocks;
  static_cast<device::detail::Place&>(lane) = {thread,     block.index,    blocks_of_grid,
                                               block.rank, launch.cluster, &counters};
  lane.number = Who(&lane - lanes.get());
  lane.clock = 1;
  lane.first_barrier = Who(lane_count);
  lane.fences.clear(), lane.global_fences.clear();
  lane.reads = nullptr;
  lane.writes.clear(), lane.landed_writes = 0;
  lane.warp_calls.clear(), lane.fenced_registers.clear();
  lane.phases.clear();
  lane.of = &block;
  lane.accesses.clear(), lane.copies.clear(), lane.stores.clear();
  lane.products.clear();
  lane.copy_group = lane.store_group = lane.product_batch = 0;
  lane.arrivals = lane.waits = 0;
  lane.has_waited_for_previous_grid = false;
  lane.fiber.emplace(stacks, [this, &lane]() -> Fiber* {
    try {
      if (!abandoned) (*kernel)();
    } catch (const Abandoned&) {
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
    lane.status = Lane::Status::finished;
    ++lane.of->finished;
    Lane* next = nullptr;
    if (!abandoned && !failure) {
      leave_cluster(*lane.of->cluster);
      next = next_lane();
    }
    device::detail::running = current = next;
    return next ? &*next->fiber : &outside;
  });
  lane.status = Lane::Status::ready;
}

void Executor::State::run_blocks(int first, int count) {
  if (lane_capacity < count * launch.threads) lanes = std::make_unique<Lane[]>(lane_capacity = count * launch.threads);
  lane_count = count * launch.threads;
  barrier_count = 0;
  loads.clear(), flags.clear();
  for (Region& region : regions)
    if (region.writable) region.history.begin_run();
  blocks.resize(count);
  clusters = std::vector<Cluster>(count / launch.cluster);
  for (Cluster& cluster : clusters) cluster.threads = launch.cluster * launch.threads;
  const Knowledge nothing(new Clocks(lane_count));
  for (int b = 0; b < count; ++b) {
    Block& block = blocks[b];
    block.index = launch.first_block + first + b, block.rank = b % launch.cluster,
    block.cluster = &clusters[b / launch.cluster];
    block.lanes = {lanes.get() + b * launch.threads, std::size_t(launch.threads)};
    block.history.reset(launch.shared_bytes, false, Who(b * launch.threads), Who((b + 1) * launch.threads));
    block.shared.assign(launch.shared_bytes, 0xff);  // a quiet NaN in every type
    block.barriers.clear();
    block.groups.assign(std::size_t(launch.threads / kGroupThreads), {});
    block.at_barrier = block.finished = 0;
    block.ended = false;
    for (int thread = 0; thread < launch.threads; ++thread) {
      begin(block.lanes[thread], block, thread);
      block.lanes[thread].knows = nothing;
    }
  }
  std::vector<std::span<Lane>> warps;
  for (Block& block : blocks)
    for (int thread = 0; thread < launch.threads; thread += kWarp) warps.push_back(block.lanes[thread].warp());
  int running_blocks = count;
  while (running_blocks > 0) {
    if (random_order()) std::ranges::shuffle(warps, random);
    bool moves = false;
    for (const auto& warp_lanes : warps) moves |= run_warp(warp_lanes);
    for (Block& block : blocks) {
      moves |= release_block(block);
      if (block.ended || block.finished < launch.threads) continue;
      end(block);
      --running_blocks, moves = true;
    }
    // Who waits goes on at once in some orders and as late as it may in others; late copies land when all else stands.
    if (!moves || (random_order() && coin())) moves |= release_waiting();
    if (!moves && !land_some()) throw ExecutionError("no thread can go on: " + where_lanes_stand());
  }
}

bool Executor::State::run_warp(std::span<Lane> lanes_of_warp) {
  warp = lanes_of_warp;
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  if (random_order()) std::shuffle(order.begin(), order.begin() + warp.size(), random);
  turn = 0;
  Lane* first = next_lane();
  if (!first) return false;
  device::detail::running = current = first;
  outside.switch_to(*first->fiber);
  if (failure) std::rethrow_exception(failure);
  return true;
}

// The lane of the warp whose turn it is; null when all of them stand.
Lane* Executor::State::next_lane() {
  while (true) {
    while (turn < warp.size()) {
      Lane& lane = warp[order[turn++]];
      if (lane.status == Lane::Status::ready) return &lane;
    }
    if (!warp_meets()) return nullptr;
    carry_out();
    for (Lane& lane : warp) lane.status = Lane::Status::ready;
    if (random_order()) std::shuffle(order.begin(), order.begin() + warp.size(), random);
    turn = 0;
  }
}

bool Executor::State::warp_meets() {
  const Lane& first = warp.front();
  return warp.size() == kWarp && first.request.of_warp() && std::ranges::all_of(warp, [&](const Lane& lane) {
           return lane.status == Lane::Status::waiting && lane.request.meets(first.request);
         });
}

void Executor::State::carry_out() {
  check_warp_calls(warp, &warp.front().request.site);
  count_accesses(warp);
  switch (warp.front().request.kind) {
    case Kind::load_matrices: return move_matrices(false);
    case Kind::store_matrices: return move_matrices(true);
    case Kind::mma_f16acc: return multiply<false>();
    case Kind::mma_f32acc: return multiply<true>();
    case Kind::mma_tf32: return multiply_tf32();
    case Kind::group_multiply: return begin_group_product();
    case Kind::group_commit: return commit_group_products();
    case Kind::group_wait: return finish_group_products();
    case Kind::shuffle: return shuffle();
    case Kind::max_of_warp: return max_of_warp();
    default: ++counters.warp_barriers; return synchronise(warp);
  }
}

// Lanes of a warp that go through operations which a GPU does for all of them together, though here each does its own.
void Executor::State::check_warp_calls(std::span<Lane> lanes_of_warp, const Site* next) {
  const Lane& first = lanes_of_warp.front();
  for (const Lane& lane : lanes_of_warp) {
    const std::size_t common = std::min(lane.warp_calls.size(), first.warp_calls.size());
    std::size_t i = 0;
    while (i < common && same_place(lane.warp_calls[i].site, first.warp_calls[i].site)) ++i;
    if (i == lane.warp_calls.size() && i == first.warp_calls.size()) continue;
    const bool of_first = i < first.warp_calls.size();
    const WarpCall& call = (of_first ? first : lane).warp_calls[i];
    const Lane &caller = of_first ? first : lane, &other = of_first ? lane : first;
    violate({call.operation, call.site, &caller}, "thread ", other.thread,
            " of the warp does not come here on its way to ",
            i < other.warp_calls.size() ? place(other.warp_calls[i].site)
            : next                      ? place(*next)
                                        : "the end");
  }
  for (Lane& lane : lanes_of_warp) lane.warp_calls.clear();
}

void Executor::State::wait(Kind kind, void* data, Site site) {
  Lane& lane = *current;
  lane.request = {kind, data, site};
  lane.status = Lane::Status::waiting;
  if (kind == Kind::sync_block) ++lane.of->at_barrier;
  Lane* next = next_lane();
  if (next == &lane) return;
  device::detail::running = current = next;
  lane.fiber->switch_to(next ? *next->fiber : outside);
  if (abandoned) throw Abandoned{};
}

void Executor::State::synchronise(std::span<Lane> together) {
  Meeting meeting;
  for (Lane& lane : together) meeting.join(lane);
  for (Lane& lane : together) lane.knows = meeting.all(), lane.reads = meeting.reads();
}

bool Executor::State::release_block(Block& block) {
  if (block.at_barrier != launch.threads) return false;
  for (int thread = 0; thread < launch.threads; thread += kWarp) {
    const std::span<Lane> of_warp = block.lanes[thread].warp();
    check_warp_calls(of_warp, &of_warp.front().request.site);
    count_accesses(of_warp);
  }
  ++counters.block_barriers;
  synchronise(block.lanes);
  block.at_barrier = 0;
  for (Lane& lane : block.lanes) lane.status = Lane::Status::ready;
  return true;
}

bool Executor::State::may_go_on(Lane& lane) {
  const Origin origin{name(lane.request.kind), lane.request.site, &lane};
  switch (lane.request.kind) {
    case Kind::barrier_wait: return pass(lane, origin, *static_cast<device::detail::BarrierWait*>(lane.request.data));
    case Kind::wait_cluster: return pass_cluster(lane);
    case Kind::wait_until_at_least: return pass_flag(lane, *static_cast<device::detail::FlagWait*>(lane.request.data));
    default: return false;
  }
}

bool Executor::State::release_waiting() {
  bool released = false;
  for (Block& block : blocks)
    for (Lane& lane : block.lanes)
      if (lane.status == Lane::Status::waiting && may_go_on(lane)) lane.status = Lane::Status::ready, released = true;
  return released;
}

// One after another until a phase ends: before that nobody can go on.
bool Executor::State::land_some() {
  if (loads.empty()) return false;
  for (bool ended = false; !ended && !loads.empty();) {
    const auto chosen = loads.begin() + (random_order() ? std::ptrdiff_t(random() % loads.size()) : 0);
    const BulkLoad load = std::move(*chosen);
    loads.erase(chosen);
    ended = land(load);
  }
  return true;
}

void Executor::State::end(Block& block) {
  block.ended = true;
  const auto refuse_end = [&](const auto&... part) {
    throw ExecutionError(text("block ", block.index, " ended ", part...));
  };
  std::size_t unawaited = 0;
  for (const auto& [address, barrier] : block.barriers) unawaited += barrier.copies.size();
  if (unawaited > 0) refuse_end("with ", unawaited, " bulk loads that nothing waited for");
  for (int thread = 0; thread < launch.threads; thread += kWarp) {
    check_warp_calls(block.lanes[thread].warp(), nullptr);
    count_accesses(block.lanes[thread].warp());
  }
  for (std::size_t group = 0; group < block.groups.size(); ++group)
    if (const auto missing = block.groups[group].missing())
      refuse_end("though warp ", 4 * group + std::size_t(missing->warp), " of a group has not come to ",
                 missing->operation, " at ", place(missing->site), ", where warp ",
                 4 * group + std::size_t(missing->other), " was");
  for (const Lane& lane : block.lanes)
    if (!lane.stores.empty()) refuse_end("while ", lane.stores.size(), " bulk stores may still read its shared memory");
  for (const Lane& lane : block.lanes)
    if (!lane.products.empty())
      refuse_end("with ", lane.products.size(), " products of a group that nothing waited for");
  for (Lane& lane : block.lanes)
    for (BulkStore& store : lane.writes) land(store);
  if (blocks.size() == 1) return;
  // Whoever used its memory must have told it.
  synchronise(block.lanes);
  Thread all;
  all.number = kNobody;
  all.knows = block.lanes.front().knows, all.reads = block.lanes.front().reads;
  const std::size_t own = block.lanes.front().number, last = own + block.lanes.size();
  const auto left = block.history.first_unseen(all, [&](Who who) {
    if (who < lane_count) return who < own || who >= last;
    return std::ranges::none_of(block.barriers, [&](const auto& b) { return b.second.number == who; });
  });
  if (!left) return;
  refuse_end("while ", who(*left, {"", {}, &block.lanes.front()}), " may still be using its shared memory", at(*left),
             ": a barrier of the cluster comes first");
}

// Lets the fibers that stand somewhere unwind their stacks.
void Executor::State::abandon_lanes() {
  abandoned = true;
  for (int i = 0; i < lane_count; ++i)
    while (lanes[i].status != Lane::Status::finished) {
      device::detail::running = current = &lanes[i];
      outside.switch_to(*lanes[i].fiber);
    }
  abandoned = false;
  lane_count = 0;
  device::detail::running = current = nullptr;
}

std::string Executor::State::where_lanes_stand() const {
  std::ostringstream out;
  for (const Block& block : blocks) {
    out << (&block == &blocks.front() ? "" : "; ") << "block " << block.index;
    std::map<std::string, std::vector<int>> at;
    for (const Lane& lane : block.lanes)
      at[lane.status == Lane::Status::finished
             ? "the end"
             : std::string(name(lane.request.kind)) + " at " + place(lane.request.site)]
          .push_back(lane.thread);
    for (const auto& [what, threads] : at)
      out << "; " << threads.size() << " threads stand at " << what << " (first: thread " << threads.front() << ")";
  }
  return out.str();
}

}  // namespace danaus::host

namespace danaus::inline host_backend::device::detail {

void rendezvous(Kind kind, void* request, Site site) { host::running_state().wait(kind, request, site); }

int warp_index(Site site) {
  host::Lane& lane = *host::running_state().current;
  lane.warp_calls.push_back({"warp_index", site});
  return lane.thread / host::kWarp;
}

}  // namespace danaus::inline host_backend::device::detail
