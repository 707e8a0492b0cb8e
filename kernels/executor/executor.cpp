#include "kernels/executor/executor.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <vector>

#include "kernels/executor/fiber.hpp"
#include "kernels/executor/operations.hpp"
#include "kernels/executor/tensor_view.hpp"

namespace danaus::host {

namespace {

using device::Site;
using device::detail::Kind;
using device::detail::MatrixAccess;
using device::detail::MemoryAccess;
using device::detail::Mma;
using device::detail::Shuffle;

constexpr int kWarp = 32;
constexpr int kMostThreads = 1024;
constexpr int kMostSharedBytes = 227 * 1024;  // of sm_90

template <class... Part>
[[noreturn]] void violate(const Part&... part) {
  throw ExecutionError(text(part...));
}

const char* name(Kind kind) {
  switch (kind) {
    case Kind::load_global: return "load_global";
    case Kind::store_global: return "store_global";
    case Kind::load_shared: return "load_shared";
    case Kind::store_shared: return "store_shared";
    case Kind::copy_async: return "copy_async";
    case Kind::load_matrices: return "load_matrices";
    case Kind::store_matrices: return "store_matrices";
    case Kind::mma_f16acc: return "mma_f16acc";
    case Kind::mma_f32acc: return "mma_f32acc";
    case Kind::shuffle: return "shuffle";
    case Kind::sync_warp: return "sync_warp";
    case Kind::sync_block: return "sync_block";
    case Kind::barrier_wait: return "barrier_wait";
  }
  return "?";
}

std::string place(const Site& site) {
  const std::string file = site.file_name();
  return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(site.line());
}

// Where an access comes from, for messages.
struct Origin {
  const char* operation;
  Site site;
  int thread;
};

struct Request {
  Kind kind;
  void* data;
  Site site;
  bool meets(const Request& other) const {
    return kind == other.kind && site.line() == other.site.line() && site.column() == other.site.column() &&
           site.file_name() == other.site.file_name();
  }
  bool whole_warp() const { return kind >= Kind::load_matrices && kind <= Kind::sync_warp; }
  bool any_lanes() const { return kind <= Kind::copy_async; }
};

struct PendingCopy {  // a cp.async of one thread
  Origin origin;
  SharedAddress to;
  std::uintptr_t from;
  int copied;
  std::uint64_t group;
};

struct PendingTensorStore {
  Origin origin;
  TensorView view;
  std::array<int, 5> at;
  SharedAddress from;
  std::uint64_t group;
};

struct PendingTensorLoad {
  Origin origin;
  TensorView view;
  std::array<int, 5> at;
  SharedAddress to;
  SharedAddress barrier;
};

struct Lane {
  enum class Status { ready, waiting, finished } status = Status::finished;
  int thread = 0;
  Request request{};
  std::optional<Fiber> fiber;
  std::deque<PendingCopy> copies;
  std::deque<PendingTensorStore> stores;
  std::uint64_t copy_group = 0;
  std::uint64_t store_group = 0;
  u32 fences = 0;
};

struct Abandoned {};  // unwinds the lanes that another lane's error left standing

struct Barrier {
  u32 arrivals = 0;
  u32 pending = 0;
  std::int64_t bytes = 0;  // expected and not yet arrived
  u32 phase = 0;
};

struct Region {
  std::string name;
  std::uintptr_t begin;
  std::uintptr_t end;
  bool writable;
};

struct SharedAccess {
  int lane;
  SharedAddress address;
  int bytes;
};

// Who wrote two bytes of shared memory last.
struct Stamp {
  std::int16_t thread = kNobody;
  u32 fences = 0;  // of that thread, at the time
  static constexpr std::int16_t kNobody = -1, kAsynchronousCopy = -2;
};

}  // namespace

struct Executor::State {
  std::vector<Region> regions;
  StackPool stacks;
  Launch launch;
  const std::function<void()>* kernel = nullptr;
  Counters counters;
  std::mt19937_64 random;
  std::vector<std::uint8_t> shared;
  std::vector<Stamp> written;  // one for two bytes of shared memory
  std::vector<Lane> lanes;
  std::map<SharedAddress, Barrier> barriers;
  std::deque<PendingTensorLoad> loads;
  std::exception_ptr failure;
  bool abandoned = false;
  Lane* current = nullptr;
  int block = 0;

