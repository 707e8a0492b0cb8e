// What a running launch consists of. The executor's own: kernels and plans see executor.hpp and operations.hpp.
//
//   schedule.cpp   blocks begin, run and end; warps meet; who goes on when nobody can
//   memory.cpp     accesses to shared and global memory
//   counting.cpp   wavefronts, bank conflicts, sectors
//   matrices.cpp   matrices, shuffles, and products, whose bits product_rule.cpp computes
//   warpgroup.cpp  products of a group of warps
//   barriers.cpp   mbarriers
//   copies.cpp     asynchronous copies
//   global_history.cpp   who accessed global memory
//   clusters.cpp   barriers of clusters, shared memory of other blocks
//   flags.cpp      flags in global memory
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernels/executor/clocks.hpp"
#include "kernels/executor/executor.hpp"
#include "kernels/executor/fiber.hpp"
#include "kernels/executor/global_history.hpp"
#include "kernels/executor/history.hpp"
#include "kernels/executor/operations.hpp"
#include "kernels/executor/tensor_view.hpp"
#include "kernels/executor/warpgroup.hpp"

namespace danaus::host {

using device::Site;
using device::detail::Kind;

constexpr int kWarp = 32, kGroupThreads = 4 * kWarp;

// Places in the source as small numbers. Number 0 is a place that is not known.
class Sites {
 public:
  std::uint16_t number(Site site) {
    const auto key = std::bit_cast<std::uintptr_t>(site);
    auto& [known, number] = recent_[key / 8 % recent_.size()];
    if (known == key) return number;
    known = key;
    const auto [found, added] = numbers_.try_emplace(key, std::uint16_t(sites_.size()));
    if (added && sites_.size() <= 0xffff) sites_.push_back(site);
    return number = found->second < sites_.size() ? found->second : 0;
  }
  Site operator[](std::uint16_t number) const { return sites_[number]; }

 private:
  static_assert(sizeof(Site) == sizeof(std::uintptr_t), "a pointer to what the compiler knows of the place");
  std::vector<Site> sites_ = {Site()};
  std::map<std::uintptr_t, std::uint16_t> numbers_;
  std::array<std::pair<std::uintptr_t, std::uint16_t>, 256> recent_{};
};

std::string place(const Site& site);  // file:line

inline bool same_place(const Site& a, const Site& b) {
  return std::bit_cast<std::uintptr_t>(a) == std::bit_cast<std::uintptr_t>(b) ||
         (a.line() == b.line() && a.column() == b.column() && a.file_name() == b.file_name());
}

struct Block;
struct Lane;

// Where an access comes from.
struct Origin {
  const char* operation;
  Site site;
  const Lane* lane;
};

struct Request {
  Kind kind;
  void* data;
  Site site;
  bool meets(const Request& other) const { return kind == other.kind && same_place(site, other.site); }
  bool of_warp() const { return kind <= Kind::sync_warp; }
};

// A memory access of one lane, kept until the warp's are counted.
struct Access {
  enum class Space : std::uint8_t { shared, global_load, global_store, copy };
  Site site;
  std::uintptr_t global;  // where the sector is counted
  SharedAddress shared;
  std::uint8_t bytes;
  Space space;
  bool counts_sector;
};

struct SharedAccess {
  int lane;
  SharedAddress address;
  int bytes;
};

// What a copy moves in one piece.
struct Run {
  SharedAddress shared;
  int bytes;
  std::uintptr_t memory;  // the other side; 0 where zeros are loaded
};

struct PendingCopy {  // a cp.async of one thread
  Stamp stamp;
  SharedAddress to;
  std::uintptr_t from;
  int copied;
  std::uint64_t group;
  bool landed;
};

struct BulkStore {  // shared to global memory
  Origin origin;
  Stamp stamp;
  std::uint64_t group;
  std::vector<Run> runs;
  std::vector<std::uint8_t> read;  // once it has read shared memory, until global memory has it
  bool landed = false;             // global memory has it, whether or not that was waited for
};

struct BulkLoad {  // into shared memory, completing on a barrier of the same block
  Origin origin;
  Stamp stamp;
  Block* to;
  SharedAddress barrier;
  std::vector<Run> runs;
  std::vector<std::uint8_t> words;  // what is stored, where that comes from registers
};

struct GroupProduct {  // of a warp of the group, kept by its first lane
  Origin origin;
  Stamp stamp;
  std::uint64_t batch;
  std::array<device::detail::GroupMma, kWarp> of_lanes;
};

// Of one lane, where a GPU takes all lanes of the warp.
struct WarpCall {
  const char* operation;
  Site site;
};

// An array of registers as group_fence() saw it, or a product of a group left it.
struct FencedRegisters {
  const std::uint8_t* begin;
  std::vector<std::uint8_t> bytes;
  Site site;
};

// What the four warps of a group went through: all of them the same, each in its own time.
class GroupTrail {
 public:
  struct Step {
    const char* operation;
    Site site;
  };
  struct Missing {
    const char* operation;
    Site site;
    int warp, other;
  };
  // The step that another warp took there before, if it is another one.
  std::optional<Step> follow(int warp, const Step& step) {
    const std::size_t at = passed_[warp]++ - first_;
    if (at == steps_.size()) {
      steps_.push_back(step);
      return std::nullopt;
    }
    if (!same_place(steps_[at].site, step.site)) return steps_[at];
    while (!steps_.empty() && *std::ranges::min_element(passed_) > first_) steps_.pop_front(), ++first_;
    return std::nullopt;
  }
  // The first step that some warp has not taken and some other has.
  std::optional<Missing> missing() const {
    const auto least = std::ranges::min_element(passed_), most = std::ranges::max_element(passed_);
    if (*least == *most) return std::nullopt;
    const Step& step = steps_[*least - first_];
    return Missing{step.operation, step.site, int(least - passed_.begin()), int(most - passed_.begin())};
  }

