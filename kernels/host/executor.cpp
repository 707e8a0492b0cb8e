#include "kernels/host/executor.hpp"

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <bit>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <random>
#include <sstream>

#include "kernels/host/operations.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace danaus::host {

namespace {

using device::detail::Kind;
using device::detail::MatrixAccess;
using device::detail::MemoryAccess;
using device::detail::Mma;
using device::detail::Shuffle;
using device::Site;

constexpr int kWarp = 32;
constexpr std::size_t kStackBytes = 128 * 1024;

template <class... Part>
[[noreturn]] void violate(const Part&... part) {
  std::ostringstream message;
  (message << ... << part);
  throw ExecutionError(message.str());
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
  SharedAddress to;
  std::uintptr_t from;
  int copied;
  std::uint64_t group;
};

struct PendingTensorStore {
  const TensorMap* map;
  std::array<int, 5> at;
  SharedAddress from;
  std::uint64_t group;
};

struct PendingTensorLoad {
  const TensorMap* map;
  std::array<int, 5> at;
  SharedAddress to;
  SharedAddress barrier;
};

struct Lane {
  enum class Status { ready, waiting, finished } status = Status::finished;
  int thread = 0;
  Request request{};
  boost::context::fiber fiber;      // the lane, while the scheduler runs
  boost::context::fiber scheduler;  // the scheduler, while the lane runs
  std::deque<PendingCopy> copies;
  std::deque<PendingTensorStore> stores;
  std::uint64_t copy_group = 0;
  std::uint64_t store_group = 0;
};

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

// Fiber stacks, kept from launch to launch: a block of 512 threads would otherwise map 64 MiB each time.
class Stacks {
 public:
  struct Allocator {
    Stacks* owner;
    boost::context::stack_context allocate() { return owner->take(); }
    void deallocate(boost::context::stack_context& stack) { owner->free_.push_back(stack); }
  };
  ~Stacks() {
    for (auto& stack : free_) source_.deallocate(stack);
  }
  Allocator allocator() { return {this}; }

 private:
  boost::context::stack_context take() {
    if (free_.empty()) return source_.allocate();
    const auto stack = free_.back();
    free_.pop_back();
    return stack;
  }
  boost::context::fixedsize_stack source_{kStackBytes};
  std::vector<boost::context::stack_context> free_;
};

}  // namespace

struct Executor::State {
  std::vector<Region> regions;
  Stacks stacks;
  Launch launch;
  const std::function<void()>* kernel = nullptr;
  Counters counters;
  std::mt19937_64 random;
  std::vector<std::uint8_t> shared;
  std::vector<std::uint8_t> written;  // one flag per byte of shared memory
  std::vector<Lane> lanes;
  std::map<SharedAddress, Barrier> barriers;
  std::deque<PendingTensorLoad> loads;
  std::exception_ptr failure;
  Lane* current = nullptr;
  int block = 0;

  void run_block();
  void resume(Lane& lane);
  bool run_warp(int warp);                           // true if any lane moved
  bool release_block();
  void carry_out(const std::vector<Lane*>& group);
  void memory(Kind kind, const std::vector<Lane*>& group);
  void matrices(Kind kind, const std::vector<Lane*>& group);
  template <bool f32>
  void mma(const std::vector<Lane*>& group);
  void count_shared(std::vector<std::pair<SharedAddress, int>> accesses);
  std::uint8_t* shared_at(SharedAddress address, int bytes, const char* what, bool write);
  void global_at(std::uintptr_t address, std::size_t bytes, const char* what, bool write) const;
  void land(const PendingCopy& copy);
  void land(const PendingTensorLoad& load);
  void land(const PendingTensorStore& store);
  void arrive(Barrier& barrier);
  bool coin() { return random() & 1; }
  std::string where_lanes_stand() const;
};

namespace {
thread_local Executor::State* active = nullptr;
}