  void run_block();
  void enter(Lane& lane);
  bool run_warp(int warp);  // true if any lane moved
  bool release_block();
  void abandon_lanes();
  void carry_out(const std::vector<Lane*>& group);
  void memory(Kind kind, const std::vector<Lane*>& group);
  void matrices(Kind kind, const std::vector<Lane*>& group);
  template <bool f32>
  void mma(const std::vector<Lane*>& group);
  void count_shared(const std::vector<SharedAccess>& accesses);
  Origin origin(const Lane& lane) const { return {name(lane.request.kind), lane.request.site, lane.thread}; }
  template <class... Part>
  [[noreturn]] void violate(const Origin& origin, const Part&... part) const {
    host::violate(origin.operation, origin.site.line() ? " at " + place(origin.site) : "", " by thread ", origin.thread,
                  " of block ", block, ": ", part...);
  }
  std::uint8_t* shared_at(const Origin& origin, SharedAddress address, int bytes);
  std::uint8_t* written_shared(const Origin& origin, SharedAddress address, int bytes, Stamp stamp);
  const std::uint8_t* read_shared(const Origin& origin, SharedAddress address, int bytes);
  void check_global(const Origin& origin, std::uintptr_t address, std::size_t bytes, bool write) const;
  void check(const Origin& origin, const TensorView& map, SharedAddress shared) const;
  void check_fenced(const PendingTensorStore& store);
  void land(const PendingCopy& copy);
  void land(const PendingTensorLoad& load);
  void land(const PendingTensorStore& store);
  Barrier& barrier_at(const Origin& origin, SharedAddress address);
  void complete(Barrier& barrier);
  bool coin() { return random() & 1; }
  std::string where_lanes_stand() const;
};

namespace {
thread_local Executor::State* active = nullptr;
}

void Executor::State::enter(Lane& lane) {
  current = &lane;
  lane.fiber->enter();
  current = nullptr;
}

// Lets the fibers that stand somewhere unwind their stacks.
void Executor::State::abandon_lanes() {
  abandoned = true;
  for (Lane& lane : lanes)
    while (lane.status != Lane::Status::finished) enter(lane);
  abandoned = false;
  lanes.clear();
}

std::string Executor::State::where_lanes_stand() const {
  std::ostringstream out;
  out << "block " << block;
  std::map<std::string, std::vector<int>> at;
  for (const Lane& lane : lanes) {
    if (lane.status == Lane::Status::finished) at["the end"].push_back(lane.thread);
    if (lane.status == Lane::Status::waiting)
      at[std::string(name(lane.request.kind)) + " at " + place(lane.request.site)].push_back(lane.thread);
  }
  for (const auto& [what, threads] : at) {
    out << "; " << threads.size() << " threads stand at " << what << " (first: thread " << threads.front() << ")";
  }
  return out.str();
}

std::uint8_t* Executor::State::shared_at(const Origin& origin, SharedAddress address, int bytes) {
  if (address % static_cast<u32>(bytes) != 0)
    violate(origin, "shared address ", address, " is not aligned to its ", bytes, " bytes");
  if (std::size_t{address} + bytes > shared.size())
    violate(origin, "shared bytes ", address, " to ", address + bytes, " are outside the block's ", shared.size());
  return shared.data() + address;
}

std::uint8_t* Executor::State::written_shared(const Origin& origin, SharedAddress address, int bytes, Stamp stamp) {
  std::uint8_t* at = shared_at(origin, address, bytes);
  std::fill_n(written.begin() + address / 2, bytes / 2, stamp);
  return at;
}

const std::uint8_t* Executor::State::read_shared(const Origin& origin, SharedAddress address, int bytes) {
  const std::uint8_t* at = shared_at(origin, address, bytes);
  for (int i = 0; i < bytes / 2; ++i)
    if (written[address / 2 + i].thread == Stamp::kNobody)
      violate(origin, "shared bytes ", address, " to ", address + bytes, " are read before anything wrote them");
  return at;
}

void Executor::State::check_global(const Origin& origin, std::uintptr_t address, std::size_t bytes, bool write) const {
  for (const Region& region : regions) {
    if (address < region.begin || address >= region.end) continue;
    if (address + bytes > region.end)
      violate(origin, bytes, " bytes at offset ", address - region.begin, " run past the end of ", region.name, " (",
              region.end - region.begin, " bytes)");
    if (write && !region.writable) violate(origin, region.name, " may not be written");
    return;
  }
  const Region* nearest = nullptr;
  for (const Region& region : regions)
    if (address >= region.end && (!nearest || region.end > nearest->end)) nearest = &region;
  violate(origin, "address outside every declared buffer",
          nearest ? ", " + std::to_string(address - nearest->end) + " bytes past the end of " + nearest->name
                  : std::string());
}

// The hardware serves 128 bytes a wavefront: a warp's 8-byte accesses in two halves, its 16-byte accesses in four
// quarters. Lanes that read the same word share it; different words of one bank take turns.
void Executor::State::count_shared(const std::vector<SharedAccess>& accesses) {
  ++counters.shared_instructions;
  const int together = 128 / std::max(accesses.front().bytes, 4);
  std::array<std::vector<u32>, 32> banks;
  for (auto first = accesses.begin(); first != accesses.end();) {
    for (auto& bank : banks) bank.clear();
    const int part = first->lane / together;
    for (; first != accesses.end() && first->lane / together == part; ++first)
      for (u32 word = first->address / 4; word * 4 < first->address + u32(first->bytes); ++word) {
        auto& bank = banks[word % 32];
        if (std::find(bank.begin(), bank.end(), word) == bank.end()) bank.push_back(word);
      }
    std::size_t passes = 1;
    for (const auto& bank : banks) passes = std::max(passes, bank.size());
    counters.shared_wavefronts += passes;
    counters.shared_conflicts += passes - 1;
  }
}

void Executor::State::memory(Kind kind, const std::vector<Lane*>& group) {
  std::vector<SharedAccess> shared_accesses;
  std::vector<std::uintptr_t> sectors;
  for (Lane* lane : group) {
    const auto& access = *static_cast<MemoryAccess*>(lane->request.data);
    const Origin from = origin(*lane);
    const bool copies = kind == Kind::copy_async;
    if (kind == Kind::load_shared || kind == Kind::store_shared || copies)
      shared_accesses.push_back({lane->thread % kWarp, access.shared, access.bytes});
    if (kind == Kind::load_shared) {
      std::memcpy(access.words, read_shared(from, access.shared, access.bytes), access.bytes);
      continue;
    }
    if (kind == Kind::store_shared) {
      const Stamp stamp{std::int16_t(lane->thread), lane->fences};
      std::memcpy(written_shared(from, access.shared, access.bytes, stamp), access.words, access.bytes);
      continue;
    }
    if (copies) shared_at(from, access.shared, access.bytes);
    if (copies && (access.copied < 0 || access.copied > access.bytes))
      violate(from, access.copied, " bytes are copied, must be 0 to ", access.bytes);
    if (access.global % std::size_t(access.bytes) != 0)
      violate(from, "global address is not aligned to its ", access.bytes, " bytes");
    const std::size_t bytes = std::size_t(access.copied);
    if (bytes > 0) {
      check_global(from, access.global, bytes, kind == Kind::store_global);
      sectors.push_back(access.global / 32);
    }
    if (copies) {
      const PendingCopy copy{from, access.shared, access.global, access.copied, lane->copy_group};
      if (coin())
        land(copy);
      else
        lane->copies.push_back(copy);
    } else if (kind == Kind::store_global) {
      std::memcpy(reinterpret_cast<void*>(access.global), access.words, bytes);
    } else {
      std::memcpy(access.words, reinterpret_cast<const void*>(access.global), bytes);
    }
  }
  if (kind != Kind::load_shared && kind != Kind::store_shared) ++counters.global_instructions;
  std::sort(sectors.begin(), sectors.end());
  const auto distinct = std::uint64_t(std::unique(sectors.begin(), sectors.end()) - sectors.begin());
  (kind == Kind::store_global ? counters.global_store_sectors : counters.global_load_sectors) += distinct;
  if (!shared_accesses.empty()) count_shared(shared_accesses);
}

// Matrix m has its eight rows of 16 bytes at the addresses of lanes 8 m to 8 m + 7. Lane 4 g + t holds elements 2 t and
// 2 t + 1 of row g, or, transposed, of column g.
void Executor::State::matrices(Kind kind, const std::vector<Lane*>& group) {
  const bool write = kind == Kind::store_matrices;
  const auto access = [&](int lane) -> MatrixAccess& { return *static_cast<MatrixAccess*>(group[lane]->request.data); };
  const int count = access(0).count;
  std::vector<SharedAccess> rows;
  for (int matrix = 0; matrix < count; ++matrix)
    for (int row = 0; row < 8; ++row) {
      const SharedAddress address = access(8 * matrix + row).row;
      const Origin from = origin(*group[8 * matrix + row]);
      shared_at(from, address, 16);
      rows.push_back({8 * matrix + row, address, 16});
      for (int column = 0; column < 8; ++column) {
        const int major = access(0).transposed ? column : row;
        const int minor = access(0).transposed ? row : column;
        const Lane& holder = *group[4 * major + minor / 2];
        auto* half = reinterpret_cast<std::uint16_t*>(&access(4 * major + minor / 2).words[matrix]) + minor % 2;
        const SharedAddress element = address + 2 * column;
        if (write)
          std::memcpy(written_shared(from, element, 2, {std::int16_t(holder.thread), holder.fences}), half, 2);
        else
          std::memcpy(half, read_shared(from, element, 2), 2);
      }
    }
  count_shared(rows);
}

// Lane 4 g + t holds, with e = 0, 1 the half of a register,
//   A [16 x 16]: a[0] (g, 2t+e)  a[1] (g+8, 2t+e)  a[2] (g, 2t+e+8)  a[3] (g+8, 2t+e+8)
//   B [16 x 8]:  b[0] (2t+e, g)  b[1] (2t+e+8, g)
//   C, D [16 x 8]: rows g and g+8, columns 2t+e
template <bool f32>
void Executor::State::mma(const std::vector<Lane*>& group) {
  float a[16][16], b[8][16];
  const auto request = [&](int lane) -> Mma& { return *static_cast<Mma*>(group[lane]->request.data); };
  const bool bf16 = request(0).bf16;
  const auto decode_half = [bf16](u32 word, int e) {
    const auto bits = std::uint16_t(word >> (16 * e));
    return bf16 ? decode<Dtype::bf16>(bits) : decode<Dtype::f16>(bits);
  };
  for (int lane = 0; lane < kWarp; ++lane) {
    const int g = lane / 4, t = lane % 4;
    const Mma& m = request(lane);
    for (int e = 0; e < 2; ++e)
      for (int r = 0; r < 4; ++r) a[g + 8 * (r % 2)][2 * t + e + 8 * (r / 2)] = decode_half(m.a[r], e);
    for (int e = 0; e < 2; ++e)
      for (int r = 0; r < 2; ++r) b[g][2 * t + e + 8 * r] = decode_half(m.b[r], e);
  }
  for (int lane = 0; lane < kWarp; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int r = 0; r < 2; ++r)
      for (int e = 0; e < 2; ++e) {
        float sum = 0;
        for (int k = 0; k < 16; ++k) sum += a[g + 8 * r][k] * b[2 * t + e][k];
        if constexpr (f32) {
          static_cast<float*>(request(lane).accumulators)[2 * r + e] += sum;
        } else {
          auto* halves = reinterpret_cast<std::uint16_t*>(static_cast<u32*>(request(lane).accumulators) + r) + e;
          *halves = encode<Dtype::f16>(decode<Dtype::f16>(*halves) + sum);
        }
      }
  }
}