 private:
  std::array<std::size_t, 4> passed_{};
  std::deque<Step> steps_;
  std::size_t first_ = 0;
};

struct Lane : device::detail::Place, Thread {
  enum class Status : std::uint8_t { ready, waiting, finished };
  Status status = Status::finished;
  Request request{};
  Block* of = nullptr;
  std::vector<Access> accesses;
  std::vector<PendingCopy> copies;
  std::vector<BulkStore> stores;  // may not have read shared memory yet
  std::deque<BulkStore> writes;   // have read it, and were not waited for to have written
  std::size_t landed_writes = 0;  // the first of them that have surely written
  std::vector<GroupProduct> products;
  std::vector<WarpCall> warp_calls;  // since the warp last met
  std::vector<FencedRegisters> fenced_registers;
  std::uint64_t copy_group = 0, store_group = 0, product_batch = 0;
  int arrivals = 0, waits = 0;  // at the cluster's barrier
  Knowledge knew;               // as it arrived there
  bool has_waited_for_previous_grid = false;
  std::optional<Fiber> fiber;

  std::span<Lane> warp();
};

struct Barrier {
  u32 arrivals = 0;
  u32 pending = 0;
  std::int64_t bytes = 0;                  // expected and not yet arrived
  Clock phase = 0;                         // how many are over
  Who number = kNobody;                    // stands for its copies
  std::int64_t expected = 0, loading = 0;  // bytes of this phase: expected, and of copies that have begun
  Site expected_at;                        // where the last ones were
  Stamp init;
  bool init_fenced = false;                    // by fence_barrier_init
  std::vector<Release> arriving, arrived;      // in this phase, in the last one
  std::array<std::optional<Acquired>, 3> met;  // of `arrived` together, for waits of each scope
  std::vector<Clock> copies;                   // the phases on which bulk copies complete that nobody has waited for
};

struct Cluster {
  int threads = 0, arrived = 0, finished = 0;
  int phase = 0;  // how many are over
  Meeting meeting;
  std::array<Meeting, 2> met;  // in the last phase with this parity
};

struct Block {
  int index = 0, rank = 0;
  Cluster* cluster = nullptr;
  std::span<Lane> lanes;
  std::vector<std::uint8_t> shared;
  History history;
  std::map<SharedAddress, Barrier> barriers;
  std::vector<GroupTrail> groups;
  int at_barrier = 0;
  int finished = 0;
  bool ended = false;
};

struct Region {
  std::string name;
  std::uintptr_t begin;
  std::uintptr_t end;
  bool writable;
  bool awaited;
  GlobalHistory history;  // where it may be written
};

struct Abandoned {};  // unwinds the lanes that another lane's error left standing

struct Executor::State {
  std::vector<Region> regions;
  StackPool stacks;
  Launch launch;
  const std::function<void()>* kernel = nullptr;
  Counters counters;
  std::mt19937_64 random;
  Sites sites;
  std::set<std::uint16_t> copy_sites;  // where bulk stores begin
  std::exception_ptr failure;
  bool abandoned = false;

  // What runs at the same time: a block, a cluster, or all of them.
  std::unique_ptr<Lane[]> lanes;
  int lane_capacity = 0, lane_count = 0;
  std::vector<Block> blocks;
  std::vector<Cluster> clusters;
  std::deque<BulkLoad> loads;
  std::map<const u32*, Meeting> flags;  // what was released there
  int barrier_count = 0;

  // Who runs.
  Fiber outside;
  Lane* current = nullptr;
  std::span<Lane> warp;
  std::array<std::uint8_t, kWarp> order;  // of the warp's lanes
  std::size_t turn = 0;

  // schedule.cpp
  void run_blocks(int first, int count);
  void begin(Lane& lane, Block& block, int thread);
  bool run_warp(std::span<Lane> lanes_of_warp);
  void wait(Kind kind, void* data, Site site);
  void switch_to(Lane* next);  // or, if null, outside
  Lane* next_lane();
  bool warp_meets();
  void carry_out();
  void check_warp_calls(std::span<Lane> lanes_of_warp, const Site* next);
  void synchronise(std::span<Lane> together);
  bool release_block(Block& block);
  bool release_waiting();
  bool may_go_on(Lane& lane);
  bool land_some();
  void end(Block& block);
  void abandon_lanes();
  std::string where_lanes_stand() const;
  bool coin() { return random() & 1; }
  bool random_order() const { return launch.order == Order::random; }