void Executor::State::resume(Lane& lane) {
  current = &lane;
#if defined(__SANITIZE_ADDRESS__)
  // The sanitizer must know that the stack changes; stack bounds of the fiber are not needed, those of this thread are
  // restored by the finishing call.
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, nullptr, 0);
  lane.fiber = std::move(lane.fiber).resume();
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
  lane.fiber = std::move(lane.fiber).resume();
#endif
  current = nullptr;
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

std::uint8_t* Executor::State::shared_at(SharedAddress address, int bytes, const char* what, bool write) {
  if (address % static_cast<u32>(bytes > 16 ? 16 : bytes) != 0)
    violate(what, ": shared address ", address, " is not aligned to its ", bytes, " bytes");
  if (std::size_t{address} + bytes > shared.size())
    violate(what, ": shared bytes ", address, " to ", address + bytes, " are outside the block's ", shared.size());
  if (write) {
    std::fill_n(written.begin() + address, bytes, std::uint8_t{1});
  } else if (std::find(written.begin() + address, written.begin() + address + bytes, 0) != written.begin() + address + bytes) {
    violate(what, ": shared bytes ", address, " to ", address + bytes, " are read before anything wrote them");
  }
  return shared.data() + address;
}

void Executor::State::global_at(std::uintptr_t address, std::size_t bytes, const char* what, bool write) const {
  for (const Region& region : regions) {
    if (address < region.begin || address >= region.end) continue;
    if (address + bytes > region.end)
      violate(what, ": ", bytes, " bytes at offset ", address - region.begin, " run past the end of ", region.name, " (",
              region.end - region.begin, " bytes)");
    if (write && !region.writable) violate(what, ": ", region.name, " may not be written");
    return;
  }
  const Region* nearest = nullptr;
  for (const Region& region : regions)
    if (address >= region.end && (!nearest || region.end > nearest->end)) nearest = &region;
  violate(what, ": address outside every declared buffer",
          nearest ? ", " + std::to_string(address - nearest->end) + " bytes past the end of " + nearest->name : std::string());
}

void Executor::State::count_shared(std::vector<std::pair<SharedAddress, int>> accesses) {
  // The hardware serves 128 bytes a wavefront: a warp's 8-byte accesses in two halves, its 16-byte accesses in four
  // quarters. Lanes that read the same word share it; different words of one bank take turns.
  ++counters.shared_instructions;
  if (accesses.empty()) return;
  const int bytes = std::max(accesses.front().second, 4);
  const std::size_t together = std::size_t(128 / bytes);
  for (std::size_t first = 0; first < accesses.size(); first += together) {
    std::array<std::vector<u32>, 32> words;
    for (std::size_t i = first; i < std::min(accesses.size(), first + together); ++i)
      for (u32 word = accesses[i].first / 4; word * 4 < accesses[i].first + u32(accesses[i].second); ++word) {
        auto& bank = words[word % 32];
        if (std::find(bank.begin(), bank.end(), word) == bank.end()) bank.push_back(word);
      }
    std::size_t passes = 1;
    for (const auto& bank : words) passes = std::max(passes, bank.size());
    counters.shared_wavefronts += passes;
    counters.shared_conflicts += passes - 1;
  }
}