void Executor::State::carry_out(const std::vector<Lane*>& group) {
  const Kind kind = group.front()->request.kind;
  switch (kind) {
    case Kind::load_matrices:
    case Kind::store_matrices: matrices(kind, group); break;
    case Kind::mma_f16acc:
    case Kind::mma_f32acc: {
      const bool f32 = kind == Kind::mma_f32acc;
      ++(static_cast<Mma*>(group.front()->request.data)->depth == 8 ? counters.mma_depth8
         : f32                                                      ? counters.mma_f32acc
                                                                    : counters.mma_f16acc);
      f32 ? mma<true>(group) : mma<false>(group);
      break;
    }
    case Kind::shuffle: {
      std::array<u32, kWarp> values;
      for (int i = 0; i < kWarp; ++i) values[i] = static_cast<Shuffle*>(group[i]->request.data)->value;
      for (Lane* lane : group) {
        auto& shuffle = *static_cast<Shuffle*>(lane->request.data);
        if (shuffle.source < 0 || shuffle.source >= kWarp)
          violate(origin(*lane), "source lane ", shuffle.source, ", must be 0 to 31");
        shuffle.value = values[shuffle.source];
      }
      break;
    }
    case Kind::sync_warp: ++counters.warp_barriers; break;
    default: memory(kind, group);
  }
  for (Lane* lane : group) lane->status = Lane::Status::ready;
}

