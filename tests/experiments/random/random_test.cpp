// danaus random: draws what it says, the same each time, and sees a wrong result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>

#include "experiments/count/imitation.hpp"
#include "experiments/methods/execution.hpp"
#include "experiments/random/random_case.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/plan/forwarding_machine.hpp"
#include "kernels/plan/promise.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/short_backward/short_backward.hpp"
#include "reference/spectral/spectral.hpp"
#include "reference/state/state.hpp"
#include "reference/step/step.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

TEST(RandomCases, AreTheSameAgainAndOthersByNumberAndSeed) {
  const RandomCase c = random_case(3, 14);
  EXPECT_EQ(random_case(3, 14).asked.token(), c.asked.token());
  EXPECT_EQ(random_case(3, 14).seed, c.seed);
  EXPECT_NE(random_case(3, 15).seed, c.seed);
  EXPECT_NE(random_case(4, 14).seed, c.seed);
}

TEST(RandomCases, ReachEverythingThatACallMayDifferIn) {
  std::set<std::tuple<Dtype, Dtype, Mode>> types;
  std::set<std::pair<bool, bool>> gates;
  std::set<RandomFilter> filters;
  int aligned = 0, together = 0, apart = 0, beside_a_size = 0, longer_filters = 0, rows_past_a_wave = 0;
  for (int number = 0; number < 1000; ++number) {
    const RandomCase c = random_case(0, number);
    const Convolution& p = *c.asked.as<Convolution>();
    EXPECT_NO_THROW(validate(p));
    EXPECT_LE(p.batch * p.channels * p.length, is_large(number) ? 1 << 20 : 1 << 17);
    rows_past_a_wave += p.batch * p.channels > 8 * 132;
    types.emplace(p.dtype, p.filter, p.mode), gates.emplace(p.pregate, p.postgate), filters.insert(c.filter);
    const std::set<int> offsets(c.offsets.begin(), c.offsets.end());
    ++(offsets.size() > 1 ? apart : *offsets.begin() == 0 ? aligned : together);
    for (int size : {256, 1024, 4096, 32768}) beside_a_size += p.length < size && p.length > size - 8;
    longer_filters += p.filter_length > p.length;
  }
  EXPECT_EQ(types.size(), 2u * 3 * 2);
  EXPECT_EQ(gates.size(), 4u);
  EXPECT_EQ(filters.size(), kRandomFilters.size());
  for (int count : {aligned, together, apart, beside_a_size, longer_filters, rows_past_a_wave}) EXPECT_GT(count, 10);
}

// Of every kind that a kernel takes; those that share a transform are as loud as each other where they are not kept
// apart.
TEST(RandomCases, RowsDifferWithinWhatAKernelTakes) {
  int silent = 0, spikes = 0, offsets = 0, spoiled = 0, differing = 0;
  for (int number = 0; number < 60; ++number) {
    RandomCase c = random_case(0, number);
    differing += c.rows_differ;
    c.asked = parse_case("fftconv_f16_causal_l64_b4_h3");
    c.seed = static_cast<std::uint64_t>(number), c.rows_differ = true, c.filter = RandomFilter::gaussian;
    const auto loudness = [&](const RowLimits& limits) {
      const std::vector<double> u = random_values(c, limits).at("u");
      std::vector<double> largest(12);
      for (std::size_t i = 0; i < u.size(); ++i)
        if (std::isfinite(u[i])) largest[i / 64] = std::max(largest[i / 64], std::abs(u[i]));
      return std::pair(u, largest);
    };
    const auto [u, any] = loudness({});
    const auto [narrow, some] = loudness({.takes_any_loudness = false});
    const auto [paired, pairs] = loudness({.shared_rows = 2, .keeps_rows_apart = false});
    for (int row = 0; row < 12; ++row) {
      const std::span samples = std::span(u).subspan(64 * row, 64);
      const auto zeros = std::ranges::count(samples, 0.);
      silent += zeros == 64, spikes += zeros == 63;
      offsets += zeros == 0 && std::ranges::all_of(samples, [&](double x) { return x > 0; });
      spoiled += std::ranges::any_of(samples, [](double x) { return !std::isfinite(x); });
      EXPECT_LE(any[row], 2e3 * 6);
      EXPECT_LE(some[row], kLoudest * 6);
      if (some[row] > 0) EXPECT_GE(some[row], kQuietest);
    }
    for (int h = 0; h < 3; ++h)
      if (pairs[h] > 0 && pairs[3 + h] > 0) EXPECT_LT(std::abs(std::log(pairs[h] / pairs[3 + h])), std::log(50.));
  }
  EXPECT_EQ(differing, 30);
  for (int count : {silent, spikes, offsets, spoiled}) EXPECT_GT(count, 5);
}

