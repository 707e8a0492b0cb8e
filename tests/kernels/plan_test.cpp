// Which kernel a plan takes, what it refuses, and that it can be used again and by many at once.
#include "kernels/plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <thread>

#include "kernels/cpu/machine.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/cuda/map_cache.hpp"
#include "kernels/executor/aligned.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/forwarding_machine.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

const Variant& chosen(std::string_view token, const Device& device = {}) {
  return choose(parse_convolution(token), device);
}

template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no refusal";
}

std::string refused(std::string_view token, const Device& device = {}) {
  return refusal([&] { chosen(token, device); });
}

// ---- memory

TEST(PlanBytes, AreTheSpectrumAndTheTables) {
  const Convolution p = parse_convolution("fftconv_bf16_causal_l1000_k3_b5_h7_pregate");
  const PlanBytes bytes = plan_bytes(p, Device());
  EXPECT_EQ(bytes.spectrum, 7 * (1024 + 1) * 4);  // and the factor of each channel's
  EXPECT_EQ(bytes.tables, 4 * (std::ssize(choose(p, Device()).make_tables()) + 1024 / 2 + 1024));
}

std::string out_of_memory(const std::function<void()>& action) {
  try {
    action();
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "no lack of memory";
}

// Whatever allocation it is that fails, all memory is there again, and with enough of it the same plan goes on.
TEST(PlanMemory, AFailedAllocationLeavesThePlanAsItWas) {
  const Convolution p = parse_convolution("fftconv_f16_causal_l999_k20_b3_h2_n256");
  const Inputs inputs = make_inputs(p, {});
  const std::vector<float> k(inputs.k.begin(), inputs.k.end());
  GuardedSamples u(p.dtype, inputs.u, 0), y(std::ssize(inputs.u), 0), right(std::ssize(inputs.u), 0);
  const auto call = [&](Plan& plan, GuardedSamples& result) {
    plan.set_filter(k);
    plan.execute({{"u", u.samples()}, {"y", result.samples()}});
  };
  Plan enough(p, executor_machine());
  call(enough, right);
  const std::int64_t of_filter = bytes(filter_dtype(p)) * std::ssize(k);  // of the host, as long as it is transformed
  const std::int64_t needed = enough.constant_bytes() + enough.prepared_bytes() + enough.workspace_bytes(3) + of_filter;
  int failures = 0;
  for (std::int64_t left = 0; left < needed - of_filter; left += 512) {
    const auto machine = executor_machine({.memory_bytes = needed});
    std::shared_ptr<void> others = machine->allocate(needed - left);
    std::optional<Plan> plan;
    const auto make_and_call = [&] {
      if (!plan) plan.emplace(p, machine);
      call(*plan, y);
    };
    EXPECT_THAT(out_of_memory(make_and_call), HasSubstr(" are free")) << left;
    others.reset(), ++failures;
    EXPECT_EQ(out_of_memory(make_and_call), "no lack of memory") << left;
    EXPECT_TRUE(std::ranges::equal(y.samples(), right.samples())) << left;
    plan.reset();
    EXPECT_EQ(out_of_memory([&] { machine->allocate(needed); }), "no lack of memory") << left;
  }
  EXPECT_GT(failures, 10);
}

TEST(PlanMemory, AWorkspaceThatDoesNotFitIsRefusedWithTheBatchThatWould) {
  const Convolution p = parse_convolution("fftconv_f16_causal_l999_k20_b7_h2_n256");
  constexpr std::int64_t kMemory = 1 << 20;
  const auto machine = executor_machine({.device = Device(), .memory_bytes = kMemory});
  Plan plan(p, machine);
  const Inputs inputs = make_inputs(p, {});
  plan.set_filter(std::vector<float>(inputs.k.begin(), inputs.k.end()));
  GuardedSamples u(p.dtype, inputs.u, 0), y(std::ssize(inputs.u), 0);
  // Pieces and their results: a copy of u each; six of a row each.
  const std::int64_t of_seven = 2 * (2 * 7 * 999 * 2 / 512 * 512), of_three = 2 * (3 * 2 * 6 * 512);
  ASSERT_EQ(plan.workspace_bytes(7), of_seven);
  ASSERT_EQ(plan.workspace_bytes(3), of_three);
  const auto others = machine->allocate(kMemory - plan.constant_bytes() - plan.prepared_bytes() - of_three);
  const auto execute = [&](std::int64_t batch) {
    const std::int64_t samples = batch * 2 * 999;
    plan.execute({{"u", u.samples().first(samples)}, {"y", y.samples().first(samples)}}, {.batch = batch});
  };
  EXPECT_EQ(out_of_memory([&] { execute(7); }),
            text("execute: the workspace does not fit, plan: ", of_seven, " bytes of memory of executor are needed, ",
                 of_three, " are free; the largest batch that fits is 3"));
  EXPECT_EQ(out_of_memory([&] { execute(3); }), "no lack of memory");
}

TEST(PlanMemory, AWorkspaceThatDoesNotGrowIsStillThere) {
  const Convolution p = parse_convolution("fftconv_f16_causal_l999_k20_b7_h2_n256");
  constexpr std::int64_t kMemory = 1 << 20;
  const auto machine = executor_machine({.memory_bytes = kMemory});
  Plan plan(p, machine);
  const Inputs inputs = make_inputs(p, {});
  plan.set_filter(std::vector<float>(inputs.k.begin(), inputs.k.end()));
  GuardedSamples u(p.dtype, inputs.u, 0), y(std::ssize(inputs.u), 0);
  const auto execute = [&](std::int64_t batch) {
    const std::int64_t samples = batch * 2 * 999;
    plan.execute({{"u", u.samples().first(samples)}, {"y", y.samples().first(samples)}}, {.batch = batch});
  };
  execute(3);
  const auto others =
      machine->allocate(kMemory - plan.constant_bytes() - plan.prepared_bytes() - plan.workspace_bytes(3));
  EXPECT_THAT(out_of_memory([&] { execute(7); }), HasSubstr("the largest batch that fits is 3"));
  EXPECT_THAT(out_of_memory([&] { machine->allocate(512); }), HasSubstr("0 are free")) << "the plan has it again";
  EXPECT_EQ(out_of_memory([&] { execute(3); }), "no lack of memory");
}

TEST(PlanBytes, AreOfTheCasesRows) {
  const Plan plan(parse_case("fftconv_f16_causal_l999_k20_b7_h2_n256"), executor_machine());
  EXPECT_EQ(plan.workspace_bytes(0), plan.workspace_bytes(7));
  for (const std::int64_t batch : {std::int64_t{-1}, std::int64_t{8}, std::numeric_limits<std::int64_t>::max()})
    EXPECT_EQ(refusal([&] { plan.workspace_bytes(batch); }),
              text("plan_bytes: batch=", batch, ", must be from 1 to the 7 of the plan's case"));
}

// Where channels come first the batch is no first extent, and is known all the same.
TEST(PlanBytes, OfChannelMajorLayersAreOfAllRows) {
  for (const char* token : {"spectral_f32_complex_b3_c2x4_l32_m8_shared_channelmajor",
                            "spectral_f32_complex_b3_c2x2_l16x16_m4x4_channelmajor",
                            "spectralgrad_f32_complex_b3_c2x2_l32_m8_channelmajor"}) {
    const Case asked = parse_case(token);
    EXPECT_EQ(batch_of(asked.arrays()), 3) << token;
    const Plan plan(asked, executor_machine());
    EXPECT_EQ(plan.workspace_bytes(0), plan.workspace_bytes(3)) << token;
    for (const std::int64_t batch : {std::int64_t{-1}, std::int64_t{1}, std::int64_t{2}, std::int64_t{4}})
      EXPECT_THAT(refusal([&] { plan.workspace_bytes(batch); }),
                  HasSubstr(text("plan_bytes: batch=", batch, ", must be the 3 of the plan's case, whose u is C*B*X")))
          << token;
  }
}

// ---- choice

TEST(Choice, CircularCasesAtAnFftSizeArePairedAndOthersTakeTheRightAngle) {
  const Variant& exact = chosen("fftconv_f16_circular_l768_b4_h2");
  EXPECT_EQ(exact.fold, Fold::pair);
  EXPECT_EQ(exact.size, 768);
  for (const char* half_empty : {"fftconv_f16_circular_l768_b1_h2", "fftconv_f16_circular_l4096_b1_h2_pregate"})
    EXPECT_EQ(chosen(half_empty).fold, Fold::pair);
  EXPECT_EQ(chosen("fftconv_f16_circular_l4096_b1_h2").fold, Fold::plain);  // real rows by half a spectrum
  EXPECT_EQ(chosen("fftconv_f16_circular_l4096_b1_h2_r4x8x8x2x8").fold, Fold::pair);
  EXPECT_EQ(chosen("fftconv_f16_circular_l768_b1_h2_r3x16x16_zero8x0x0").fold, Fold::pair);
  const Variant& other = chosen("fftconv_bf16_circular_l769_b4_h2");
  EXPECT_EQ(other.fold, Fold::right_angle);
  EXPECT_EQ(other.dtype, Dtype::bf16);
  EXPECT_EQ(other.size, 1024);
}

TEST(Choice, CausalCasesTakeTheSmallestSizeThatHoldsThem) {
  for (const auto& [length, size] : {std::pair(1, 256), {256, 256}, {257, 512}, {1025, 1536}, {24577, 32768}}) {
    Convolution p;
    p.mode = Mode::causal, p.length = p.filter_length = length;
    const Variant& variant = choose(p, Device());
    EXPECT_EQ(variant.size, size);
    EXPECT_EQ(variant.fold, Fold::right_angle);
  }
  EXPECT_EQ(chosen("fftconv_f16_causal_l300_k213_b1_h1_pair").size, 512);  // padded: 300 + 213 - 1
  EXPECT_EQ(chosen("fftconv_f16_causal_l300_k214_b1_h1_pair").size, 768);
  EXPECT_EQ(chosen("fftconv_f16_causal_l300_b1_h1_n2048_rightangle").size, 2048);
}

TEST(Choice, PadsNoLengthByMoreThanHalfBeyondTheSmallestSize) {
  for (int length = 257; length <= 32768; ++length) {
    const auto v = std::ranges::find_if(variants(), [=](const auto& v) { return v->size >= length; });
    ASSERT_NE(v, variants().end());
    EXPECT_LE((*v)->size, 2 * length) << length;
    if (length > 512) {
      EXPECT_LE((*v)->size, 1.5 * length) << length;
    }
  }
}

TEST(Choice, RowsBesideAlignedAddressesMayHaveAnother) {
  for (const char* type : {"f16", "bf16"}) {
    const auto factors = [&](const char* rest) { return join(chosen(text("fftconv_", type, '_', rest)).factors); };
    for (const char* unaligned : {"causal_l1559_b2_h1", "circular_l2041_b2_h1", "causal_l2047_k100_b1_h1"})
      EXPECT_EQ(factors(unaligned), "16x8x2x8") << unaligned;
    for (const char* other : {"causal_l1560_b2_h1", "causal_l2048_b2_h1", "causal_l1559_b2_h1_pregate"})
      EXPECT_EQ(factors(other), "8x8x4x8") << other;
  }
}

TEST(Choice, GatesAndFactorsSelectTheVariant) {
  EXPECT_FALSE(chosen("fftconv_f16_circular_l4096_b2_h1").gated);
  EXPECT_TRUE(chosen("fftconv_f16_circular_l4096_b2_h1_postgate").gated);
  for (const auto& v : variants())
    if (v->suits(0)) {
      EXPECT_EQ(&choose(problem_for(*v, 1, 1, full_length(*v)), Device()), v.get());
    }
}

TEST(Choice, DevicesWithLessSharedMemoryGetWhatFits) {
  for (std::size_t c = 0; c < kDeviceClasses.size(); ++c)
    for (const auto& v : variants()) {
      if (v->size == 0 || v->size > (c == 2 ? 16384 : 32768)) continue;
      for (bool gated : {false, true})
        for (Mode mode : {Mode::circular, Mode::causal}) {
          Convolution p;
          p.mode = mode, p.length = p.filter_length = v->size, p.postgate = gated;
          const Variant& variant = choose(p, device_like(c));
          EXPECT_EQ(variant.size, v->size);
          EXPECT_LE(variant.shared_bytes, kDeviceClasses[c].block_bytes);
        }
    }
}

TEST(Choice, RefusalsNameTheRuleAndWhatThereIs) {
  EXPECT_THAT(refused("fftconv_f32_causal_l100_b1_h1"), HasSubstr("dtype f32 has no kernel; f16 and bf16 have"));
  EXPECT_THAT(refused("fftconv_f16_causal_l100_b1_h1_half"), HasSubstr("the half fold has no kernel"));
  EXPECT_THAT(refused("fftconv_f16_causal_l14680065_b1_h1"),
              HasSubstr("needs an FFT of 14680065 points; the largest kernel has 14680064"));
  EXPECT_THAT(refused("fftconv_f16_causal_l8000000_b1_h1_pair"), HasSubstr("needs an FFT of 15999999 points"));
  EXPECT_THAT(refused("fftconv_f16_causal_l100_b1_h1_n1000_rightangle"),
              HasSubstr("N=1000 has no kernel; there are N = 256, 512, 768, 1024"));
  EXPECT_THAT(refused("fftconv_f16_circular_l1000_b1_h1_pair"), HasSubstr("N=1000 has no kernel"));
  EXPECT_THAT(refused("fftconv_f16_circular_l65536_b2_h1_plain_keep0to3"),
              HasSubstr("N=65536 has no kernel that masks frequencies; there are N = 2048, 3072"));
  EXPECT_THAT(refused("fftconv_f16_causal_l8000000_b2_h1_pair_keep0to3"),
              HasSubstr("points; the largest kernel that masks frequencies has 14680064"));
  EXPECT_THAT(refused("fftconv_f16_circular_l4096_b1_h1_plain_pregate"),
              HasSubstr("the plain fold has no kernel with gates; pair and rightangle have"));
  EXPECT_THAT(refused("fftconv_f16_circular_l4096_b1_h1_half"),
              HasSubstr("the half fold has no kernel; plain, pair and rightangle have"));
  EXPECT_THAT(refused("fftconv_f16_circular_l1000_k24_b1_h1_n1024_pair"),
              HasSubstr("N=1024, a circular convolution in the pair fold has N = L=1000"));
  EXPECT_THAT(refused("fftconv_f16_circular_l16384_b1_h1_r128x128"),
              HasSubstr("N=16384 has no kernel of factors 128x128; there are 16x8x16x8, 8x8x2x16x8"));
  EXPECT_THAT(refused("fftconv_f16_circular_l1024_b65536_h65536"),
              HasSubstr("B*H=4294967296, must be at most 2^31 - 1"));
  EXPECT_THAT(refused("fftconv_f16_circular_l1024_k2147483648_b1_h1"),
              HasSubstr("K=2147483648, must be at most 2^31 - 1"));
  EXPECT_THAT(
      refused("fftconv_f16_circular_l100_b1_h1_r10x10_zero1x0"),
      HasSubstr(
          "a frequency mask needs the pair fold or the plain one; a circular case has them where L is an FFT size, and "
          "L=100 is none"));
  EXPECT_EQ(refused("fftconv_f16_circular_l1024_b2_h3_n2048_keep0to3"),
            "plan: N=2048, a circular case with a frequency mask has N = L=1024");
}

TEST(Choice, DevicesThatAreTooSmallAreRefusedWithWhatFits) {
  Device device = device_like(2);
  const std::string large = refused("fftconv_f16_causal_l32768_b1_h1", device);
  EXPECT_THAT(large, HasSubstr("bytes of shared memory a block, RTX has 101376; the nearest that fits is N=16384"));
  EXPECT_THAT(large, HasSubstr("N=32768 needs 1"));
  device.block_bytes = 64 * 1024;
  EXPECT_THAT(refused("fftconv_f16_causal_l100_b1_h1", device), HasSubstr("kernels need at least 101376"));
  device = Device(), device.sm = 75;
  EXPECT_THAT(refused("fftconv_f16_causal_l100_b1_h1", device), HasSubstr("compute capability 7.5, kernels need 8.0"));
}

// ---- what a plan computes beside the variants' own cases

TEST(PlanResult, OddLengthsOffsetsAndFilters) {
  for (std::string_view token :
       {"fftconv_f16_causal_l1_b1_h1", "fftconv_bf16_circular_l1_k5_b3_h2",
        "fftconv_f16_circular_l7_k100_b2_h3_pregate", "fftconv_f16_causal_l255_k1000_b3_h1_postgate",
        "fftconv_bf16_circular_l257_k513_b1_h2_pregate_postgate", "fftconv_f16_circular_l256_k700_b5_h2",
        "fftconv_f16_causal_l300_k200_b3_h2_pair", "fftconv_f16_causal_l320_b1_h1_n1024_rightangle"})
    for (int offset : {0, 3}) expect_right(parse_convolution(token), {}, ExecutorOptions(), offset);
}

TEST(PlanResult, FrequencyMasks) {
  for (std::string_view token : {"fftconv_f16_circular_l768_b3_h2_r3x16x16_zero8x3x0",
                                 "fftconv_f16_circular_l768_b2_h1_r3x16x16_zero0x8x2literal",
                                 "fftconv_bf16_circular_l4096_b2_h1_r16x8x4x8_zero3x0x0x4"})
    expect_right(parse_convolution(token), {}, ExecutorOptions());
}

// ---- what a plan refuses to do

struct Given {
  Convolution problem;
  std::vector<float> k;
  std::vector<std::uint16_t> u, y, w;
  explicit Given(std::string_view token) : problem(parse_convolution(token)) {
    const Inputs inputs = make_inputs(problem, {});
    k.assign(inputs.k.begin(), inputs.k.end());
    u = host::encode(problem.dtype, inputs.u);
    y.resize(u.size()), w.resize(u.size());
  }
  std::vector<Buffer> buffers() { return {{"u", std::span(u)}, {"y", std::span(y)}}; }
};

TEST(PlanRefusals, Filters) {
  Given c("fftconv_f16_causal_l100_k20_b2_h3");
  Plan plan(c.problem, executor_machine());
  EXPECT_THAT(refusal([&] { plan.execute(c.buffers()); }), HasSubstr("the plan has no filter yet"));
  EXPECT_THAT(refusal([&] { plan.set_filter(std::span<const float>()); }), HasSubstr("k is null"));
  EXPECT_THAT(refusal([&] { plan.set_filter(std::span(c.k).first(59)); }),
              HasSubstr("k has 59 samples of f32, the plan needs H*K = 3*20"));
  const auto* shifted = reinterpret_cast<const float*>(reinterpret_cast<const char*>(c.k.data()) + 2);
  EXPECT_THAT(refusal([&] {
                plan.set_filter({shifted, 60});
              }),
              HasSubstr("k is not aligned to the 4 bytes of its numbers"));
  EXPECT_THAT(refusal([&] { plan.set_filter(c.k, {.stream = reinterpret_cast<Stream>(&c)}); }),
              HasSubstr("prepare: a CUDA stream is given"));
  plan.set_filter(c.k);
  EXPECT_EQ(refusal([&] { plan.execute(c.buffers()); }), "no refusal");
}

TEST(PlanRefusals, ComplexNumbersThatAreCutApart) {
  Plan plan(parse_case("spectralgrad_f32_b1_c1x1_l16_m4_shared"), executor_machine());
  std::vector<float> u(16), dy(16), du(16);
  alignas(16) std::array<float, 4> w{}, dw{};
  const Buffer weights("w", std::span<const float>(w).first(2));
  plan.prepare(std::span(&weights, 1));
  const auto refused = [&](std::size_t first) {
    return refusal([&] {
      plan.execute(
          {{"u", std::span(u)}, {"dy", std::span(dy)}, {"du", std::span(du)}, {"dw", std::span(dw).subspan(first, 2)}});
    });
  };
  EXPECT_THAT(refused(1), HasSubstr("execute: dw is not aligned to the 8 bytes of its numbers"));
  EXPECT_EQ(refused(2), "no refusal");
}

TEST(PlanRefusals, Buffers) {
  Given c("fftconv_f16_causal_l100_b2_h3");
  Plan plan(c.problem, executor_machine());
  plan.set_filter(c.k);
  plan.execute(c.buffers());
  const std::vector<std::uint16_t> right = c.y;
  using Samples = std::span<const std::uint16_t>;
  const auto refused = [&](Samples u, Samples y, const std::vector<Buffer>& others = {}, Stream stream = nullptr) {
    std::vector<Buffer> buffers = {{"u", u}, {"y", y}};
    buffers.insert(buffers.end(), others.begin(), others.end());
    return refusal([&] { plan.execute(buffers, {.stream = stream}); });
  };
  EXPECT_THAT(refused({}, c.y), HasSubstr("u is null"));
  EXPECT_THAT(refused(c.u, {}), HasSubstr("y is null"));
  EXPECT_THAT(refused(std::span(c.u).first(599), c.y),
              HasSubstr("u has 599 samples of f16, the plan needs B*H*L = 2*3*100"));
  EXPECT_THAT(refused(c.u, std::span(c.y).first(1)), HasSubstr("y has 1 samples"));
  const auto* shifted = reinterpret_cast<const std::uint16_t*>(reinterpret_cast<const char*>(c.u.data()) + 1);
  EXPECT_THAT(refused({shifted, 600}, c.y), HasSubstr("u is not aligned to the 2 bytes of its numbers"));
  EXPECT_THAT(refused(c.y, c.y), HasSubstr("y overlaps u"));
  std::vector<std::uint16_t> both(1199);
  EXPECT_THAT(refused(std::span(both).first(600), std::span(both).last(600)), HasSubstr("y overlaps u"));
  EXPECT_THAT(refused(c.u, c.y, {{"pregate", std::span(c.w)}}), HasSubstr("a pregate is given, but the plan has none"));
  EXPECT_THAT(refused(c.u, c.y, {{"postgate", std::span(c.w)}}),
              HasSubstr("a postgate is given, but the plan has none"));
  EXPECT_THAT(refused(c.u, c.y, {}, reinterpret_cast<Stream>(&c)), HasSubstr("execute: a CUDA stream is given"));
  // Usable as before.
  std::fill(c.y.begin(), c.y.end(), 0);
  plan.execute(c.buffers());
  EXPECT_EQ(c.y, right);
}

// Of both passes at once, whose launches need a workspace and share what is prepared.
TEST(PlanRefusals, OfATrainingStep) {
  const Case asked = parse_case("fftconvstep_f16_causal_l40000_b2_h1_postgate");
  Plan plan(asked, executor_machine());
  std::map<std::string, std::vector<std::byte>> memory;
  for (const Array& array : asked.arrays())
    memory[std::string(array.name)].resize(static_cast<std::size_t>(bytes(array.dtype) * array.size()));
  const auto arrays = [&](std::initializer_list<Role> roles, const std::map<std::string, void*>& elsewhere = {},
                          std::string_view without = "") {
    std::vector<Buffer> buffers;
    for (const Array& array : asked.arrays()) {
      const std::string key(array.name);
      if (std::ranges::find(roles, array.role) == roles.end() || key == without) continue;
      const auto place = elsewhere.find(key);
      buffers.emplace_back(array.name, place == elsewhere.end() ? memory.at(key).data() : place->second,
                           memory.at(key).size());
    }
    return buffers;
  };
  std::vector<std::byte> prepared(static_cast<std::size_t>(plan.prepared_bytes())),
      workspace(static_cast<std::size_t>(plan.workspace_bytes(2)));
  CallOptions own;
  own.prepared = prepared.data(), own.prepared_bytes = prepared.size();
  own.workspace = workspace.data(), own.workspace_bytes = workspace.size();
  plan.prepare(arrays({Role::filter}), own);
  const auto refused = [&](const std::vector<Buffer>& buffers, const CallOptions& options) {
    return refusal([&] { plan.execute(buffers, options); });
  };
  const auto given = [&](const std::map<std::string, void*>& elsewhere, std::string_view without = "") {
    return arrays({Role::input, Role::output}, elsewhere, without);
  };
  ASSERT_EQ(refused(given({}), own), "no refusal");
  for (const char* name : {"u", "dy", "postgate", "du", "dk", "dpostgate"})
    EXPECT_THAT(refused(given({}, name), own),
                HasSubstr(text("execute: the plan has a ", name, ", but none is given")));
  EXPECT_THAT(refused(given({{"du", memory.at("dpostgate").data()}}), own), HasSubstr("du overlaps dpostgate"));
  EXPECT_THAT(refused(given({{"du", memory.at("u").data()}}), own), HasSubstr("du overlaps u"));
  EXPECT_THAT(refused(given({{"du", workspace.data()}}), own), HasSubstr("execute: du overlaps the workspace"));
  EXPECT_THAT(refused(given({{"dy", workspace.data()}}), own), HasSubstr("dy overlaps the workspace"));
  EXPECT_THAT(refused(given({{"dk", prepared.data()}}), own), HasSubstr("execute: dk overlaps prepared"));
  CallOptions same = own;
  same.workspace = prepared.data();
  EXPECT_THAT(refused(given({}), same), HasSubstr("prepared overlaps the workspace"));
  CallOptions small = own;
  --small.workspace_bytes;
  EXPECT_THAT(refused(given({}), small),
              HasSubstr(text("the workspace has ", workspace.size() - 1, " bytes, the call")));
  std::vector<Buffer> twice = given({});
  twice.push_back(twice.front());
  EXPECT_THAT(refused(twice, own), HasSubstr(text("a ", twice.front().name, " is given twice")));
  std::vector<Buffer> gated = given({});
  gated.emplace_back("dpregate", memory.at("u").data(), memory.at("u").size());
  EXPECT_THAT(refused(gated, own), HasSubstr("a dpregate is given, but the plan has none"));
  EXPECT_EQ(refused(given({}), own), "no refusal") << "as before";
}

TEST(PlanRefusals, Gates) {
  Given c("fftconv_f16_causal_l100_b2_h3_pregate_postgate");
  Plan plan(c.problem, executor_machine());
  plan.set_filter(c.k);
  const auto refused = [&](const char* gate, std::vector<std::uint16_t>* samples, const char* other = nullptr,
                           std::vector<std::uint16_t>* other_samples = nullptr) {
    std::vector<Buffer> buffers = c.buffers();
    buffers.emplace_back(gate, std::span(*samples));
    if (other) buffers.emplace_back(other, std::span(*other_samples));
    return refusal([&] { plan.execute(buffers); });
  };
  EXPECT_THAT(refused("postgate", &c.w), HasSubstr("the plan has a pregate, but none is given"));
  EXPECT_THAT(refused("pregate", &c.w), HasSubstr("the plan has a postgate, but none is given"));
  EXPECT_THAT(refused("pregate", &c.w, "postgate", &c.y), HasSubstr("y overlaps postgate"));
  EXPECT_EQ(refused("pregate", &c.u, "postgate", &c.u), "no refusal");  // inputs may be one
}

TEST(PlanRefusals, Masks) {
  const Convolution plain = parse_convolution("fftconv_f16_circular_l1024_b2_h1");
  const Convolution masked = parse_convolution("fftconv_f16_circular_l768_b2_h1_r3x16x16_zero8x0x0");
  EXPECT_THAT(refusal([&] { Plan(plain, executor_machine(), kept_frequencies(masked)); }),
              HasSubstr("the case removes no frequencies"));
  EXPECT_THAT(refusal([&] { Plan(masked, executor_machine()); }),
              HasSubstr("the case removes some frequencies, but 0 marks"));
  EXPECT_THAT(refusal([&] { Plan(masked, executor_machine(), std::vector<std::uint8_t>(512)); }),
              HasSubstr("512 frequencies, must be 768"));
  const Convolution by_passes = parse_convolution("fftconv_f16_circular_l65536_b2_h1_keep0to3");
  EXPECT_THAT(refusal([&] { Plan(by_passes, executor_machine(), std::vector<std::uint8_t>(512, 1)); }),
              HasSubstr("plan: the mask is of 512 frequencies, must be 65536 as N of "));
}

TEST(PlanRefusals, CudaWhereThereIsNone) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is a CUDA device";
  EXPECT_THAT(refusal([] { cuda_machine(); }), HasSubstr("CUDA device 0"));
}