  // memory.cpp
  std::uint8_t* shared_at(const Origin& origin, Block& block, SharedAddress address, int bytes) const;
  Stamp stamp(const Lane& lane, Site site) { return {lane.clock, lane.number, sites.number(site)}; }
  const std::uint8_t* read_shared(const Origin& origin, Block& block, SharedAddress address, int bytes,
                                  const Stamp& stamp);
  std::uint8_t* write_shared(const Origin& origin, Block& block, SharedAddress address, int bytes, const Stamp& stamp);
  // The first place whose writer has not fenced, as far as the origin's lane has seen.
  using Unfenced = std::optional<std::pair<SharedAddress, Stamp>>;
  Unfenced unfenced(const Origin& origin, Block& block, SharedAddress address, int bytes) const;
  [[noreturn]] void refuse(const Origin& origin, const std::pair<SharedAddress, Stamp>& unfenced) const;
  void check_fenced(const Origin& origin, Block& block, SharedAddress address, int bytes) const;
  std::optional<Stamp> unfenced_global(const Origin& origin, const Region& region, std::uintptr_t address,
                                       int bytes) const;
  [[noreturn]] void refuse(const Origin& origin, const Region& region, std::uintptr_t address, int bytes,
                           const Stamp& unfenced) const;
  Region& region_at(const Origin& origin, std::uintptr_t address, std::size_t bytes, bool write);
  void read_global(const Origin& origin, std::uintptr_t address, std::size_t bytes, const Stamp& stamp,
                   bool constant = false);
  void write_global(const Origin& origin, std::uintptr_t address, std::size_t bytes, const Stamp& stamp);
  [[noreturn]] void refuse(const Origin& origin, const std::string& memory, std::size_t at_byte, int bytes,
                           const History::Conflict& conflict) const;
  std::string who(const Stamp& stamp, const Origin& origin) const;
  std::string at(const Stamp& stamp) const;

  // counting.cpp
  void count_accesses(std::span<Lane> lanes_of_warp);
  void count_shared(std::span<const SharedAccess> accesses);

  // matrices.cpp
  void move_matrices(bool write);
  template <bool f32>
  void multiply();
  void multiply_tf32();
  void shuffle();
  void max_of_warp();

  // warpgroup.cpp
  void follow_group(const char* operation);
  void begin_group_product();
  void commit_group_products();
  void finish_group_products();

  // barriers.cpp
  Barrier& barrier_at(const Origin& origin, Block& block, SharedAddress address, bool by_copy = false);
  void arrive(const Origin& origin, Block& block, SharedAddress address, u32 bytes, bool only_reads = false);
  bool complete(Barrier& barrier);  // whether a phase ended
  bool pass(Lane& lane, const Origin& origin, const device::detail::BarrierWait& wait);

  // copies.cpp
  void land(PendingCopy& copy, Lane& lane);
  void begin_load(BulkLoad load, bool from_global);
  void check_transaction(const Origin& origin, const Barrier& barrier, std::int64_t bytes) const;
  bool land(const BulkLoad& load);  // whether a phase ended by it
  void begin_store(BulkStore store);
  void read(BulkStore& store);
  void land(BulkStore& store);
  void complete_write(BulkStore& store);

  // clusters.cpp
  Block& block_of(const Origin& origin, RemoteAddress address);
  void leave_cluster(Cluster& cluster);
  void complete(Cluster& cluster);
  bool pass_cluster(Lane& lane);

  // flags.cpp
  u32& flag_at(const Origin& origin, const u32* flag, bool write);
  void acquire_flag(Lane& lane, const u32* flag);
  bool pass_flag(Lane& lane, const device::detail::FlagWait& wait);

  template <class... Part>
  [[noreturn]] void violate(const Origin& origin, const Part&... part) const {
    throw ExecutionError(text(origin.operation, origin.site.line() ? " at " + place(origin.site) : std::string(),
                              " by thread ", origin.lane->thread, " of block ", origin.lane->block, ": ", part...));
  }
};

// D += A B, of 16 rows and 8 columns, as the lanes of a warp hold them.
template <bool f32>
void multiply_tile(const std::array<const device::detail::Mma*, kWarp>& of_lanes);

// The 128-byte swizzle acts on address bits: bits 4 to 6 are xored with bits 7 to 9.
inline SharedAddress swizzled(SharedAddress address) { return address ^ (((address >> 7) & 7) << 4); }

inline SharedAddress offset_of(RemoteAddress address) { return address.value & 0xfffff; }
inline int rank_of(RemoteAddress address) { return int(address.value >> 20); }

// Of the operation that is under way. Throws outside Executor::run().
Executor::State& running_state();

}  // namespace danaus::host