// In f16 a layer's spectra overflow where rows are loud and constant. A pregate's products and a state have less range.
TEST(RandomCases, AreAsLoudAsAKernelsRange) {
  const auto takes_any = [](const char* token) { return row_limits(parse_case(token), Device()).takes_any_loudness; };
  for (const char* token : {"spectral_f16_b1_c7x4_l22x96_m22x46_shared", "shortconv_f16_causal_k9_l20_b1_h1_pregate",
                            "ssmconv_f16_s2_l100_b1_h1"})
    EXPECT_FALSE(takes_any(token)) << token;
  for (const char* token :
       {"spectral_bf16_b1_c7x4_l22x96_m22x46_shared", "spectral_f32_tf32_b1_c7x4_l64_m22",
        "shortconv_f16_causal_k9_l20_b1_h1_postgate", "ssmconv_bf16_s2_l100_b1_h1", "fftconv_f16_causal_l64_b2_h1"})
    EXPECT_TRUE(takes_any(token)) << token;
}

// As close to the truth as its bound says, where y is what a filter of one last tap leaves of u, and where it is all.
TEST(RandomCases, AreJudgedByWhatWasSummed) {
  for (const char* word : {"fftconv_f16_causal_l1000_b2_h2", "fftconv_bf16_circular_l1001_kbf16_b1_h3_postgate"})
    for (const auto& filter : kRandomFilters) {
      RandomCase c;
      c.asked = parse_case(word);
      c.filter = filter.value;
      const RandomVerdict verdict = judge(c, executor_machine());
      EXPECT_TRUE(verdict.passed()) << word << ' ' << filter.name << ' ' << verdict.clearance << verdict.violation;
      EXPECT_GT(verdict.error, 0);
    }
}

// Few outputs, in which roundings do not average out; filters whose taps wrap to zeros; a single frequency.
TEST(RandomCases, OfFewOutputsOrNone) {
  RandomCase of_two_samples;
  of_two_samples.asked = parse_case("fftconv_bf16_causal_l2_k1_b4_h3_pregate_postgate");
  of_two_samples.filter = RandomFilter::alternating, of_two_samples.scale = 1e-3;
  for (const RandomCase& c :
       {of_two_samples, random_case(0, 9034), random_case(0, 13774), random_case(0, 14996), random_case(0, 50656)}) {
    const RandomVerdict verdict = judge(c, executor_machine());
    EXPECT_TRUE(verdict.passed()) << c.asked.token() << ' ' << describe(c) << ' ' << verdict.clearance
                                  << verdict.violation;
  }
}

// A filter removes most of a constant row. The rest errs in one number, so along itself.
TEST(RandomCases, OfAConstantRowWithoutWhatIsConstant) {
  RandomCase c;
  c.asked = parse_case("fftconv_f16_circular_l10129_b5_h2");
  c.seed = 3423874762349771698, c.rows_differ = true;
  const RandomVerdict verdict = judge(c, executor_machine());
  EXPECT_TRUE(verdict.passed()) << verdict.place << ' ' << verdict.clearance << verdict.violation;
}

// Products with gates are scaled before they are rounded, in pieces too that are cut out of unaligned rows.
TEST(RandomCases, OfQuietRowsBetweenGates) {
  for (const char* word : {"fftconv_f16_causal_l3000_k1_b2_h1_n256_pregate", "fftconv_f16_causal_l3000_b2_h1_pregate",
                           "fftconv_f16_circular_l3000_k1_b3_h1_n256_pregate_postgate"}) {
    RandomCase c;
    c.asked = parse_case(word);
    c.filter = RandomFilter::decaying, c.scale = 2e-6;  // whose only tap is 4
    c.offsets.assign(c.asked.arrays().size(), 7);
    const RandomVerdict verdict = judge(c, executor_machine());
    EXPECT_TRUE(verdict.passed()) << word << ' ' << verdict.clearance << verdict.violation;
  }
}

// The last bit of what each launch writes first.
class OffByABit final : public ForwardingMachine {
 public:
  OffByABit() : ForwardingMachine(executor_machine()) {}
  void launch(const Launch& launch, Stream stream) const override {
    ForwardingMachine::launch(launch, stream);
    for (const Region& region : std::span(launch.regions).first(static_cast<std::size_t>(launch.region_count)))
      if (region.written) *static_cast<std::uint8_t*>(const_cast<void*>(region.data)) ^= 1;
  }
};

TEST(RandomCases, OtherBitsFailWhereTheyAreCompared) {
  RandomCase c;
  c.asked = parse_case("fftconv_f16_circular_l256_b2_h2");
  const std::shared_ptr<const Machine> executor = executor_machine(), off = std::make_shared<OffByABit>();
  EXPECT_EQ(judge(c, executor, executor).violation, "");
  EXPECT_EQ(judge(c, off).violation, "");
  EXPECT_THAT(judge(c, off, executor).violation, HasSubstr("y[0] is"));
  EXPECT_NE(judge(c, off).digest, judge(c, executor).digest);
}