// ---- use

TEST(Plan, TakesAnotherFilterAndMoves) {
  Given c("fftconv_f16_causal_l100_b2_h3");
  Plan plan(c.problem, executor_machine());
  plan.set_filter(std::vector<float>(c.k.size(), 0.f));
  plan.execute(c.buffers());
  EXPECT_EQ(c.y, std::vector<std::uint16_t>(c.y.size()));
  plan.set_filter(c.k);
  Plan moved = std::move(plan);
  moved.execute(c.buffers());
  EXPECT_EQ(
      compare(convolve(c.problem, make_inputs(c.problem, {}), Algorithm::fftw), host::decode(Dtype::f16, c.y)).finite,
      true);
  EXPECT_NE(c.y, std::vector<std::uint16_t>(c.y.size()));
  EXPECT_EQ(moved.description(),
            moved.variant().name + ": N=256 = 16 x 16, " + std::to_string(moved.variant().threads) + " threads and " +
                std::to_string(moved.variant().shared_bytes) + " bytes of shared memory a block, on executor (H200)");
}

TEST(Plan, OneServesManyFiltersOfTheCallersAndSmallerBatches) {
  Given c("fftconv_f16_causal_l100_b3_h3");
  Plan plan(c.problem, executor_machine());
  // Spectra, factors, and from an even word on the ranges.
  ASSERT_EQ(plan.prepared_bytes(), 4 * (3 * 256 + 3 + 1 + 3 * 2));
  const host::AlignedArray<std::uint32_t> first(plan.prepared_bytes() / 4), second(plan.prepared_bytes() / 4);
  const std::vector<float> zeros(c.k.size(), 0.f);
  const auto in = [&](const host::AlignedArray<std::uint32_t>& memory) {
    return CallOptions{.prepared = memory.data(), .prepared_bytes = 4 * memory.all().size()};
  };
  plan.set_filter(c.k, in(first));
  plan.set_filter(zeros, in(second));
  EXPECT_THAT(refusal([&] { plan.execute(c.buffers()); }), HasSubstr("the plan has no filter yet"));
  plan.execute(c.buffers(), in(first));
  const std::vector<std::uint16_t> right = c.y;
  plan.set_filter(c.k);
  plan.execute(c.buffers());
  EXPECT_EQ(c.y, right);
  // Two rows of three: those that are not asked for stay as they are.
  const std::size_t two_rows = c.y.size() / 3 * 2;
  std::fill(c.y.begin(), c.y.end(), 7);
  const std::vector<Buffer> some = {{"u", std::span(c.u).first(two_rows)}, {"y", std::span(c.y).first(two_rows)}};
  plan.execute(some, {.batch = 2});
  EXPECT_TRUE(std::equal(c.y.begin(), c.y.begin() + two_rows, right.begin()));
  EXPECT_TRUE(std::all_of(c.y.begin() + two_rows, c.y.end(), [](std::uint16_t word) { return word == 7; }));
  EXPECT_THAT(refusal([&] { plan.execute(some); }),
              HasSubstr("u has 600 samples of f16, the plan needs B*H*L = 3*3*100"));
  EXPECT_THAT(refusal([&] { plan.execute(some, {.batch = 4}); }), HasSubstr("batch=4, must be from 1 to the 3"));
  plan.execute(c.buffers(), in(second));
  EXPECT_EQ(c.y, std::vector<std::uint16_t>(c.y.size()));
  // Not those of another plan, nor less memory than it takes.
  Given other("fftconv_bf16_causal_l100_b3_h3");
  Plan another(other.problem, executor_machine());
  EXPECT_THAT(refusal([&] {
                CallOptions options = in(first);
                options.prepared_for = plan.layout();
                another.execute(other.buffers(), options);
              }),
              HasSubstr("prepared has the layout " + plan.layout()));
  EXPECT_THAT(refusal([&] { plan.execute(c.buffers(), {.prepared = first.data(), .prepared_bytes = 100}); }),
              HasSubstr("prepared has 100 bytes, the plan needs 3112"));
}

