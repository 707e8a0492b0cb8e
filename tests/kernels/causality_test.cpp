// Causality and independence of every family on the executor: what stands elsewhere changes no bits, or little.
#include <set>

#include "kernels/cpu/kernels.hpp"
#include "tests/kernels/causality_support.hpp"
#include "tests/sanitized.hpp"

namespace danaus {
namespace {

using Names = std::set<std::string, std::less<>>;

// Of a plan on the executor, for one case.
class OnExecutor {
 public:
  explicit OnExecutor(const Case& asked, Names& launched, int offset = 0, ExecutorOptions options = {})
      : asked_(asked), offset_(offset) {
    options.observer = [&](const Launch& launch, const host::Counters&) {
      launched.insert(std::string(launch.kernel.family));
    };
    const auto* p = asked.as<Convolution>();
    plan_.emplace(asked, executor_machine(options), p ? marks_of(*p) : std::vector<std::uint8_t>());
  }

  Properties properties(double scale = 1) {
    const Variant& variant = plan_->variant();
    return {asked_,
            property_of(variant, asked_),
            variant.name,
            variant.roundings(),
            [this](const Values& values) { return execute(values); },
            scale};
  }

  Values execute(const Values& values) {
    auto fields = fields_of(asked_, values, offset_, offset_);
    std::vector<Buffer> buffers;
    for (auto& [name, field] : fields) buffers.emplace_back(name, std::span(field.samples()));
    plan_->whole_call(buffers);
    return outputs_of(asked_, fields);
  }