TEST(RandomCases, ADigestIsOfAllBitsWhateverTheOrderOfThreads) {
  RandomCase c;
  c.asked = parse_case("fftconv_f16_circular_l256_b2_h700");
  const auto digest = [&](ExecutorOptions options) { return judge(c, executor_machine(options)).digest; };
  ASSERT_TRUE(digest({}));
  EXPECT_EQ(digest({.order = host::Order::random, .seed = 3}), digest({}));
  EXPECT_FALSE(digest({.whole_blocks = 0})) << "of a part of the outputs";
}

// Of every output, and of what stands beside it.
TEST(RandomCases, AWrongSampleFails) {
  for (const char* word :
       {"fftconv_f16_causal_l100_b2_h2", "fftconvgrad_f16_circular_l100_b2_h2_postgate", "spectral_f16_b2_c5x4_l32_m8",
        "shortconv_f16_same_k9_l300_b2_h5_bias", "ssmconv_f16_s9_l200_b2_h3_initial_final"}) {
    RandomCase c;
    c.asked = parse_case(word);
    const Values values = random_values(c), right = truth(c.asked, values);
    const Promise promise = promise_of(c.asked, Device());
    EXPECT_TRUE(verdict_of(c, values, right, promise).passed());
    for (const auto& [output, numbers] : right) {
      const auto verdict_with = [&](auto change) {
        Values off = right;
        change(off.at(output));
        return verdict_of(c, values, off, promise);
      };
      const auto scaled = verdict_with([](std::vector<double>& y) {
        for (double& value : y) value *= 1.01;
      });
      EXPECT_FALSE(scaled.passed()) << word << ' ' << output;
      EXPECT_EQ(scaled.output, output);
      EXPECT_FALSE(verdict_with([](std::vector<double>& y) { std::swap(y[3], y[4]); }).passed());
      EXPECT_THAT(verdict_with([](std::vector<double>& y) { y.back() = std::nan(""); }).violation,
                  testing::StartsWith(output + " at "));
    }
  }
}

// Types, samples, weights and layouts of layers; passes have the convolutions' own variety.
TEST(RandomCases, OfOtherOperationsReachWhatTheyDifferIn) {
  std::set<std::string> kinds;
  bool nyquist = false, most_channels = false, many_modes = false;
  for (int number = 0; number < 400; ++number) {
    const RandomCase c = random_case(0, number, "spectral");
    const Spectral& p = *c.asked.as<Spectral>();
    EXPECT_EQ(parse_spectral(token(p)), p);
    kinds.insert(text(name(p.dtype), p.tf32, p.complex, p.shared, p.lengths.size()));
    nyquist |= !p.complex && p.modes.back() == p.lengths.back() / 2 + 1;
    most_channels |= p.inputs == 256 && p.lengths.size() == 2;
    many_modes |= p.lengths.size() == 2 && kept_on_axis(p, 1).size() > 64;
  }
  EXPECT_EQ(kinds.size(), 4u * 2 * 2 * 2);
  EXPECT_TRUE(nyquist && most_channels && many_modes);
  std::set<std::string> layouts;
  std::set<int> states;
  for (int number = 0; number < 300; ++number) {
    const RandomCase c = random_case(0, number, "shortconv");
    const ShortConvolution& p = *c.asked.as<ShortConvolution>();
    EXPECT_EQ(parse_short(token(p)), p);
    EXPECT_EQ(random_case(0, number, "shortconvgrad").asked.token(), token(ShortBackward{p}));
    layouts.insert(text(name(p.dtype), name(p.padding), p.bias, p.channels_last));
    const RandomCase of_state = random_case(0, number, "ssmconv");
    EXPECT_EQ(of_state.offsets[2] % 2, 0) << "where a complex number begins";
    states.insert(of_state.asked.as<StateSpace>()->states);
  }
  EXPECT_EQ(layouts.size(), 2u * 2 * 2 * 2);
  EXPECT_GT(states.size(), 60u);
  for (int number = 0; number < 20; ++number) {
    const Convolution p = *random_case(0, number).asked.as<Convolution>();
    if (!p.mask.empty()) continue;  // of which there are no gradients
    EXPECT_EQ(random_case(0, number, "fftconvgrad").asked.token(), token(Backward{p}));
    EXPECT_EQ(random_case(0, number, "fftconvstep").asked.token(), token(TrainingStep{p}));
  }
}

