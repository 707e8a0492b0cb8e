// Rows with strides: slices of one array that holds all of them, rows with gaps, in every way of moving rows. Nothing
// between rows is written, and results are those of contiguous rows: bit for bit where rows begin at whole chunks, as
// contiguous ones do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "experiments/methods/execution.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/device/halves.hpp"
#include "kernels/plan/plan.hpp"
#include "kernels/plan/promise.hpp"
#include "reference/half.hpp"
#include "reference/judge.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

struct Gaps {
  std::int64_t channel, row;  // samples behind a row, and behind the last channel's
};

std::vector<RowStrides> strides_of(const Case& asked, const std::function<Gaps(std::size_t)>& gaps) {
  std::vector<RowStrides> strides;
  for (const Array& array : asked.arrays()) {
    const bool is_rows = array.shape == "B*H*L";
    const Gaps behind = is_rows ? gaps(strides.size()) : Gaps{};
    const std::int64_t channel = is_rows ? array.extents[2] + behind.channel : 0;
    strides.push_back(is_rows ? RowStrides{array.extents[1] * channel + behind.row, channel} : RowStrides{});
  }
  return strides;
}

// Every second batch row is so quiet that its item is computed once more.
Values with_quiet_rows(const Case& asked) {
  Values values = make_values(asked, {});
  for (const Array& array : asked.arrays()) {
    if (array.name != "u" && array.name != "dy") continue;
    std::vector<double>& rows = values.find(array.name)->second;
    const std::size_t of_batch_row = rows.size() / static_cast<std::size_t>(array.extents[0]);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (i / of_batch_row % 2 == 1)
        rows[i] = round_to(array.dtype, rows[i] * (array.dtype == Dtype::f16 ? 1e-6 : 1e-30));
  }
  return values;
}

void expect_right(const Case& asked, const Values& values, const std::vector<RowStrides>& strides, bool same_bits,
                  const std::string& what) {
  const auto machine = executor_machine();
  const Execution done = execute(asked, values, machine, {}, strides);
  EXPECT_EQ(done.violation, "") << asked.token() << ", " << what;
  const Verdict verdict = verdict_on(asked, values, done.outputs, promise_of(asked, machine->device()));
  for (const OutputVerdict& of : verdict.outputs)
    EXPECT_TRUE(of.passed) << asked.token() << ", " << what << ": " << of.output << ' ' << of.reason;
  if (same_bits) EXPECT_EQ(done.outputs, execute(asked, values, machine).outputs) << asked.token() << ", " << what;
}

class Strides : public testing::TestWithParam<const char*> {};

TEST_P(Strides, GiveTheResultsOfContiguousRows) {
  const Case asked = parse_case(GetParam());
  const std::int64_t length = convolution_of(asked)->length;
  const bool whole = length % 8 == 0;
  const auto expect = [&](const std::string& what, bool same_bits, auto gaps) {
    for (const Values& values : {make_values(asked, {}), with_quiet_rows(asked)})
      expect_right(asked, values, strides_of(asked, gaps), same_bits, what);
  };
  expect("channels between others'", whole, [&](std::size_t) { return Gaps{2 * length, 0}; });
  expect("batch rows between others'", true, [&](std::size_t) { return Gaps{0, 40}; });
  expect("each array its own", whole, [&](std::size_t i) { return Gaps{static_cast<std::int64_t>(8 * i), 24}; });
  expect("at whole chunks", false, [&](std::size_t) { return Gaps{7 - (length + 7) % 8, 8}; });
  expect("at any samples, all alike", false, [&](std::size_t) { return Gaps{2, 6}; });
  expect("at any samples", false, [&](std::size_t i) { return Gaps{static_cast<std::int64_t>(3 * i + 1), 5}; });
}