 private:
  Case asked_;
  int offset_;
  std::optional<Plan> plan_;
};

// Decoding has a test of its own: it is given sample by sample.
Names families() {
  Names names;
  for (const KernelId& kernel : host_kernels()) names.insert(std::string(kernel.family));
  names.erase("decode");
  return names;
}

class Causality : public testing::TestWithParam<std::string> {};

TEST_P(Causality, HoldsAndRowsAreIndependent) {
  const std::vector<TestedCase> cases = cases_of(GetParam());
  ASSERT_FALSE(cases.empty()) << "no case of the family: causality_support.hpp lists them";
  if (kSanitized && cases.front().few) GTEST_SKIP() << "large";
  Names launched;
  for (const TestedCase& tested : cases) {
    OnExecutor(tested.asked, launched).properties().expect_all(middle_of(tested.asked), tested.few);
    if (kSanitized) break;
  }
  EXPECT_TRUE(launched.contains(GetParam())) << "by none of its cases";
}

TEST_P(Causality, KeepsBitsBeforeTheLargestSample) {
  Names launched;
  for (const TestedCase& tested : cases_of(GetParam()))
    if (const auto change = largest_behind(tested.asked))
      OnExecutor(tested.asked, launched).properties(kSmall).expect(*change);
}

INSTANTIATE_TEST_SUITE_P(Of, Causality, testing::ValuesIn(families()), [](const auto& info) { return info.param; });

// Wherever in a block a sample stands, of rows that begin anywhere; from stream to stream of a warp.
TEST(Causality, OfShortFiltersHoldsAtAnySample) {
  Names launched;
  for (const char* token : {"shortconv_bf16_causal_k5_l150_b2_h2", "shortconv_f16_causal_k40_l150_b2_h2_channelslast",
                            "shortconvgrad_f16_causal_k40_l150_b2_h2_postgate"}) {
    ExecutorOptions options;
    options.order = host::Order::random;
    OnExecutor plan(parse_case(token), launched, 3, options);
    const Properties properties = plan.properties();
    for (std::int64_t at = 0; at < 150; at += at < 40 && !kSanitized ? 1 : 7)
      properties.expect({.first = at, .last = at, .row = 1, .channel = 1, .value = at % 2 ? NAN : -INFINITY});
  }
  ExecutorOptions options;
  options.device.multiprocessors = 1;
  OnExecutor plan(parse_case("shortconv_f16_causal_k100_l2048_b20_h2"), launched, 0, options);
  const Properties properties = plan.properties();
  for (std::int64_t at : {0, 500, 900, 1023, 1025, 2047})  // 900: no tap reaches the second stream, but a block does
    properties.expect({.first = at, .last = at, .row = at % 20, .channel = 1, .value = NAN});
}

// Wherever in a chunk samples stand, in rows of a warp each elsewhere; of every way that the family has.
TEST(Causality, OfStatesHoldsAtAnySample) {
  struct Way {
    const char* token;
    int offset = 0, multiprocessors = 1;
  };
  Names launched;
  for (const Way& way : {Way{"ssmconv_f16_s20_l300_b5_h2"},
                         {"ssmconv_bf16_s20_l304_b5_h2_initial_final"},
                         {"ssmconv_f16_s100_l150_b17_h1"},
                         {"ssmconv_bf16_s200_l152_b5_h2"},
                         {"ssmconv_f16_s200_l150_b18_h1_initial_final"},
                         {"ssmconv_f16_s64_l300_b3_h1_t128"},
                         {"ssmconv_f16_s8_l1100_b3_h1_final", 0, 16},
                         {"ssmconv_bf16_s64_l248_b50_h1"},
                         {"ssmconv_f16_s64_l248_b50_h1_initial_final", 2},
                         {"ssmconv_f16_s64_l1040_b64_h1", 0, 16},
                         {"ssmconv_f16_s4_l20_b3_h2"}}) {
    ExecutorOptions options;
    options.order = host::Order::random, options.device.multiprocessors = way.multiprocessors;
    const Case asked = parse_case(way.token);
    OnExecutor plan(asked, launched, way.offset, options);
    const Values values = make_values(asked), before = plan.execute(values);
    const Array u = asked.arrays().front();
    const std::int64_t length = asked.as<StateSpace>()->length;
    for (std::int64_t turn = kSanitized ? 2 : 0; turn < 4; ++turn) {
      // Of every third row none; at last of one row alone, in its last chunk.
      const auto cause = [&](const Place& at) {
        if (turn == 3) return at.row == 1 ? length - 7 : length;
        const std::int64_t n = at.row == 1 ? length - 1 - 5 * turn : (53 * at.row + 37 * turn) % length;
        return at.row % 3 == 2 ? length : n;
      };
      Values spoiled = values;
      for (std::int64_t i = 0; i < u.size(); ++i)
        if (const Place at = place_of(u, i); at.n == cause(at)) spoiled.at("u")[i] = at.row % 2 ? -INFINITY : NAN;
      const std::vector<double> y = plan.execute(spoiled).at("y"), &whole = before.at("y");
      for (std::int64_t i = 0; i < u.size(); ++i) {
        const Place at = place_of(u, i);
        ASSERT_TRUE(at.n < cause(at) ? y[i] == whole[i] : !std::isfinite(y[i]))
            << way.token << ": y[" << at.n << "] of row " << at.row << " is " << y[i] << ", not " << whole[i]
            << "; the cause is at " << cause(at);
      }
    }
  }
}

// Outputs of infinities are infinite with the sign of their taps, and NaN where those differ or a tap is zero.
TEST(Causality, InfinitiesOfShortFiltersAreThoseOfTheSum) {
  Names launched;
  for (const char* token :
       {"shortconv_f16_causal_k40_l300_b1_h2", "shortconv_bf16_causal_k40_l300_b1_h8_channelslast"}) {
    const Case asked = parse_case(token);
    Values values = make_values(asked);
    const Array u = asked.arrays().front();
    for (std::int64_t i = 0; i < u.size(); ++i)
      if (const std::int64_t n = place_of(u, i).n; n == 100 || n == 120)
        values.at("u")[i] = n == 100 ? INFINITY : -INFINITY;
    values.at("k")[3] = 0;
    const std::vector<double> y = OnExecutor(asked, launched).execute(values).at("y");
    const std::vector<double> expected = truth(asked, values).at("y");
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_TRUE(std::isfinite(expected[i]) ? std::isfinite(y[i])
                  : std::isnan(y[i])         ? std::isnan(expected[i])
                                             : y[i] == expected[i])
          << token << ": y[" << i << "] is " << y[i] << ", the sum " << expected[i];
  }
}

// Sums of dy know nothing of u, and dk nothing of other channels.
TEST(Causality, OfSamplesLeavesTheBiasAlone) {
  Names launched;
  for (const char* token :
       {"shortconvgrad_f16_causal_k4_l300_b2_h2_bias", "shortconvgrad_bf16_causal_k40_l300_b2_h2_bias",
        "shortconvgrad_bf16_causal_k40_l300_b2_h8_bias_channelslast"}) {
    const Case asked = parse_case(token);
    OnExecutor plan(asked, launched);
    Values values = make_values(asked);
    const Values before = plan.execute(values);
    const Array u = asked.arrays().front();
    for (std::int64_t i = 0; i < u.size(); ++i)
      if (const Place at = place_of(u, i); at.n == 100 && at.channel == 1) values.at("u")[i] = NAN;
    Values now = plan.execute(values);
    EXPECT_EQ(now.at("du"), before.at("du")) << token;
    EXPECT_EQ(now.at("dbias"), before.at("dbias")) << token;
    const std::int64_t taps = short_of(asked)->taps;
    for (std::int64_t i = 0; i < std::ssize(now.at("dk")); ++i)
      EXPECT_TRUE(i / taps == 1 ? std::isnan(now.at("dk")[i]) : now.at("dk")[i] == before.at("dk")[i])
          << token << ": dk of channel " << i / taps << ", tap " << i % taps;
  }
}

TEST(Causality, OfDecoding) {
  expect_causal_decoding(executor_machine(), [](Decoding& decoding, Dtype dtype, const std::vector<double>& now) {
    GuardedSamples given(dtype, now, 0), taken(std::ssize(now), 0);
    decoding.next(given.samples().data(), taken.samples().data());
    return host::decode(dtype, taken.samples());
  });
}

}  // namespace
}  // namespace danaus
