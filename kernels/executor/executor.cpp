#include "kernels/executor/executor.hpp"

#include <utility>

#include "kernels/executor/state.hpp"

namespace danaus::host {

namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostThreadsAtOnce = 32 * 1024;
constexpr int kMostSharedBytes = 227 * 1024;  // of sm_90
constexpr int kMostClusterBlocks = 16;

thread_local Executor::State* active = nullptr;

void check(const Launch& launch) {
  if (launch.blocks < 1) fail("executor: ", launch.blocks, " blocks, must be at least 1");
  if (launch.threads < 1 || launch.threads > kMostThreads)
    fail("executor: ", launch.threads, " threads a block, must be 1 to ", kMostThreads);
  if (launch.shared_bytes < 0 || launch.shared_bytes > kMostSharedBytes)
    fail("executor: ", launch.shared_bytes, " bytes of shared memory a block, must be 0 to ", kMostSharedBytes);
  if (launch.cluster < 1 || launch.cluster > kMostClusterBlocks || launch.blocks % launch.cluster != 0)
    fail("executor: ", launch.blocks, " blocks in clusters of ", launch.cluster, ", must be a multiple of 1 to ",
         kMostClusterBlocks);
  if (launch.resident && std::int64_t{launch.blocks} * launch.threads > kMostThreadsAtOnce)
    fail("executor: ", launch.blocks, " resident blocks of ", launch.threads, " threads, must be at most ",
         kMostThreadsAtOnce, " threads in all");
}

}  // namespace

Counters& Counters::operator+=(const Counters& other) {
  for (const CounterField& field : kCounterFields) this->*field.value += other.*field.value;
  return *this;
}

Executor::Executor() : state_(std::make_unique<State>()) {}
Executor::~Executor() = default;

void Executor::declare(std::string name, const void* data, std::size_t bytes, bool writable, bool awaited) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  Region region{std::move(name), begin, begin + bytes, writable, awaited, {}};
  // Rows of one array may lie between those of another.
  std::erase_if(state_->regions, [&](const Region& other) {
    if (other.end <= region.begin || region.end <= other.begin) return false;
    region.name = other.name + ", " + region.name;
    region.begin = std::min(region.begin, other.begin), region.end = std::max(region.end, other.end);
    region.writable |= other.writable, region.awaited |= other.awaited;
    return true;
  });
  state_->regions.push_back(std::move(region));
}

void Executor::forget_memory() { state_->regions.clear(); }

Counters Executor::run(const Launch& launch, const std::function<void()>& kernel) {
  check(launch);
  State& s = *state_;
  s.launch = launch;
  s.kernel = &kernel;
  s.counters = {};
  s.random.seed(launch.seed);
  s.failure = nullptr;
  if (!launch.continues)
    for (Region& region : s.regions) region.history.begin_launch();
  struct Restore {
    State& s;
    State* before;
    device::detail::Place* running_before;
    ~Restore() {
      s.abandon_lanes();
      active = before;
      device::detail::running = running_before;
    }
  } restore{s, std::exchange(active, &s), std::exchange(device::detail::running, nullptr)};
  const int at_once = launch.resident ? launch.blocks : launch.cluster;
  try {
    for (int first = 0; first < launch.blocks; first += at_once) s.run_blocks(first, at_once);
  } catch (const ExecutionError& error) {
    if (launch.description.empty()) throw;
    throw ExecutionError(launch.description + ": " + error.what());
  }
  return s.counters;
}

Executor::State& running_state() {
  device::detail::here();
  return *active;
}

}  // namespace danaus::host

namespace danaus::inline host_backend::device::detail {

constinit thread_local Place* running = nullptr;

void refuse_outside() { throw host::ExecutionError("a device operation was called outside Executor::run()"); }

}  // namespace danaus::inline host_backend::device::detail