void Executor::State::memory(Kind kind, const std::vector<Lane*>& group) {
  const char* what = name(kind);
  std::vector<std::pair<SharedAddress, int>> shared_accesses;
  std::vector<std::uintptr_t> sectors;
  for (Lane* lane : group) {
    const auto& access = *static_cast<MemoryAccess*>(lane->request.data);
    if (kind == Kind::load_shared || kind == Kind::store_shared) {
      const bool write = kind == Kind::store_shared;
      std::uint8_t* at = shared_at(access.shared, access.bytes, what, write);
      if (write) std::memcpy(at, access.words, access.bytes);
      else std::memcpy(access.words, at, access.bytes);
      shared_accesses.emplace_back(access.shared, access.bytes);
      continue;
    }
    const std::size_t bytes = std::size_t(access.copied);
    if (access.global % std::size_t(access.bytes) != 0)
      violate(what, ": global address is not aligned to its ", access.bytes, " bytes");
    if (bytes > 0) global_at(access.global, bytes, what, kind == Kind::store_global);
    for (std::uintptr_t sector = access.global / 32; bytes > 0 && sector <= (access.global + bytes - 1) / 32; ++sector)
      sectors.push_back(sector);
    if (kind == Kind::copy_async) {
      const PendingCopy copy{access.shared, access.global, access.copied, lane->copy_group};
      shared_accesses.emplace_back(access.shared, access.bytes);
      if (coin()) land(copy);
      else lane->copies.push_back(copy);
    } else if (kind == Kind::store_global) {
      std::memcpy(reinterpret_cast<void*>(access.global), access.words, bytes);
    } else {
      std::memcpy(access.words, reinterpret_cast<const void*>(access.global), bytes);
    }
  }
  std::sort(sectors.begin(), sectors.end());
  const auto distinct = std::uint64_t(std::unique(sectors.begin(), sectors.end()) - sectors.begin());
  (kind == Kind::store_global ? counters.global_store_sectors : counters.global_load_sectors) += distinct;
  if (!shared_accesses.empty()) count_shared(std::move(shared_accesses));
}

// Matrix m has its eight rows of 16 bytes at the addresses of lanes 8 m to 8 m + 7. Lane 4 g + t holds elements 2 t and
// 2 t + 1 of row g, or, transposed, of column g.
void Executor::State::matrices(Kind kind, const std::vector<Lane*>& group) {
  const bool write = kind == Kind::store_matrices;
  const auto access = [&](int lane) -> MatrixAccess& { return *static_cast<MatrixAccess*>(group[lane]->request.data); };
  const int count = access(0).count;
  std::vector<std::pair<SharedAddress, int>> rows;
  for (int matrix = 0; matrix < count; ++matrix)
    for (int row = 0; row < 8; ++row) {
      const SharedAddress address = access(8 * matrix + row).row;
      std::uint8_t* bytes = shared_at(address, 16, name(kind), write);
      rows.emplace_back(address, 16);
      for (int column = 0; column < 8; ++column) {
        const int major = access(0).transposed ? column : row;
        const int minor = access(0).transposed ? row : column;
        auto* halves = reinterpret_cast<std::uint16_t*>(&access(4 * major + minor / 2).words[matrix]);
        if (write) std::memcpy(bytes + 2 * column, halves + minor % 2, 2);
        else std::memcpy(halves + minor % 2, bytes + 2 * column, 2);
      }
    }
  count_shared(std::move(rows));
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
    case Kind::mma_f16acc: ++counters.mma_f16acc, mma<false>(group); break;
    case Kind::mma_f32acc: ++counters.mma_f32acc, mma<true>(group); break;
    case Kind::shuffle: {
      std::array<u32, kWarp> values;
      for (int i = 0; i < kWarp; ++i) values[i] = static_cast<Shuffle*>(group[i]->request.data)->value;
      for (Lane* lane : group) {
        auto& shuffle = *static_cast<Shuffle*>(lane->request.data);
        if (shuffle.source < 0 || shuffle.source >= kWarp) violate("shuffle: source lane ", shuffle.source, ", must be 0 to 31");
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
      if (lane.status == Lane::Status::ready) resume(lane), moved = true;
      if (failure) std::rethrow_exception(failure);
      alive += lane.status != Lane::Status::finished;
    }
    if (alive == 0) return moved;
    // Ordinary memory accesses go first, for the lanes that stand at the same one; then operations of the whole warp.
    const auto gather = [&](auto admissible) {
      group.clear();
      for (int i = 0; i < size; ++i) {
        Lane& lane = first[i];
        if (lane.status != Lane::Status::waiting || !admissible(lane.request)) continue;
        if (group.empty() || lane.request.meets(group.front()->request)) group.push_back(&lane);
      }
    };
    gather([](const Request& r) { return r.any_lanes(); });
    if (group.empty()) {
      gather([](const Request& r) { return r.whole_warp(); });
      if (static_cast<int>(group.size()) != kWarp) return moved;  // others are at a block-wide wait, or diverged
    }
    carry_out(group);
    moved = true;
  }
}