bool Executor::State::run_warp(int warp) {
  Lane* first = lanes.data() + warp * kWarp;
  const int size = std::min(kWarp, launch.threads - warp * kWarp);
  bool moved = false;
  std::array<int, kWarp> order;
  std::vector<Lane*> group;
  while (true) {
    for (int i = 0; i < size; ++i) order[i] = i;
    if (launch.order == Order::random) std::shuffle(order.begin(), order.begin() + size, random);
    int alive = 0;
    for (int i = 0; i < size; ++i) {
      Lane& lane = first[order[i]];
      if (lane.status == Lane::Status::ready) enter(lane), moved = true;
      if (failure) std::rethrow_exception(failure);
      alive += lane.status != Lane::Status::finished;
    }
    if (alive == 0) return moved;
    // Ordinary memory accesses go first, for the lanes that stand at the same one; then operations of the whole warp.
    const auto gather = [&](auto admissible) {
      group.clear();
      const Lane* leader = nullptr;
      for (int i = 0; i < size && !leader; ++i) {
        const Lane& lane = first[order[i]];
        if (lane.status == Lane::Status::waiting && admissible(lane.request)) leader = &lane;
      }
      for (int i = 0; i < size && leader; ++i)
        if (first[i].status == Lane::Status::waiting && first[i].request.meets(leader->request))
          group.push_back(first + i);
      return leader;
    };
    if (const Lane* leader = gather([](const Request& r) { return r.any_lanes(); })) {
      // Nothing but a barrier keeps the lanes of a warp in step.
      if (launch.order == Order::random && random() % 4 == 0)
        std::erase_if(group, [&](const Lane* lane) { return lane != leader && coin(); });
    } else {
      gather([](const Request& r) { return r.whole_warp(); });
      if (static_cast<int>(group.size()) != kWarp) return moved;  // others are at a block-wide wait, or diverged
    }
    carry_out(group);
    moved = true;
  }
}