// Chains, exchanges with gates in a ring and without, clusters, outer passes, pieces in rows and cut, all gradients by
// one kernel and by several; aligned lengths, and lengths whose rows are enclosed, overhang or go by threads.
INSTANTIATE_TEST_SUITE_P(
    Of, Strides,
    testing::Values("fftconv_f16_circular_l256_b3_h2", "fftconv_bf16_causal_l250_b3_h2_pregate_postgate",
                    "fftconv_f16_causal_l255_k300_b2_h3", "fftconv_f16_causal_l1024_b3_h2_pregate_postgate",
                    "fftconv_bf16_circular_l1000_b3_h2_pregate", "fftconv_f16_causal_l1021_b2_h2_postgate",
                    "fftconv_f16_circular_l4096_b2_h2_pregate_postgate", "fftconv_f16_causal_l4097_k90_b2_h2",
                    "fftconv_f16_causal_l3000_k100_b3_h2_n512_pregate_postgate",
                    "fftconv_bf16_causal_l2700_k100_b2_h3_n512", "fftconvgrad_f16_causal_l256_b3_h2_pregate_postgate",
                    "fftconvgrad_bf16_circular_l300_b3_h2", "fftconvgrad_f16_causal_l1024_b2_h2_pregate_postgate",
                    "fftconvgrad_bf16_causal_l5000_b2_h2_postgate", "fftconvstep_f16_causal_l1000_b3_h2_pregate"),
    [](const auto& info) { return std::string(info.param); });

INSTANTIATE_TEST_SUITE_P(OfLarge, Strides,
                         testing::Values("fftconv_f16_circular_l65536_k300_b2_h1",
                                         "fftconv_f16_causal_l49152_k300_b2_h1_pregate_postgate",
                                         "fftconvgrad_f16_causal_l40000_k300_b2_h1"),
                         [](const auto& info) { return std::string(info.param); });

// A case, the outputs of contiguous rows, and a plan that has the filter.
struct ContiguousRun {
  explicit ContiguousRun(const char* token)
      : asked(parse_case(token)),
        values(make_values(asked, {})),
        right(execute(asked, values, executor_machine())),
        plan(asked, executor_machine()) {
    const std::vector<double>& k = values.at("k");
    plan.set_filter(std::vector<float>(k.begin(), k.end()));
  }
  Case asked;
  Values values;
  Execution right;
  Plan plan;
};

// The gradients of a projection's three parts are slices of one array, as the parts are.
TEST(Strides, OfPartsOfOneArray) {
  ContiguousRun of("fftconvgrad_f16_causal_l256_b2_h2_pregate_postgate");
  constexpr int kRow = 256, kRows = 2, kChannels = 2, kPart = kChannels * kRow;
  constexpr RowStrides kStrides{3 * kPart, kRow};
  std::vector<std::uint16_t> z(3 * kRows * kPart + 8), dz(z.size()), dy(kRows * kPart + 8);
  std::vector<float> dk(of.values.at("k").size());
  const auto begin = [](std::vector<std::uint16_t>& values) {
    return values.data() + 8 - reinterpret_cast<std::uintptr_t>(values.data()) % 16 / 2 % 8;
  };
  const char* const inputs[] = {"pregate", "u", "postgate"};
  const char* const outputs[] = {"dpregate", "du", "dpostgate"};
  for (int part = 0; part < 3; ++part)
    for (int i = 0; i < kRows * kPart; ++i)
      begin(z)[(i / kPart * 3 + part) * kPart + i % kPart] =
          host::encode<Dtype::f16>(static_cast<float>(of.values.at(inputs[part])[i]));
  for (int i = 0; i < kRows * kPart; ++i)
    begin(dy)[i] = host::encode<Dtype::f16>(static_cast<float>(of.values.at("dy")[i]));
  const std::size_t reach = 2 * (3 * kPart * (kRows - 1) + kPart);
  std::vector<Buffer> buffers = {{"dy", begin(dy), 2 * kRows * kPart}, {"dk", std::span(dk)}};
  for (int part = 0; part < 3; ++part) {
    buffers.emplace_back(inputs[part], begin(z) + part * kPart, reach, kStrides);
    buffers.emplace_back(outputs[part], begin(dz) + part * kPart, reach, kStrides);
  }
  of.plan.execute(buffers);
  for (int part = 0; part < 3; ++part)
    for (int i = 0; i < kRows * kPart; ++i)
      ASSERT_EQ(host::decode<Dtype::f16>(begin(dz)[(i / kPart * 3 + part) * kPart + i % kPart]),
                of.right.outputs.at(outputs[part])[i])
          << outputs[part] << ' ' << i;
}