TEST(Plan, OneCallPreparesAndExecutes) {
  Given c("fftconv_f16_causal_l100_kf16_b2_h3");
  const std::vector<std::byte> k = host::encode_bytes(Dtype::f16, make_inputs(c.problem, {}).k);
  Plan plan(c.problem, executor_machine());
  plan.set_filter(k);
  plan.execute(c.buffers());
  const std::vector<std::uint16_t> right = c.y;
  std::fill(c.y.begin(), c.y.end(), 0);
  Plan fresh(c.problem, executor_machine());
  std::vector<Buffer> all = c.buffers();
  EXPECT_THAT(refusal([&] { fresh.whole_call(all); }), HasSubstr("the plan has a k, but none is given"));
  all.emplace_back("k", std::span(k));
  fresh.whole_call(all);
  EXPECT_EQ(c.y, right);
  // What is wrong is found before the filter is another.
  const std::vector<std::byte> zeros(k.size());
  all.back() = Buffer("k", std::span(zeros));
  all.front() = Buffer("u", std::span(c.u).first(1));
  EXPECT_THAT(refusal([&] { fresh.whole_call(all); }), HasSubstr("whole_call: u has 1 samples of f16"));
  fresh.execute(c.buffers());
  EXPECT_EQ(c.y, right);
}