Barrier& Executor::State::barrier_at(const Origin& origin, SharedAddress address) {
  const auto found = barriers.find(address);
  if (found == barriers.end()) violate(origin, "no barrier was initialised at shared address ", address);
  return found->second;
}

void Executor::State::complete(Barrier& barrier) {
  if (barrier.pending == 0 && barrier.bytes == 0) {
    barrier.phase ^= 1;
    barrier.pending = barrier.arrivals;
  }
}

bool Executor::State::release_block() {
  bool released = false;
  int alive = 0, at_block = 0;
  for (Lane& lane : lanes) {
    if (lane.status == Lane::Status::finished) continue;
    ++alive;
    if (lane.request.kind == Kind::sync_block) ++at_block;
    if (lane.request.kind == Kind::barrier_wait) {
      const auto& wait = *static_cast<device::detail::BarrierWait*>(lane.request.data);
      if (barrier_at(origin(lane), wait.barrier).phase != wait.parity)
        lane.status = Lane::Status::ready, released = true;
    }
  }
  if (released) return true;
  if (at_block == alive && alive == launch.threads) {
    ++counters.block_barriers;
    for (Lane& lane : lanes) lane.status = Lane::Status::ready;
    return true;
  }
  if (!loads.empty()) {
    const PendingTensorLoad load = loads.front();
    loads.pop_front();
    land(load);
    return true;
  }
  return false;
}