// Rows of y lie between those of u, in one array that has both.
TEST(Strides, OfAnOutputBetweenAnInputsRows) {
  for (const char* token : {"fftconv_f16_causal_l256_b3_h2", "fftconv_f16_causal_l1024_b2_h2_postgate"}) {
    ContiguousRun of(token);
    const auto& p = *of.asked.as<Convolution>();
    const std::int64_t part = p.channels * p.length, row = 2 * part;
    std::vector<std::uint16_t> z(row * p.batch), gate(part * p.batch);
    const auto bits = [&](double value) { return host::encode<Dtype::f16>(static_cast<float>(value)); };
    for (std::int64_t i = 0; i < part * p.batch; ++i) {
      z[i / part * row + i % part] = bits(of.values.at("u")[i]);
      if (p.postgate) gate[i] = bits(of.values.at("postgate")[i]);
    }
    const std::size_t reach = 2 * (row * (p.batch - 1) + part);
    std::vector<Buffer> buffers = {{"u", z.data(), reach, {row, p.length}},
                                   {"y", z.data() + part, reach, {row, p.length}}};
    if (p.postgate) buffers.emplace_back("postgate", gate.data(), 2 * gate.size());
    of.plan.execute(buffers);
    for (std::int64_t i = 0; i < part * p.batch; ++i)
      ASSERT_EQ(z[i / part * row + part + i % part], bits(of.right.outputs.at("y")[i])) << token << ' ' << i;
  }
}

std::string refusal(const char* token, std::string_view name, const RowStrides& strides, std::size_t bytes) {
  const Case asked = parse_case(token);
  Plan plan(asked, executor_machine());
  std::vector<std::vector<std::byte>> memory;
  std::vector<Buffer> filters, others;
  for (const Array& array : asked.arrays()) {
    const auto size = static_cast<std::size_t>(danaus::bytes(array.dtype) * array.size());
    const bool is_it = array.name == name;
    memory.emplace_back(is_it ? std::max(bytes, size) : size);
    (array.role == Role::filter ? filters : others)
        .emplace_back(array.name, memory.back().data(), is_it ? bytes : size, is_it ? strides : RowStrides{});
  }
  try {
    plan.prepare(filters);
    plan.execute(others);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no refusal";
}

TEST(Strides, ThatCannotBeAreRefused) {
  const auto of_u = [](const RowStrides& strides, std::size_t bytes) {
    return refusal("fftconv_f16_circular_l256_b2_h3", "u", strides, bytes);
  };
  EXPECT_EQ(of_u({768, 256}, 2 * 1536), "no refusal");
  EXPECT_EQ(of_u({0, 256}, 2 * 1536), "execute: u has strides of 0 and 256 samples, must be at least 1");
  EXPECT_EQ(of_u({768, -256}, 2 * 1536), "execute: u has strides of 768 and -256 samples, must be at least 1");
  EXPECT_THAT(of_u({std::int64_t{1} << 41, 256}, 2 * 1536), HasSubstr("must be at most 2^40"));
  EXPECT_EQ(of_u({800, 256}, 2 * 1567), "execute: u has 3134 bytes, its rows reach over 3136");
  EXPECT_EQ(refusal("fftconv_f16_causal_l10_b2_h1", "y", {5, 1}, 2 * 20),
            "execute: rows of y share samples, with strides of 5 and 1 for rows of 10");
  EXPECT_THAT(refusal("fftconv_f16_causal_l2_b8388608_h1", "u", {std::int64_t{1} << 40, 2}, 128),
              HasSubstr("must reach over at most 2^60"));
  EXPECT_EQ(refusal("fftconv_f16_circular_l256_b2_h3", "y", {700, 256}, 2 * 1536),
            "execute: rows of y share samples, with strides of 700 and 256 for rows of 256");
  EXPECT_EQ(refusal("shortconv_f16_causal_k3_l256_b2_h3", "u", {768, 256}, 2 * 1536),
            "execute: u has strides, which shortconv_f16_causal_k3_l256_b2_h3 does not take");
  EXPECT_EQ(refusal("fftconv_f16_circular_l256_b2_h3", "k", {768, 256}, 4 * 3 * 256),
            "prepare: k [H*K] has strides, must be contiguous");
}

}  // namespace
}  // namespace danaus
