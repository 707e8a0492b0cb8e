// The work of large launches, counted by executing small ones.
#include "kernels/cpu/work.hpp"

#include <gtest/gtest.h>

#include "kernels/cpu/machine.hpp"
#include "kernels/executor/aligned.hpp"
#include "kernels/plan/plan.hpp"

namespace danaus {
namespace {

struct Launched {
  host::Counters filter, launch;
};

// All of it.
Launched execute_whole(const Convolution& p, const Device& device, int blocks) {
  host::Counters counted;
  Plan plan(p, executor_machine(
                   {.device = device, .blocks = blocks, .observer = [&](const Launch&, const host::Counters& counters) {
                      counted = counters;
                    }}));
  const std::int64_t samples = p.batch * p.channels * p.length;
  const host::AlignedArray<float> k(p.channels * p.filter_length);
  const host::AlignedArray<std::uint16_t> u(samples), y(samples), w(samples), v(samples);
  Launched launched;
  plan.set_filter(k.all());
  launched.filter = counted;
  std::vector<Buffer> buffers = {{"u", u.all()}, {"y", y.all()}};
  if (p.pregate) buffers.emplace_back("pregate", w.all());
  if (p.postgate) buffers.emplace_back("postgate", v.all());
  plan.execute(buffers);
  launched.launch = counted;
  return launched;
}

// Shapes that counting does not execute, with blocks that begin in the middle of channels.
TEST(Work, OfALaunchIsThatOfItsPartsToTheLastSector) {
  struct Case {
    const char* token;
    int blocks;
    int sm = 90;
  };
  for (const Case& c : {Case{"fftconv_f16_circular_l256_b10_h7", 3},                 // chain, spectrum in registers
                        Case{"fftconv_f16_circular_l768_b7_h5", 2},                  // chain without, odd batch
                        Case{"fftconv_bf16_causal_l256_b5_h9_pregate_postgate", 2},  // chain, right angle, gates
                        Case{"fftconv_f16_circular_l1024_b5_h4_postgate", 3},        // exchange, odd batch
                        Case{"fftconv_f16_circular_l4096_b3_h5", 2},                 // a block for each channel
                        Case{"fftconv_f16_circular_l4096_b6_h3", 5},                 // more blocks than channels
                        Case{"fftconv_bf16_causal_l2944_k96_b3_h2", 2},              // rows that end before N
                        Case{"fftconv_bf16_causal_l3008_k96_b3_h2", 2, 80},          // the same, by threads
                        Case{"fftconv_f16_circular_l992_b3_h2", 2, 80}}) {           // by threads, wrapped
    SCOPED_TRACE(c.token);
    const Convolution problem = parse_convolution(c.token);
    Device device;
    device.sm = c.sm;
    const Work work = count_work(problem, device);
    const Launched whole = execute_whole(problem, device, c.blocks);
    const host::Counters launch = work.launch(extent_of(problem, device, c.blocks));
    for (const auto& [name, value] : host::kCounterFields) {
      EXPECT_EQ(launch.*value, whole.launch.*value) << name;
      EXPECT_EQ(work.filter.*value, whole.filter.*value) << name << " of the filter";
    }
  }
}

TEST(Work, ABlockTakesOneItemWhereTheRingHasNoRoomForTwo) {
  Device device;
  device.sm = 80;
  const Convolution problem = parse_convolution("fftconv_f16_causal_l15008_k32_b2_h1_pregate");
  const Extent extent = extent_of(problem, device, 1);
  EXPECT_EQ(extent.blocks, 2);
  const Work work = count_work(problem, device);
  EXPECT_EQ(work.block, host::Counters());
  EXPECT_TRUE(work.launch(extent) == execute_whole(problem, device, 1).launch);
}

// Of each alignment as many, and at the end of the arrays something else.
TEST(Work, OfRowsThatComeWithWhatEnclosesThemIsCountedOnAverage) {
  for (std::string_view token : {"fftconv_bf16_causal_l3001_k96_b8_h8", "fftconv_f16_circular_l992_b12_h8_postgate",
                                 "fftconv_f16_causal_l301_b16_h16_pregate"}) {
    SCOPED_TRACE(token);
    const Convolution problem = parse_convolution(token);
    const Device device;
    const host::Counters launch = count_work(problem, device).launch(extent_of(problem, device, 4));
    const host::Counters whole = execute_whole(problem, device, 4).launch;
    for (const auto& [name, value] : host::kCounterFields) {
      const bool conflicts = value == &host::Counters::shared_conflicts;  // few, of all wavefronts
      const bool barriers = value == &host::Counters::warp_barriers;  // one more for an end in the middle of a chunk
      const auto all = double(conflicts ? whole.shared_wavefronts : whole.*value);
      EXPECT_NEAR(double(launch.*value), double(whole.*value), (barriers ? 0.1 : 0.05) * all) << name;
    }
  }
}

TEST(Work, RowsThatBeginInTheMiddleOfASectorTouchAboutAsMany) {
  const Convolution problem = parse_convolution("fftconv_f16_causal_l301_k7_b3_h7");
  Device device;
  device.sm = 80;
  const host::Counters launch = count_work(problem, device).launch(extent_of(problem, device, 2));
  host::Counters whole = execute_whole(problem, device, 2).launch;
  EXPECT_NEAR(double(launch.global_store_sectors) / double(whole.global_store_sectors), 1, 0.05);
  whole.global_load_sectors = launch.global_load_sectors, whole.global_store_sectors = launch.global_store_sectors;
  EXPECT_TRUE(launch == whole) << "all else is exact";
}

TEST(Work, OfItemsAndVisitsByHand) {
  // 1024 points in the pair fold: every item reads u and writes y in bulk, 2 rows of 2 bytes a sample; a visit reads
  // 4 bytes of spectrum a point, in sectors of 32. Each of two warps reads which energies the channel has room for.
  const Work work = count_work(parse_convolution("fftconv_f16_circular_l1024_b2_h1"), Device());
  EXPECT_EQ(work.item.bulk_load_bytes, 2u * 2 * 1024);
  EXPECT_EQ(work.item.bulk_store_bytes, 2u * 2 * 1024);
  EXPECT_EQ(work.item.global_load_sectors, 2u);
  EXPECT_EQ(work.visit.global_load_sectors, 4u * 1024 / 32);
  EXPECT_EQ(work.visit.mma_f16acc, 0u);
}

// 32K points in the pair fold have no room for a spectrum beside their rows: 512 threads have 64 numbers of it each for
// an item, which they wait for twice. Threads that move rows wait once more.
TEST(Work, WorkersWaitForWhatNothingBringsAhead) {
  const auto waits_of = [](const char* token, Path path) {
    const Convolution problem = parse_convolution(token);
    const Device device;
    const Variant& variant = choose(problem, device);
    const Extent extent = extent_of(problem, device, 1);
    return waits(variant, count_launch(problem, device), extent, path, 4. * variant.spectrum_numbers()) /
           static_cast<double>(extent.most);
  };
  EXPECT_EQ(waits_of("fftconv_f16_circular_l32768_b2_h2", Path::tensor), 2);
  EXPECT_EQ(waits_of("fftconv_f16_circular_l8192_b2_h2", Path::tensor), 0) << "kept in shared memory";
  EXPECT_EQ(waits_of("fftconv_f16_causal_l1000_b2_h2", Path::enclosing), 1);
  EXPECT_EQ(waits_of("fftconv_f16_causal_l1024_b2_h2", Path::tensor), 0) << "each warp by itself";
}

// As an H100's counters say of these kernels: L1 holds the spectra of four blocks, not the one of 32K points.
TEST(Work, SpectraThatL1HoldsAreReadAgainByWorkersAlone) {
  Device device;
  device.multiprocessors = 132;
  const auto rereads_of = [&](const char* token) {
    const Convolution problem = parse_convolution(token);
    const Variant& variant = choose(problem, device);
    const Extent extent = extent_of(problem, device, concurrent_blocks(variant, device));
    const double bytes = 4. * variant.size;
    const double rereads =
        spectrum_rereads(variant, device, count_launch(problem, device), extent, bytes, problem.channels);
    return std::pair(rereads / bytes, extent);
  };
  const auto [held, fused] = rereads_of("fftconv_f16_causal_l1024_b16_h264");
  EXPECT_EQ(held, static_cast<double>(fused.visits - 264));
  const auto [not_held, large] = rereads_of("fftconv_f16_circular_l32768_b8_h66");
  EXPECT_EQ(not_held, static_cast<double>(large.items - 66));
}

TEST(Work, ItemsAreSharedOutAsTheKernelsDoIt) {
  const Device device;
  const Extent whole = extent_of(parse_convolution("fftconv_f16_circular_l1024_b64_h768"), device, 1056);
  EXPECT_EQ(whole.blocks, 1056);
  EXPECT_EQ(whole.items, 32 * 768);
  EXPECT_EQ(whole.half_items, 0);
  EXPECT_GE(whole.visits, 1056);
  EXPECT_LT(whole.visits, 1056 + 768);
  EXPECT_EQ(whole.most, 24);  // of 23.3
  const Extent odd = extent_of(parse_convolution("fftconv_f16_circular_l1024_b3_h5"), device, 2);
  EXPECT_EQ(odd.items, 5);
  EXPECT_EQ(odd.half_items, 5);
  EXPECT_EQ(odd.visits, 6);  // five items each: channels 0, 1, 2 and 2, 3, 4
  EXPECT_EQ(odd.most, 5);
  const Extent rounds = extent_of(parse_convolution("fftconv_f16_circular_l4096_b64_h768"), device, 264);
  EXPECT_EQ(rounds.blocks, 2 * 264 + 264);
  EXPECT_EQ(rounds.most, 2 * 32 + 30) << "two rounds of whole channels, and 240 channels shared by 264 blocks";
  Device without_bulk_copies;
  without_bulk_copies.sm = 80;
  const Extent by_item =
      extent_of(parse_convolution("fftconv_f16_causal_l16000_b3_h5_pregate"), without_bulk_copies, 2);
  EXPECT_EQ(by_item.blocks, 15) << "threads that cannot load ahead: a block for each item";
  EXPECT_EQ(by_item.most, 8);
  EXPECT_THROW(extent_of(parse_convolution("fftconv_f16_circular_l1024_b3_h5"), device, 0), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