// The executor with memory that is not the machine's, but for `filter` of the host.
class Elsewhere final : public ForwardingMachine {
 public:
  explicit Elsewhere(const void* filter) : ForwardingMachine(executor_machine()), filter_(filter) {}
  mutable int questions = 0, launches = 0;

  std::uint64_t capture_id(Stream) const override { return ++questions, 0; }
  bool is_host_memory(const char* operation, const char* what, const void* data) const override {
    ++questions;
    if (data != filter_) fail(operation, ": ", what, " is elsewhere");
    return true;
  }
  void check_stream(const char* operation, Stream stream) const override {
    ++questions;
    if (stream) fail(operation, ": the stream is elsewhere");
  }
  void launch(const Launch& launch, Stream stream) const override {
    ++launches, ForwardingMachine::launch(launch, stream);
  }

 private:
  const void* filter_;
};

TEST(Plan, AsksForPlacesBeforeAnyWorkUnlessTheCallerVouches) {
  Given c("fftconv_f16_causal_l100_b2_h3");
  const auto machine = std::make_shared<Elsewhere>(c.k.data());
  Plan plan(c.problem, machine);
  std::vector<Buffer> all = c.buffers();
  all.emplace_back("k", std::span(c.k));
  const auto stream = reinterpret_cast<Stream>(&c);
  const host::AlignedArray<std::uint32_t> memory(plan.prepared_bytes() / 4);
  CallOptions options{.prepared = memory.data(), .prepared_bytes = 4 * memory.all().size()};
  const auto refused = [&] { return refusal([&] { plan.whole_call(all, options); }); };
  options.stream = stream;
  EXPECT_EQ(refused(), "whole_call: the stream is elsewhere");
  options.stream = nullptr;
  EXPECT_EQ(refused(), "whole_call: prepared is elsewhere");
  options.prepared = nullptr;
  EXPECT_EQ(refused(), "whole_call: u is elsewhere");
  EXPECT_EQ(refusal([&] { plan.set_filter(c.k, {.stream = stream}); }), "prepare: the stream is elsewhere");
  EXPECT_EQ(machine->launches, 0);
  plan.set_filter(c.k);  // of the host: copied
  EXPECT_EQ(refusal([&] { plan.execute(c.buffers()); }), "execute: u is elsewhere");
  EXPECT_EQ(machine->launches, 1);

  options = {.stream = stream, .prepared = memory.data(), .prepared_bytes = 4 * memory.all().size(), .vouched = true};
  machine->questions = 0;
  plan.whole_call(all, options);
  plan.set_filter(std::as_bytes(std::span(c.k)), options);
  plan.execute(c.buffers(), options);
  EXPECT_EQ(machine->questions, 0);
  EXPECT_EQ(machine->launches, 5);
  EXPECT_EQ(
      compare(convolve(c.problem, make_inputs(c.problem, {}), Algorithm::fftw), host::decode(Dtype::f16, c.y)).finite,
      true);
  // What is not a place is checked as ever.
  const auto with = [&](std::string_view name, const Buffer& buffer) {
    std::vector<Buffer> others = all;
    *std::ranges::find(others, name, &Buffer::name) = buffer;
    return refusal([&] { plan.whole_call(others, options); });
  };
  EXPECT_THAT(with("u", {"u", std::span(c.u).first(599)}), HasSubstr("whole_call: u has 599 samples of f16"));
  EXPECT_THAT(with("u", {"u", nullptr, 1200}), HasSubstr("whole_call: u is null"));
  EXPECT_THAT(with("k", {"k", std::span(c.k).first(1)}), HasSubstr("whole_call: k has 1 samples of f32"));
  EXPECT_THAT(with("y", {"y", std::span(c.u)}), HasSubstr("whole_call: y overlaps u"));
  EXPECT_THAT(with("y", {"y", c.k.data(), 1200}), HasSubstr("whole_call: y overlaps k"));
  EXPECT_THAT(with("u", {"w", std::span(c.u)}), HasSubstr("whole_call: a w is given, but the plan has none"));
  options.prepared_bytes = 100;
  EXPECT_THAT(refused(), HasSubstr("whole_call: prepared has 100 bytes"));
  EXPECT_EQ(machine->launches, 5);
}