TEST(RandomCases, AreExecutedAsForTheProfilesDevices) {
  for (const auto& [device, profile] :
       {std::pair(h200(), "H200"), std::pair(h100(), "H100"), std::pair(a100(), "A100-40GB")}) {
    const Device of_profile = imitation(load_profile(profile));
    EXPECT_EQ(device.sm, of_profile.sm) << profile;
    EXPECT_EQ(device.block_bytes, of_profile.block_bytes) << profile;
    EXPECT_EQ(device.cache_bytes, of_profile.cache_bytes) << profile;
    EXPECT_EQ(device.multiprocessors, of_profile.multiprocessors) << profile;
  }
}

// Into a guard, or into an input.
TEST(RandomCases, AStrayWriteFails) {
  const auto violation_with = [](std::string_view region, int at) {
    ExecutorOptions options;
    options.observer = [&](const Launch& launch, const host::Counters&) {
      for (int i = 0; i < launch.region_count; ++i)
        if (launch.regions[i].name == region)
          static_cast<std::byte*>(const_cast<void*>(launch.regions[i].data))[at] = std::byte{0x55};
    };
    RandomCase c;
    c.asked = parse_case("fftconv_f16_causal_l104_b2_h2");
    return judge(c, executor_machine(options)).violation;
  };
  EXPECT_EQ(violation_with("nothing", 0), "");
  EXPECT_EQ(violation_with("y", -1), "memory beside y was written");
  EXPECT_EQ(violation_with("y", 2 * 2 * 2 * 104), "memory beside y was written");
  EXPECT_EQ(violation_with("u", -1), "memory beside u was written");
  EXPECT_EQ(violation_with("u", 0), "u was written");
  EXPECT_EQ(violation_with("spectrum", -1), "memory beside the prepared filters was written");
}

// An error in numbers that are known fails, and one in other numbers does not.
TEST(RandomCases, AreJudgedWhereTheirOutputsAreKnown) {
  RandomCase c;
  c.asked = parse_case("fftconv_f16_causal_l100_b2_h2");
  const Values values = random_values(c), right = truth(c.asked, values);
  const Promise promise = promise_of(c.asked, h200());
  KnownNumbers known = {{"y", std::vector<bool>(400)}};
  for (int n = 100; n < 200; ++n) known["y"][n] = true;
  Values off = right;
  off["y"][300] = std::nan("");
  EXPECT_TRUE(verdict_of(c, values, off, promise, known).passed());
  EXPECT_EQ(verdict_of(c, values, off, promise, known).known, 0.25);
  for (int n = 100; n < 200; ++n) off["y"][n] *= 1.01;
  EXPECT_FALSE(verdict_of(c, values, off, promise, known).passed());

  RandomCase large;
  large.asked = parse_case("fftconv_f16_circular_l256_b3_h700");
  const RandomVerdict some = judge(large, executor_machine({.whole_blocks = 0}));
  EXPECT_TRUE(some.passed()) << some.violation << some.clearance;
  EXPECT_GT(some.known, 0);
  EXPECT_LT(some.known, 0.5);
}

TEST(RandomCommand, PrintsItsSeedAndTheWorstCase) {
  const Ran ran = run({"random", "--count", "5", "--seed", "7"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("seed 7: 5 cases, 0 failed"));
  EXPECT_THAT(ran.out, HasSubstr("worst: number"));
  EXPECT_EQ(run({"random", "--seed", "7", "--only", "3"}).code, 0);
  EXPECT_EQ(run({"random", "--count", "0"}).code, 2);
  if (std::ranges::any_of(variants(), [](const auto& v) { return !v->compiled; })) {
    const Ran other = run({"random", "--only", "21", "--profile", "A100-40GB"});
    EXPECT_EQ(other.code, 2) << "no check failed";
    EXPECT_THAT(other.err, HasSubstr("danaus: plan: this build has not the kernel "));
    EXPECT_EQ(other.out, "");
  }
  for (const char* operation : {"fftconvgrad", "fftconvstep", "spectral", "shortconv", "shortconvgrad", "ssmconv"})
    EXPECT_EQ(run({"random", "--operation", operation, "--count", "4"}).code, 0);
  EXPECT_THAT(run({"random", "--operation", "fft"}).err, HasSubstr("must be one of fftconv"));
  EXPECT_EQ(run({"random", "--only", "3", "--count", "5"}).code, 2);
  EXPECT_THAT(run({"random", "--device", "0", "--profile", "H200"}).err, HasSubstr("must be one of them"));
}

// A state that all but decays is far below the floor of fp16: relative to it, no number says how large the error may
// be.
TEST(RandomCommand, ReadsARowWithoutABound) {
  const Folder folder;
  const std::string path = folder / "rows.jsonl";
  for (const char* times : {"once", "again"}) {
    const Ran ran = run({"random", "--operation", "ssmconv", "--seed", "72", "--only", "1199", "--json", path});
    EXPECT_EQ(ran.code, 0) << times << ran.err;
    EXPECT_THAT(read_file(path), HasSubstr("\"bound\":null"));
  }
}

}  // namespace
}  // namespace danaus