void Executor::State::run_block() {
  shared.assign(launch.shared_bytes, 0xff);  // a quiet NaN in every type
  written.assign((launch.shared_bytes + 1) / 2, Stamp{});
  barriers.clear();
  loads.clear();
  lanes = std::vector<Lane>(launch.threads);
  for (int thread = 0; thread < launch.threads; ++thread) {
    Lane& lane = lanes[thread];
    lane.thread = thread;
    lane.fiber.emplace(stacks, [this, &lane] {
      try {
        if (!abandoned) (*kernel)();
      } catch (const Abandoned&) {
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
      lane.status = Lane::Status::finished;
    });
    lane.status = Lane::Status::ready;
  }
  std::vector<int> warps((launch.threads + kWarp - 1) / kWarp);
  for (std::size_t i = 0; i < warps.size(); ++i) warps[i] = int(i);
  const auto alive = [&] {
    return std::any_of(lanes.begin(), lanes.end(), [](const Lane& l) { return l.status != Lane::Status::finished; });
  };
  while (alive()) {
    if (launch.order == Order::random) std::shuffle(warps.begin(), warps.end(), random);
    bool moved = false;
    for (int warp : warps) moved |= run_warp(warp);
    if (!moved && alive() && !release_block()) host::violate("no thread can go on: ", where_lanes_stand());
  }
  if (!loads.empty())
    host::violate("block ", block, " ended with ", loads.size(), " bulk loads that nothing waited for");
  for (const Lane& lane : lanes)
    if (!lane.stores.empty())
      host::violate("block ", block, " ended while ", lane.stores.size(),
                    " bulk stores may still read its shared memory");
}

void Executor::State::land(const PendingCopy& copy) {
  // Ordered like the thread's own writes.
  const Stamp stamp{std::int16_t(copy.origin.thread), lanes[copy.origin.thread].fences};
  std::uint8_t* to = written_shared(copy.origin, copy.to, 16, stamp);
  std::memset(to, 0, 16);
  if (copy.copied > 0) std::memcpy(to, reinterpret_cast<const void*>(copy.from), std::size_t(copy.copied));
}

namespace {

// Calls visit(shared byte offset of an element within the box, its global address or 0 where outside the extents).
template <class Visit>
void for_each_element(const TensorView& map, const std::array<int, 5>& at, Visit visit) {
  std::array<std::uint32_t, 5> i{};
  std::uint32_t element = 0;
  for (i[4] = 0; i[4] < map.box[4]; ++i[4])
    for (i[3] = 0; i[3] < map.box[3]; ++i[3])
      for (i[2] = 0; i[2] < map.box[2]; ++i[2])
        for (i[1] = 0; i[1] < map.box[1]; ++i[1])
          for (i[0] = 0; i[0] < map.box[0]; ++i[0], ++element) {
            std::uintptr_t address = reinterpret_cast<std::uintptr_t>(map.base);
            bool inside = true;
            for (int d = 0; d < 5; ++d) {
              const std::int64_t index = std::int64_t{at[d]} + i[d];
              inside &= index >= 0 && index < std::int64_t(map.extent[d]);
              address += std::uint64_t(index) * map.stride_bytes[d];
            }
            visit(2 * element, inside ? address : 0);
          }
}

// The 128-byte swizzle acts on address bits: bits 4 to 6 are xored with bits 7 to 9.
SharedAddress swizzled(SharedAddress address) { return address ^ (((address >> 7) & 7) << 4); }

}  // namespace

// What a device refuses when the map is made, and the alignment that the swizzle needs.
void Executor::State::check(const Origin& origin, const TensorView& map, SharedAddress shared) const {
  if (shared % 128 != 0) violate(origin, "shared address ", shared, " is not aligned to 128");
  if (reinterpret_cast<std::uintptr_t>(map.base) % 16 != 0)
    violate(origin, "the map's memory is not aligned to 16 bytes");
  for (int d = 1; d < TensorView::kRank; ++d)
    if (map.stride_bytes[d] % 16 != 0)
      violate(origin, "stride ", d, " of the map is ", map.stride_bytes[d], " bytes, must be a multiple of 16");
  for (int d = 0; d < TensorView::kRank; ++d)
    if (map.box[d] < 1 || map.box[d] > 256 || map.extent[d] < 1)
      violate(origin, "dimension ", d, " of the map has ", map.extent[d], " elements in boxes of ", map.box[d],
              ", must be at least 1 and 1 to 256");
  if (map.box[0] > 64)
    violate(origin, "the map's box is ", map.box[0], " elements wide, must be at most 64 (128 bytes)");
}

void Executor::State::land(const PendingTensorLoad& load) {
  std::int64_t bytes = 0;
  for_each_element(load.view, load.at, [&](std::uint32_t offset, std::uintptr_t address) {
    std::uint8_t* to = written_shared(load.origin, swizzled(load.to + offset), 2, {Stamp::kAsynchronousCopy});
    if (address) {
      check_global(load.origin, address, 2, false);
      std::memcpy(to, reinterpret_cast<const void*>(address), 2);
      counters.bulk_load_bytes += 2;
    } else {
      std::memset(to, 0, 2);
    }
    bytes += 2;
  });
  Barrier& barrier = barriers.at(load.barrier);
  barrier.bytes -= bytes;
  complete(barrier);
}

void Executor::State::check_fenced(const PendingTensorStore& store) {
  for_each_element(store.view, store.at, [&](std::uint32_t offset, std::uintptr_t address) {
    if (!address) return;
    const SharedAddress from = swizzled(store.from + offset);
    shared_at(store.origin, from, 2);
    const Stamp stamp = written[from / 2];
    if (stamp.thread >= 0 && lanes[stamp.thread].fences == stamp.fences)
      violate(store.origin, "shared bytes ", from, " to ", from + 2, " were written by thread ", stamp.thread,
              ", which has not called fence_async since");
  });
}

void Executor::State::land(const PendingTensorStore& store) {
  for_each_element(store.view, store.at, [&](std::uint32_t offset, std::uintptr_t address) {
    if (!address) return;
    const std::uint8_t* from = read_shared(store.origin, swizzled(store.from + offset), 2);
    check_global(store.origin, address, 2, true);
    std::memcpy(reinterpret_cast<void*>(address), from, 2);
    counters.bulk_store_bytes += 2;
  });
}

Counters& Counters::operator+=(const Counters& other) {
  for (const CounterField& field : kCounterFields) this->*field.value += other.*field.value;
  return *this;
}

Executor::Executor() : state_(std::make_unique<State>()) {}
Executor::~Executor() = default;

void Executor::declare(std::string name, const void* data, std::size_t bytes, bool writable) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  state_->regions.push_back({std::move(name), begin, begin + bytes, writable});
}

