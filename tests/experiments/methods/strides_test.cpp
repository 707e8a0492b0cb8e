// Rows with strides: slices of one array that holds all of them, rows with gaps, in every way of moving rows. Results
// are those of contiguous rows, bit for bit, and nothing between rows is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "experiments/methods/execution.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/device/halves.hpp"
#include "kernels/plan/plan.hpp"
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

void expect_as_contiguous(const Case& asked, const std::vector<RowStrides>& strides, const std::string& what) {
  const Values values = make_values(asked, {});
  const auto machine = executor_machine();
  const Execution right = execute(asked, values, machine), strided = execute(asked, values, machine, {}, strides);
  EXPECT_EQ(strided.violation, "") << asked.token() << ", " << what;
  EXPECT_EQ(strided.outputs, right.outputs) << asked.token() << ", " << what;
}

class Strides : public testing::TestWithParam<const char*> {};

TEST_P(Strides, GiveTheResultsOfContiguousRows) {
  const Case asked = parse_case(GetParam());
  const std::int64_t length = convolution_of(asked)->length;
  const std::int64_t whole = 8 - length % 8;  // to where the next chunk begins
  const auto expect = [&](const std::string& what, auto gaps) {
    expect_as_contiguous(asked, strides_of(asked, gaps), what);
  };
  expect("channels between others'", [&](std::size_t) { return Gaps{2 * length, 0}; });
  expect("batch rows between others'", [&](std::size_t) { return Gaps{0, 40}; });
  expect("each array its own", [&](std::size_t i) { return Gaps{static_cast<std::int64_t>(8 * i), 24}; });
  expect("at whole chunks", [&](std::size_t) { return Gaps{whole % 8, 8}; });
  expect("at any samples", [&](std::size_t i) { return Gaps{static_cast<std::int64_t>(3 * i + 1), 5}; });
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

// The gradients of a projection's three parts are slices of one array, as the parts are.
TEST(Strides, OfPartsOfOneArray) {
  const Case asked = parse_case("fftconvgrad_f16_causal_l256_b2_h2_pregate_postgate");
  const Values values = make_values(asked, {});
  const auto machine = executor_machine();
  const Execution right = execute(asked, values, machine);
  Plan plan(asked, machine);
  const std::vector<double>& k = values.at("k");
  plan.set_filter(std::vector<float>(k.begin(), k.end()));
  constexpr int kRow = 256, kRows = 2, kChannels = 2, kPart = kChannels * kRow;
  constexpr RowStrides kStrides{3 * kPart, kRow};
  std::vector<std::uint16_t> z(3 * kRows * kPart + 8), dz(z.size()), dy(kRows * kPart + 8);
  std::vector<float> dk(k.size());
  const auto begin = [](std::vector<std::uint16_t>& values) {
    return values.data() + 8 - reinterpret_cast<std::uintptr_t>(values.data()) % 16 / 2 % 8;
  };
  const char* const inputs[] = {"pregate", "u", "postgate"};
  const char* const outputs[] = {"dpregate", "du", "dpostgate"};
  for (int part = 0; part < 3; ++part)
    for (int i = 0; i < kRows * kPart; ++i)
      begin(z)[(i / kPart * 3 + part) * kPart + i % kPart] =
          host::encode<Dtype::f16>(static_cast<float>(values.at(inputs[part])[i]));
  for (int i = 0; i < kRows * kPart; ++i)
    begin(dy)[i] = host::encode<Dtype::f16>(static_cast<float>(values.at("dy")[i]));
  const std::size_t reach = 2 * (3 * kPart * (kRows - 1) + kPart);
  std::vector<Buffer> buffers = {{"dy", begin(dy), 2 * kRows * kPart}, {"dk", std::span(dk)}};
  for (int part = 0; part < 3; ++part) {
    buffers.emplace_back(inputs[part], begin(z) + part * kPart, reach, kStrides);
    buffers.emplace_back(outputs[part], begin(dz) + part * kPart, reach, kStrides);
  }
  plan.execute(buffers);
  for (int part = 0; part < 3; ++part)
    for (int i = 0; i < kRows * kPart; ++i)
      ASSERT_EQ(host::decode<Dtype::f16>(begin(dz)[(i / kPart * 3 + part) * kPart + i % kPart]),
                right.outputs.at(outputs[part])[i])
          << outputs[part] << ' ' << i;
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
  EXPECT_EQ(refusal("fftconv_f16_circular_l256_b2_h3", "y", {700, 256}, 2 * 1536),
            "execute: rows of y share samples, with strides of 700 and 256 for rows of 256");
  EXPECT_EQ(refusal("shortconv_f16_causal_k3_l256_b2_h3", "u", {768, 256}, 2 * 1536),
            "execute: u [B*H*L] has strides, must be contiguous");
  EXPECT_EQ(refusal("fftconv_f16_circular_l256_b2_h3", "k", {768, 256}, 4 * 3 * 256),
            "prepare: k [H*K] has strides, must be contiguous");
}

}  // namespace
}  // namespace danaus