void Executor::State::arrive(Barrier& barrier) {
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
      const auto barrier = barriers.find(wait.barrier);
      if (barrier == barriers.end()) violate("barrier_wait: no barrier was initialised at shared address ", wait.barrier);
      if (barrier->second.phase != wait.parity) lane.status = Lane::Status::ready, released = true;
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
  written.assign(launch.shared_bytes, 0);
  barriers.clear();
  loads.clear();
  lanes = std::vector<Lane>(launch.threads);
  for (int thread = 0; thread < launch.threads; ++thread) {
    Lane& lane = lanes[thread];
    lane.thread = thread;
    lane.status = Lane::Status::ready;
    lane.fiber = boost::context::fiber(std::allocator_arg, stacks.allocator(), [this, &lane](boost::context::fiber&& scheduler) {
      lane.scheduler = std::move(scheduler);
#if defined(__SANITIZE_ADDRESS__)
      __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
      try {
        (*kernel)();
      } catch (const boost::context::detail::forced_unwind&) {
        throw;
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
      lane.status = Lane::Status::finished;
#if defined(__SANITIZE_ADDRESS__)
      __sanitizer_start_switch_fiber(nullptr, nullptr, 0);
#endif
      return std::move(lane.scheduler);
    });
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
    if (!moved && alive() && !release_block()) violate("no thread can go on: ", where_lanes_stand());
  }
  if (!loads.empty()) violate("the block ended with ", loads.size(), " bulk loads that nothing waited for");
  for (Lane& lane : lanes)
    for (const PendingTensorStore& store : lane.stores) land(store);
}

void Executor::State::land(const PendingCopy& copy) {
  std::uint8_t* to = shared_at(copy.to, 16, "copy_async", true);
  std::memset(to, 0, 16);
  std::memcpy(to, reinterpret_cast<const void*>(copy.from), std::size_t(copy.copied));
}

namespace {

// Calls visit(shared byte offset of an element within the box, its global address or 0 where outside the extents).
template <class Visit>
void for_each_element(const TensorMap& map, const std::array<int, 5>& at, Visit visit) {
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

void Executor::State::land(const PendingTensorLoad& load) {
  std::int64_t bytes = 0;
  for_each_element(*load.map, load.at, [&](std::uint32_t offset, std::uintptr_t address) {
    std::uint8_t* to = shared_at(swizzled(load.to + offset), 2, "tensor_load", true);
    if (address) {
      global_at(address, 2, "tensor_load", false);
      std::memcpy(to, reinterpret_cast<const void*>(address), 2);
      counters.bulk_load_bytes += 2;
    } else {
      std::memset(to, 0, 2);
    }
    bytes += 2;
  });
  Barrier& barrier = barriers.at(load.barrier);
  barrier.bytes -= bytes;
  arrive(barrier);
}

void Executor::State::land(const PendingTensorStore& store) {
  for_each_element(*store.map, store.at, [&](std::uint32_t offset, std::uintptr_t address) {
    if (!address) return;
    const std::uint8_t* from = shared_at(swizzled(store.from + offset), 2, "tensor_store", false);
    global_at(address, 2, "tensor_store", true);
    std::memcpy(reinterpret_cast<void*>(address), from, 2);
    counters.bulk_store_bytes += 2;
  });
}

Counters& Counters::operator+=(const Counters& o) {
  mma_f16acc += o.mma_f16acc, mma_f32acc += o.mma_f32acc, packed_operations += o.packed_operations;
  fp32_operations += o.fp32_operations, conversions += o.conversions, byte_permutes += o.byte_permutes;
  global_load_sectors += o.global_load_sectors, global_store_sectors += o.global_store_sectors;
  bulk_load_bytes += o.bulk_load_bytes, bulk_store_bytes += o.bulk_store_bytes;
  shared_instructions += o.shared_instructions, shared_wavefronts += o.shared_wavefronts;
  shared_conflicts += o.shared_conflicts, warp_barriers += o.warp_barriers, block_barriers += o.block_barriers;
  return *this;
}

std::vector<std::pair<std::string, std::uint64_t>> items(const Counters& c) {
  return {{"mma_f16acc", c.mma_f16acc},
          {"mma_f32acc", c.mma_f32acc},
          {"packed_operations", c.packed_operations},
          {"fp32_operations", c.fp32_operations},
          {"conversions", c.conversions},
          {"byte_permutes", c.byte_permutes},
          {"global_load_sectors", c.global_load_sectors},
          {"global_store_sectors", c.global_store_sectors},
          {"bulk_load_bytes", c.bulk_load_bytes},
          {"bulk_store_bytes", c.bulk_store_bytes},
          {"shared_instructions", c.shared_instructions},
          {"shared_wavefronts", c.shared_wavefronts},
          {"shared_conflicts", c.shared_conflicts},
          {"warp_barriers", c.warp_barriers},
          {"block_barriers", c.block_barriers}};
}

Executor::Executor() : state_(std::make_unique<State>()) {}
Executor::~Executor() = default;

void Executor::declare(std::string name, const void* data, std::size_t bytes, bool writable) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  state_->regions.push_back({std::move(name), begin, begin + bytes, writable});
}

void Executor::forget_memory() { state_->regions.clear(); }

Counters Executor::run(const Launch& launch, const std::function<void()>& kernel) {
  State& s = *state_;
  s.launch = launch;
  s.kernel = &kernel;
  s.counters = {};
  s.random.seed(launch.seed);
  s.failure = nullptr;
  State* const before = std::exchange(active, &s);
  struct Restore {
    State& s;
    State* before;
    ~Restore() {
      s.lanes.clear();  // unwinds fibers that an error left standing
      active = before;
    }
  } restore{s, before};
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
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, nullptr, 0);
  lane.scheduler = std::move(lane.scheduler).resume();
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
  lane.scheduler = std::move(lane.scheduler).resume();
#endif
}

Counters& counters() { return executor().counters; }

void barrier_init(SharedAddress barrier, u32 arrivals) {
  executor().shared_at(barrier, 8, "barrier_init", true);
  executor().barriers[barrier] = {arrivals, arrivals, 0, 0};
}

void barrier_expect(SharedAddress barrier, u32 bytes) {
  auto& s = executor();
  const auto found = s.barriers.find(barrier);
  if (found == s.barriers.end()) host::violate("barrier_expect: no barrier was initialised at shared address ", barrier);
  if (found->second.pending == 0) host::violate("barrier_expect: more arrivals than the barrier at ", barrier, " counts");
  found->second.bytes += bytes;
  --found->second.pending;
  s.arrive(found->second);
}

void tensor_load(SharedAddress to, const TensorMap& map, const int (&at)[5], SharedAddress barrier, const Site& site) {
  auto& s = executor();
  if (to % 1024 != 0) host::violate("tensor_load at ", host::place(site), ": shared address ", to, " is not aligned to 1024");
  if (!s.barriers.contains(barrier)) host::violate("tensor_load: no barrier was initialised at shared address ", barrier);
  const host::PendingTensorLoad load{&map, std::to_array(at), to, barrier};
  if (s.coin()) s.land(load);
  else s.loads.push_back(load);
}

void tensor_store(const TensorMap& map, const int (&at)[5], SharedAddress from, const Site& site) {
  if (from % 1024 != 0) host::violate("tensor_store at ", host::place(site), ": shared address ", from, " is not aligned to 1024");
  host::Lane& lane = *executor().current;
  lane.stores.push_back({&map, std::to_array(at), from, lane.store_group});
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

void fence_async() {}

}  // namespace detail
}  // namespace danaus::inline host_backend::device
