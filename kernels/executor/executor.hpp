// Runs a thread block on the CPU: one fiber per CUDA thread, a rendezvous for every warp-wide and block-wide operation.
//
// Each lane runs until it reaches an operation that other lanes take part in (memory accesses too, so that their bank
// conflicts and sectors can be counted), and the operation is carried out for all lanes that stand at it. Asynchronous
// copies happen as late as their completion allows, or at once, by coin toss: a kernel that forgets to wait reads
// poison.
//
// Violations throw ExecutionError with the operation, its place, thread and block: an access outside the buffers that
// were declared, a read of shared memory that nothing wrote, a bulk store of what its writer has not fenced, a
// warp-wide operation that some lanes of the warp do not reach, a block that can never go on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace danaus::host {

struct ExecutionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a launch did. "Instructions" are per warp; arithmetic counts single threads' operations divided by 32.
struct Counters {
  std::uint64_t mma_f16acc = 0;           // m16n8k16 with f16 accumulators
  std::uint64_t mma_f32acc = 0;           // m16n8k16 with f32 accumulators
  std::uint64_t mma_depth8 = 0;           // m16n8k8 with either, half the work
  std::uint64_t packed_operations = 0;    // add2, sub2, mul2, fma2: thread operations, two results each
  std::uint64_t fp32_operations = 0;      // thread operations
  std::uint64_t conversions = 0;          // pack2: thread operations
  std::uint64_t byte_permutes = 0;        // thread operations
  std::uint64_t global_instructions = 0;  // warp instructions that read or write global memory, bulk copies not
  std::uint64_t global_load_sectors = 0;  // 32 bytes each, by ordinary loads and cp.async
  std::uint64_t global_store_sectors = 0;
  std::uint64_t bulk_load_bytes = 0;  // by bulk tensor copies, zero fill not counted
  std::uint64_t bulk_store_bytes = 0;
  std::uint64_t shared_instructions = 0;  // warp instructions that read or write shared memory
  std::uint64_t shared_wavefronts = 0;    // 128 bytes each, conflicts included, bulk copies not
  std::uint64_t shared_conflicts = 0;     // wavefronts above what the same bytes need
  std::uint64_t warp_barriers = 0;
  std::uint64_t block_barriers = 0;  // one for each block that passes
  Counters& operator+=(const Counters& other);
  bool operator==(const Counters&) const = default;
};

// Each of them, by name, in declaration order.
struct CounterField {
  std::string_view name;
  std::uint64_t Counters::*value;
};
inline constexpr std::array kCounterFields = {
    CounterField{"mma_f16acc", &Counters::mma_f16acc},
    CounterField{"mma_f32acc", &Counters::mma_f32acc},
    CounterField{"mma_depth8", &Counters::mma_depth8},
    CounterField{"packed_operations", &Counters::packed_operations},
    CounterField{"fp32_operations", &Counters::fp32_operations},
    CounterField{"conversions", &Counters::conversions},
    CounterField{"byte_permutes", &Counters::byte_permutes},
    CounterField{"global_instructions", &Counters::global_instructions},
    CounterField{"global_load_sectors", &Counters::global_load_sectors},
    CounterField{"global_store_sectors", &Counters::global_store_sectors},
    CounterField{"bulk_load_bytes", &Counters::bulk_load_bytes},
    CounterField{"bulk_store_bytes", &Counters::bulk_store_bytes},
    CounterField{"shared_instructions", &Counters::shared_instructions},
    CounterField{"shared_wavefronts", &Counters::shared_wavefronts},
    CounterField{"shared_conflicts", &Counters::shared_conflicts},
    CounterField{"warp_barriers", &Counters::warp_barriers},
    CounterField{"block_barriers", &Counters::block_barriers},
};
static_assert(sizeof(Counters) == kCounterFields.size() * sizeof(std::uint64_t), "every counter has a name");

// In which order lanes and warps get to run. Random order also parts the lanes of a warp between barriers, so that it
// counts more memory instructions than a GPU would issue; ascending order keeps them together.
enum class Order { ascending, random };

struct Launch {
  int blocks = 1;
  int threads = 32;
  int shared_bytes = 0;
  Order order = Order::ascending;
  std::uint64_t seed = 0;  // of the random order and of the coin tosses
};

class Executor {
 public:
  Executor();
  ~Executor();

  // Declares memory that kernels may touch. `name` appears in errors. Valid until forget_memory().
  void declare(std::string name, const void* data, std::size_t bytes, bool writable);
  void forget_memory();

  // Runs `kernel` once for each thread of each block, block after block. Throws what a thread throws.
  Counters run(const Launch& launch, const std::function<void()>& kernel);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace danaus::host