void Executor::forget_memory() { state_->regions.clear(); }

Counters Executor::run(const Launch& launch, const std::function<void()>& kernel) {
  if (launch.blocks < 1) fail("executor: ", launch.blocks, " blocks, must be at least 1");
  if (launch.threads < 1 || launch.threads > kMostThreads)
    fail("executor: ", launch.threads, " threads a block, must be 1 to ", kMostThreads);
  if (launch.shared_bytes < 0 || launch.shared_bytes > kMostSharedBytes)
    fail("executor: ", launch.shared_bytes, " bytes of shared memory a block, must be 0 to ", kMostSharedBytes);
  State& s = *state_;
  s.launch = launch;
  s.kernel = &kernel;
  s.counters = {};
  s.random.seed(launch.seed);
  s.failure = nullptr;
  struct Restore {
    State& s;
    State* before;
    ~Restore() {
      s.abandon_lanes();
      active = before;
    }
  } restore{s, std::exchange(active, &s)};
  for (s.block = 0; s.block < launch.blocks; ++s.block) s.run_block();
  return s.counters;
}

}  // namespace danaus::host

namespace danaus::inline host_backend::device {

namespace {
host::Executor::State& executor() {
  if (!host::active || !host::active->current) host::violate("a device operation was called outside Executor::run()");
  return *host::active;
}
}  // namespace

int thread_index() { return executor().current->thread; }
int block_index() { return executor().block; }
int block_count() { return executor().launch.blocks; }

namespace detail {

void rendezvous(Kind kind, void* request, const Site& site) {
  host::Lane& lane = *executor().current;
  lane.request = {kind, request, site};
  lane.status = host::Lane::Status::waiting;
  lane.fiber->leave();
  if (host::active->abandoned) throw host::Abandoned{};
}

Counters& counters() { return executor().counters; }

void barrier_init(SharedAddress barrier, u32 arrivals, const Site& site) {
  auto& s = executor();
  const host::Lane& lane = *s.current;
  s.written_shared({"barrier_init", site, lane.thread}, barrier, 8, {std::int16_t(lane.thread), lane.fences});
  s.barriers[barrier] = {arrivals, arrivals, 0, 0};
}

void barrier_expect(SharedAddress barrier, u32 bytes, const Site& site) {
  auto& s = executor();
  const host::Origin origin{"barrier_expect", site, s.current->thread};
  host::Barrier& found = s.barrier_at(origin, barrier);
  if (found.pending == 0) s.violate(origin, "more arrivals than the barrier at ", barrier, " counts");
  found.bytes += bytes;
  --found.pending;
  s.complete(found);
}

void tensor_load(SharedAddress to, const TensorMap& map, const int (&at)[5], SharedAddress barrier, const Site& site) {
  auto& s = executor();
  const host::PendingTensorLoad load{
      {"tensor_load", site, s.current->thread}, host::view_of(map), std::to_array(at), to, barrier};
  s.check(load.origin, load.view, to);
  s.barrier_at(load.origin, barrier);
  if (s.coin())
    s.land(load);
  else
    s.loads.push_back(load);
}

void tensor_store(const TensorMap& map, const int (&at)[5], SharedAddress from, const Site& site) {
  auto& s = executor();
  host::Lane& lane = *s.current;
  lane.stores.push_back(
      {{"tensor_store", site, lane.thread}, host::view_of(map), std::to_array(at), from, lane.store_group});
  s.check(lane.stores.back().origin, lane.stores.back().view, from);
  s.check_fenced(lane.stores.back());
}

void copy_async_commit() { ++executor().current->copy_group; }

void copy_async_wait(int pending) {
  auto& s = executor();
  host::Lane& lane = *s.current;
  while (!lane.copies.empty() && lane.copies.front().group + pending < lane.copy_group) {
    s.land(lane.copies.front());
    lane.copies.pop_front();
  }
}

void store_commit() { ++executor().current->store_group; }

void store_wait_read(int pending) {
  auto& s = executor();
  host::Lane& lane = *s.current;
  while (!lane.stores.empty() && lane.stores.front().group + pending < lane.store_group) {
    s.land(lane.stores.front());
    lane.stores.pop_front();
  }
}

void fence_async() { ++executor().current->fences; }

}  // namespace detail
}  // namespace danaus::inline host_backend::device
