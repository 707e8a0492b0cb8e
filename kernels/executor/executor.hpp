// Runs thread blocks on the CPU: one fiber per CUDA thread, a rendezvous for every warp-wide and block-wide operation.
//
// Each lane runs until it reaches an operation that other lanes take part in, which is carried out when they are there.
// Its own accesses to memory happen at once, and are counted, together with those of the warp's other lanes, when the
// warp meets again. Asynchronous copies happen as late as their completion allows, or at once, by coin toss.
//
// Violations throw ExecutionError with the operation, its place, thread and block:
//   bounds       an access outside the buffers that were declared, or outside the block's shared memory; misalignment
//   unwritten    a read of shared memory that nothing wrote
//   races        two accesses to the same memory, not both reads, that no barrier orders: of threads of a block or a
//                cluster, of asynchronous copies and of what comes after them. Matrix loads and stores, products and
//                shuffles are no barriers, although a warp meets there. Global memory that one block writes and another
//                reads or writes too, since nothing orders blocks of a launch that do not wait for each other's flags
//   proxies      a bulk copy of what its writer has not fenced, in shared and in global memory; a product of a group
//                with registers that were written since the last fence
//   releases     what a relaxed arrival or barrier_release_remote is to make known, but that memory has been read
//   earlier      memory that the stream's earlier kernels may be using, before wait_for_previous_grid
//   lifetime     shared memory of a block that may have ended; copies that nothing waited for
//   progress     a warp-wide operation that some lanes of the warp do not reach, or a group-wide one that some of its
//                warps do not; a launch that can never go on
//
// Accepted, though PTX does not promise it, since the memory of a multiprocessor keeps its order:
//   - a copy into shared memory over what its block's threads have only read, with no fence between the two proxies
//   - a write of another block over what the block wrote itself, or a copy brought, and then read: there a release of
//     reads is enough
//
// Which accesses are ordered is known by vector clocks (clocks.hpp), not by how the lanes happened to run.
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
  std::uint64_t mma_tf32 = 0;             // m16n8k8 of TF32 with f32 accumulators
  std::uint64_t mma_group = 0;            // m16n8k16 that a warp of a group has of its products, with f32 accumulators
  std::uint64_t packed_operations = 0;    // add2, sub2, mul2, fma2: thread operations, two results each
  std::uint64_t fp32_operations = 0;      // thread operations
  std::uint64_t conversions = 0;          // pack2, round_tf32: thread operations
  std::uint64_t half_unpacks = 0;         // lower_float, upper_float of f16: thread operations, packed ones on a GPU
  std::uint64_t bf16_unpacks = 0;         // of bf16: thread operations, a shift or a mask
  std::uint64_t byte_permutes = 0;        // thread operations
  std::uint64_t global_instructions = 0;  // warp instructions that read or write global memory, bulk copies not
  std::uint64_t global_load_sectors = 0;  // 32 bytes each, by ordinary loads and cp.async
  std::uint64_t global_store_sectors = 0;
  std::uint64_t bulk_load_bytes = 0;  // by bulk copies, of tensors or not, zero fill not counted
  std::uint64_t bulk_store_bytes = 0;
  std::uint64_t shared_instructions = 0;  // warp instructions that read or write shared memory
  std::uint64_t shared_wavefronts = 0;    // 128 bytes each, conflicts included, bulk copies not
  std::uint64_t shared_conflicts = 0;     // wavefronts above what the same bytes need
  std::uint64_t warp_barriers = 0;
  std::uint64_t block_barriers = 0;      // one for each block that passes
  std::uint64_t cluster_barriers = 0;    // one for each cluster that passes
  std::uint64_t remote_load_bytes = 0;   // from the shared memory of another block of the cluster
  std::uint64_t remote_store_bytes = 0;  // to it, asynchronously or not
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
    CounterField{"mma_tf32", &Counters::mma_tf32},
    CounterField{"mma_group", &Counters::mma_group},
    CounterField{"packed_operations", &Counters::packed_operations},
    CounterField{"fp32_operations", &Counters::fp32_operations},
    CounterField{"conversions", &Counters::conversions},
    CounterField{"half_unpacks", &Counters::half_unpacks},
    CounterField{"bf16_unpacks", &Counters::bf16_unpacks},
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
    CounterField{"cluster_barriers", &Counters::cluster_barriers},
    CounterField{"remote_load_bytes", &Counters::remote_load_bytes},
    CounterField{"remote_store_bytes", &Counters::remote_store_bytes},
};
static_assert(sizeof(Counters) == kCounterFields.size() * sizeof(std::uint64_t), "every counter has a name");

// In which order lanes and warps get to run, and copies that are under way land.
enum class Order { ascending, random };

struct Launch {
  int blocks = 1;
  int threads = 32;
  int shared_bytes = 0;
  Order order = Order::ascending;
  std::uint64_t seed = 0;        // of the random order and of the coin tosses
  int cluster = 1;               // blocks of a cluster, 1 to 16, which run at the same time
  bool resident = false;         // all blocks run at the same time, so that one may wait for another's flag
  int first_block = 0;           // of a grid of which these blocks are a part
  int grid_blocks = 0;           // of the grid; 0: it has these alone
  bool continues = false;        // of the launch that ran before, of which these are other blocks
  std::string description = {};  // put in front of every ExecutionError: what it takes to run the launch again
};

class Executor {
 public:
  Executor();
  ~Executor();

  // Declares memory that kernels may touch. `name` appears in errors. `awaited`: earlier kernels of the stream may
  // still be writing or reading it, so that a thread may touch it only after wait_for_previous_grid. Valid until
  // forget_memory().
  void declare(std::string name, const void* data, std::size_t bytes, bool writable, bool awaited = false);
  void forget_memory();

  // Runs `kernel` once for each thread of each block: cluster after cluster, or all at once. Throws what a thread
  // throws.
  Counters run(const Launch& launch, const std::function<void()>& kernel);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace danaus::host