TEST(MapCache, HasMapsOfTheirOwnShapeAndAddress) {
  int made = 0;
  const auto make = [&](const TensorShape& shape, const void* data) {
    TensorMap map{};
    const std::uint64_t words[] = {reinterpret_cast<std::uintptr_t>(data), shape.extent[4], shape.stride[3],
                                   shape.box[2]};
    std::memcpy(map.opaque, words, sizeof(words));
    return ++made, map;
  };
  MapCache cache;
  const auto expect_own = [&](const TensorShape& shape, const void* data) {
    const TensorMap map = cache.get(shape, data, make);
    const TensorMap own = make(shape, data);
    --made;
    EXPECT_EQ(std::memcmp(&map, &own, sizeof(map)), 0);
  };
  std::vector<unsigned char> memory(1000);
  TensorShape shape{{64, 4, 1, 8, 2}, {1, 64, 256, 256, 2048}, {64, 4, 1, 1, 1}};
  for (int i = 0; i < 3; ++i) expect_own(shape, memory.data());
  EXPECT_EQ(made, 1);
  TensorShape of_batch = shape, of_rows = shape, of_box = shape;
  of_batch.extent[4] = 3, of_rows.stride[3] = 512, of_box.box[2] = 2;
  for (int i = 0; i < 2; ++i)
    for (const TensorShape& other : {shape, of_batch, of_rows, of_box})
      for (const unsigned char& data : memory) expect_own(other, &data);  // more than there are places
  // One that cannot be made leaves no map behind.
  const auto fails = [](const TensorShape&, const void*) -> TensorMap { throw std::runtime_error("no map"); };
  expect_own(shape, memory.data());
  EXPECT_THROW(cache.get(of_batch, memory.data(), fails), std::runtime_error);
  EXPECT_THROW(cache.get(of_batch, memory.data(), fails), std::runtime_error);
  expect_own(shape, memory.data());
}

