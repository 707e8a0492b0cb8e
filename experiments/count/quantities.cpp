#include "experiments/count/quantities.hpp"

#include <algorithm>

#include "experiments/operations/work.hpp"

namespace danaus {
namespace {

constexpr double kTurnBytes = 128;

double warps(std::uint64_t thread_operations) { return static_cast<double>(thread_operations) / 32; }

double written_bytes(const Convolution& p) { return moved_bytes(p) / (2 + p.pregate + p.postgate); }

// u, gates and spectra, once each.
double read_bytes(const Counted& c) {
  return moved_bytes(c.problem) - written_bytes(c.problem) + 4. * c.variant->size * double(c.problem.channels);
}

// From so many percent less to so many more.
template <int less, int more>
Range close_to(const Counted&, double counted) {
  return {(1 - less / 100.) * counted, (1 + more / 100.) * counted};
}

// Only a circular case in the right angle has a tail, which is at most as long as what comes before it.
Range tails_twice(const Counted& c, double counted) {
  const bool wraps = c.problem.mode == Mode::circular && c.variant->fold == Fold::right_angle;
  return {counted, (wraps ? 2 : 1) * counted};
}

// A turn for each 128 bytes that a copy brings or takes, and a fifth of that for polls of the barriers that say it is
// done; of waiting without copies some hundredths of all wavefronts. The right angle's weights are a third of what a
// chain reads from shared memory for a row: once on the way in, once out, of which the compiler may make one.
Range and_turns_of_copies(const Counted& c, double counted) {
  const double turns = double(c.launch.bulk_load_bytes + c.launch.bulk_store_bytes) / kTurnBytes;
  const double wavefronts = double(c.launch.shared_wavefronts);
  const bool weighted = c.variant->family == "chain" && c.variant->fold == Fold::right_angle;
  const double less = weighted ? 0.34 : 0.05;
  return {std::max(0., counted - less * wavefronts), counted + 1.2 * turns + 0.05 * wavefronts};
}

// Of a causal row in the right angle only the real part of what the weights give is used, at most 7 % less. A row of
// bf16 is scaled by its greatest sample, and one instruction takes the greatest of two words and the greatest before.
Range but_for_what_is_not_used(const Counted& c, double counted) {
  const Convolution& p = c.problem;
  const bool half = p.mode == Mode::causal && c.variant->fold == Fold::right_angle;
  const double words = p.dtype == Dtype::bf16 ? double(p.batch * p.channels * p.length) / 2 : 0;
  return {(half ? 0.93 : 1) * counted - words / 2 / 32, 1.02 * counted};
}

// L1 may hold what is read again, and nothing else.
Range at_least_once(const Counted& c, double counted) { return {0.98 * read_bytes(c), 1.02 * counted}; }

// The largest L2 that kernels have run with.
Range but_for_what_l2_holds(const Counted&, double counted) {
  constexpr double kL2Bytes = 60 << 20;
  return {std::max(0., counted - kL2Bytes), 1.02 * counted};
}

// Measured: 1.3 times where warps have much to do, 2.4 where threads bring the rows, 3.3 to 3.6 where most of the time
// is waiting for the first of few items.
Range and_what_is_no_operation(const Counted&, double counted) { return {counted, 4 * counted}; }

const std::vector<ComparedQuantity> kQuantities = {
    {"matrix instructions",
     [](const Counted& c) {
       return double(c.launch.mma_f16acc + c.launch.mma_f32acc + c.launch.mma_depth8 + c.launch.mma_tf32);
     },
     {"sm__inst_executed_pipe_tensor_op_hmma.sum"},
     1,
     tails_twice,
     "the compiler computes what is behind a branch, the tail of a wrapped convolution, before it"},
    {"packed half instructions",
     [](const Counted& c) { return warps(c.launch.packed_operations + c.launch.half_unpacks); },
     {"sass:HFMA2", "sass:HADD2", "sass:HMUL2", "sass:HMNMX2", "sass:VHMNMX"},
     1,
     but_for_what_is_not_used,
     "the compiler moves constants and negates by these, takes the greatest of three at once, and drops what a "
     "causal row does not use of its weights"},
    {"conversions",
     [](const Counted& c) { return warps(c.launch.conversions); },
     {"sass:F2FP"},
     1,
     close_to<0, 5>,
     "the compiler packs halves of its own"},
    {"byte permutes",
     [](const Counted& c) { return warps(c.launch.byte_permutes); },
     {"sass:PRMT"},
     1,
     close_to<2, 5>,
     "the compiler permutes bytes of its own, and permutes once where values are used twice"},
    {"global load sectors",
     [](const Counted& c) { return double(c.launch.global_load_sectors); },
     {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
      "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
      "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum"},
     1,
     close_to<30, 5>,
     "the compiler drops loads of constants that a kernel does not use, and repeats some"},
    {"global store sectors",
     [](const Counted& c) { return double(c.launch.global_store_sectors); },
     {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"},
     1,
     close_to<0, 0>,
     ""},
    {"tensor copies in, bytes",
     [](const Counted& c) { return double(c.launch.bulk_load_bytes); },
     {"l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum"},
     1,
     close_to<0, 1>,
     "descriptors of the copies"},
    {"tensor copies out, bytes",
     [](const Counted& c) { return double(c.launch.bulk_store_bytes); },
     {"l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum"},
     1,
     close_to<0, 0>,
     ""},
    {"shared wavefronts",
     [](const Counted& c) { return double(c.launch.shared_wavefronts); },
     {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"},
     1,
     and_turns_of_copies,
     "turns lost to copies into shared memory, and polls of their barriers; the compiler drops some loads"},
    {"shared bank conflicts",
     [](const Counted& c) { return double(c.launch.shared_conflicts); },
     {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"},
     1,
     and_turns_of_copies,
     "the hardware also counts turns lost to copies into shared memory"},
    {"block barriers, by warps",
     [](const Counted& c) { return double(c.launch.block_barriers) * c.variant->threads / 32; },
     {"sass:BAR"},
     1,
     close_to<0, 0>,
     ""},
    {"bytes that L2 reads for L1",
     [](const Counted& c) { return double(c.launch.bulk_load_bytes) + 32. * double(c.launch.global_load_sectors); },
     {"lts__t_sectors_srcunit_tex_op_read.sum"},
     32,
     at_least_once,
     "tables and spectra that L1 holds"},
    {"bytes read from memory",
     [](const Counted& c) { return read_bytes(c); },
     {"dram__bytes_read.sum"},
     1,
     close_to<2, 2>,
     "counted: u, gates and spectra, once each"},
    {"bytes written to memory",
     [](const Counted& c) { return written_bytes(c.problem); },
     {"dram__bytes_write.sum"},
     1,
     but_for_what_l2_holds,
     "counted: y; L2 still holds some of it as the kernel ends"},
    {"instructions",
     [](const Counted& c) { return counted_instructions(c.launch); },
     {"smsp__inst_executed.sum"},
     1,
     and_what_is_no_operation,
     "addresses, moves, loops and waiting are no operations of a kernel's source"},
};

}  // namespace

const std::vector<ComparedQuantity>& compared_quantities() { return kQuantities; }

}  // namespace danaus