TEST(Plan, ExecutesFromManyThreadsAtOnce) {
  Given c("fftconv_f16_circular_l4096_b2_h1");
  Plan plan(c.problem, executor_machine());
  plan.set_filter(c.k);
  plan.execute(c.buffers());
  std::vector<std::vector<std::uint16_t>> results(4, std::vector<std::uint16_t>(c.y.size()));
  std::vector<std::thread> threads;
  for (auto& result : results)
    threads.emplace_back([&] { plan.execute({{"u", std::span(c.u)}, {"y", std::span(result)}}); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, c.y);
}

TEST(Plan, CountsTheWorkOfTheKernel) {
  // One pair of 4096 points: 64 tiles in each of 4 stages each way, and the squares of each of 4 units; u and y once; a
  // complex spectrum of halves.
  Given c("fftconv_f16_circular_l4096_b2_h1_r16x8x4x8");
  host::Counters counters;
  Plan plan(c.problem, executor_machine({.observer = [&](const Launch&, const host::Counters& of) { counters = of; }}));
  plan.set_filter(c.k);
  plan.execute(c.buffers());
  EXPECT_EQ(counters.mma_f16acc, 512u + 4);
  EXPECT_EQ(counters.mma_f32acc, 0u);
  EXPECT_EQ(counters.bulk_load_bytes, 2u * 4096 * 2);
  EXPECT_EQ(counters.bulk_store_bytes, 2u * 4096 * 2);
  EXPECT_EQ(counters.global_store_sectors, 0u);
  EXPECT_GE(32 * counters.global_load_sectors, 4u * 4096);
}

}  // namespace
}  // namespace danaus
