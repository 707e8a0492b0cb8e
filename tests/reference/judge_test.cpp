// The one judge, with faults planted: each row is seen by itself, which an error over all rows does not show.
#include "reference/judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "reference/convolution/terms.hpp"
#include "reference/half.hpp"
#include "reference/row_terms.hpp"

namespace danaus {
namespace {

// Where number n of a row lies.
std::int64_t place_of(const RowOrder& order, std::int64_t row, std::int64_t n) {
  return order.first(row) + n * order.inner;
}

// As of a kernel of 12 roundings.
constexpr Promise kKernel = {.roundings = {12, 12, 12, 32}};

constexpr const char* kTokens[] = {
    "fftconv_f16_causal_l300_k77_b3_h4_pregate_postgate",
    "fftconv_f16_circular_l256_b4_h3",
    "fftconvgrad_f16_causal_l300_k40_b3_h4_pregate_postgate",
    "fftconvstep_f16_circular_l256_b4_h3",
    "spectral_f16_b4_c3x5_l64_m8",
    "spectral_f32_tf32_complex_b3_c4x6_l32_m8_shared_channelmajor",
    "spectralgrad_f16_complex_b4_c3x5_l32_m8",
    "shortconv_f16_same_k9_l300_b3_h4",
    "shortconv_f16_causal_k5_l200_b3_h8_postgate_channelslast",
    "shortconvgrad_f16_causal_k12_l300_b3_h4_pregate",
    "shortconvgrad_f16_same_k12_l300_b3_h4_channelslast",
    "ssmconv_f16_s5_l300_b3_h4_final",
};

// Of inputs of one case: rows of item 0 of the batch are 1/10 as loud, and so are those of channel 0.
Values with_quiet_rows(const Case& asked) {
  Values values = make_values(asked);
  for (const Array& array : asked.arrays()) {
    if (array.name != "u" && array.name != "dy") continue;
    const RowOrder order = row_order(array);
    std::vector<double>& numbers = values.at(std::string(array.name));
    for (std::int64_t row = 0; row < order.rows(); ++row) {
      const std::int64_t last = row % order.axes[1].extent, first = row / order.axes[1].extent;
      const double scale = (first == 0 ? 0.1 : 1) * (last == 0 ? 0.1 : 1);
      for (std::int64_t n = 0; n < order.length; ++n)
        numbers[order.first(row) + n * order.inner] =
            round_to(array.dtype, scale * numbers[order.first(row) + n * order.inner]);
    }
  }
  return values;
}

// Outputs as a kernel gives them that rounds once.
Values rounded(const Case& asked, Values outputs) {
  for (const Array& array : asked.arrays())
    if (array.role == Role::output)
      for (double& value : outputs.at(std::string(array.name))) value = round_to(array.dtype, value);
  return outputs;
}

bool passes_by_norm(const OutputVerdict& verdict) {
  return within(verdict.all, verdict.bound, bound_max(verdict.bound, verdict.samples));
}

class PlantedFaults : public testing::TestWithParam<const char*> {
 protected:
  PlantedFaults()
      : asked_(parse_case(GetParam())),
        inputs_(with_quiet_rows(asked_)),
        judge_(judge_of(asked_)),
        expected_(judge_->expected(inputs_)),
        terms_(judge_->terms(inputs_, kKernel)),
        right_(rounded(asked_, expected_.outputs)) {}

  // Of one output with this change, which is given its numbers and the order of its rows.
  template <class Change>
  OutputVerdict with(const OutputTerms& of, Change change) const {
    Values outputs = right_;
    change(outputs.at(std::string(of.name)), of.order);
    const Verdict verdict = verdict_on(*judge_, inputs_, outputs, expected_, terms_);
    for (const OutputVerdict& other : verdict.outputs) EXPECT_TRUE(other.passed || other.output == of.name);
    return *std::ranges::find(verdict.outputs, of.name, &OutputVerdict::output);
  }

  Case asked_;
  Values inputs_;
  std::unique_ptr<const Judge> judge_;
  Expected expected_;
  std::vector<OutputTerms> terms_;
  Values right_;
};

TEST_P(PlantedFaults, RightOutputsPass) {
  const Verdict verdict = verdict_on(*judge_, inputs_, right_, expected_, terms_);
  EXPECT_EQ(verdict.outputs.size(), right_.size());
  EXPECT_EQ(verdict.known, 1);
  for (const OutputVerdict& of : verdict.outputs) {
    EXPECT_TRUE(of.passed) << of.output << ' ' << of.clearance << ' ' << of.row.place << ' ' << of.reason;
    EXPECT_LE(of.row.clearance, of.clearance);
  }
}

// One row by 1 %; the quietest, where an error over all rows shows nothing of it.
TEST_P(PlantedFaults, AQuietRowWrongByOnePercent) {
  for (const OutputTerms& of : terms_) {
    const OutputVerdict verdict = with(of, [](std::vector<double>& y, const RowOrder& order) {
      for (std::int64_t n = 0; n < order.length; ++n) y[place_of(order, 0, n)] *= 1.01;
    });
    if (of.order.length == 1) continue;  // a single number may err by three times what many may: dbias
    EXPECT_FALSE(verdict.passed) << of.name;
    EXPECT_TRUE(passes_by_norm(verdict)) << of.name;
    EXPECT_EQ(verdict.row.place, of.order.place(0));
    EXPECT_NE(verdict.reason.find(text(of.name, " at ", verdict.row.place)), std::string::npos) << verdict.reason;
  }
}

TEST_P(PlantedFaults, TwoRowsSwapped) {
  for (const OutputTerms& of : terms_) {
    const OutputVerdict verdict = with(of, [](std::vector<double>& y, const RowOrder& order) {
      for (std::int64_t n = 0; n < order.length; ++n)
        std::swap(y[place_of(order, 0, n)], y[place_of(order, order.rows() - 1, n)]);
    });
    EXPECT_FALSE(verdict.passed) << of.name;
  }
}

TEST_P(PlantedFaults, ANumberThatIsNone) {
  for (const OutputTerms& of : terms_)
    for (double value : {std::nan(""), double{INFINITY}}) {
      const OutputVerdict verdict = with(of, [=](std::vector<double>& y, const RowOrder& order) {
        y[place_of(order, order.rows() - 1, order.length - 1)] = value;
      });
      EXPECT_FALSE(verdict.passed) << of.name;
      EXPECT_EQ(verdict.row.place, of.order.place(of.order.rows() - 1));
    }
}

TEST_P(PlantedFaults, NothingAtAll) {
  for (const OutputTerms& of : terms_) {
    EXPECT_FALSE(with(of, [](std::vector<double>& y, const RowOrder&) { std::ranges::fill(y, 0); }).passed) << of.name;
    const OutputVerdict of_row = with(of, [](std::vector<double>& y, const RowOrder& order) {
      for (std::int64_t n = 0; n < order.length; ++n) y[place_of(order, 0, n)] = 0;
    });
    EXPECT_FALSE(of_row.passed) << of.name;
  }
}

TEST_P(PlantedFaults, OneSampleOfMany) {
  for (const OutputTerms& of : terms_) {
    if (of.order.length < 100) continue;
    const OutputVerdict verdict = with(of, [](std::vector<double>& y, const RowOrder& order) {
      double square = 0;
      for (std::int64_t n = 0; n < order.length; ++n) square += std::pow(y[place_of(order, 0, n)], 2);
      y[place_of(order, 0, 7)] += 0.1 * std::sqrt(square / static_cast<double>(order.length));
    });
    EXPECT_FALSE(verdict.passed) << of.name;
  }
}

TEST_P(PlantedFaults, OutputsOfAnotherSizeAreRefused) {
  Values outputs = right_;
  outputs.begin()->second.pop_back();
  EXPECT_THROW(verdict_on(*judge_, inputs_, outputs, expected_, terms_), std::invalid_argument);
  outputs.erase(outputs.begin());
  EXPECT_THROW(verdict_on(*judge_, inputs_, outputs, expected_, terms_), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Operations, PlantedFaults, testing::ValuesIn(kTokens));

// y of one convolution, with errors of white noise at 0.33 of the bound, as kernels have them.
class NoisyRows {
 public:
  explicit NoisyRows(const std::string& token) : asked_(parse_case(token)) {
    inputs_ = make_values(asked_), judge_ = judge_of(asked_), expected_ = judge_->expected(inputs_);
  }
  // The largest gain of one row, minus 1, that still passes.
  double largest_fault(const Promise& promise) const {
    const std::vector<OutputTerms> terms = judge_->terms(inputs_, promise);
    const OutputTerms& of = terms.front();
    std::mt19937_64 random;
    std::normal_distribution<double> gaussian;
    const std::vector<double>& right = expected_.outputs.at("y");
    std::vector<double> noisy = right;
    for (std::int64_t row = 0; row < of.order.rows(); ++row)
      for (std::int64_t n = 0; n < of.order.length; ++n)
        noisy[of.order.first(row) + n * of.order.inner] +=
            0.33 * of.bounds[row] * of.summed[row] / std::sqrt(double(of.order.length)) * gaussian(random);
    double passes = 0, fails = 1;
    for (int step = 0; step < 12; ++step) {
      const double fault = (passes + fails) / 2;
      std::vector<double> y = noisy;
      for (std::int64_t n = 0; n < of.order.length; ++n) y[place_of(of.order, 1, n)] *= 1 + fault;
      (verdict_on(*judge_, inputs_, {{"y", y}}, expected_, terms).passed() ? passes : fails) = fault;
    }
    return fails;
  }

 private:
  Case asked_;
  Values inputs_;
  std::unique_ptr<const Judge> judge_;
  Expected expected_;
};

// The bound of 12 roundings in f16, 0.17 %, is what one row may be off by, however many there are.
TEST(Judge, OneRowIsSeenAmongAnyNumber) {
  for (const char* batch : {"2", "16", "256"}) {
    const NoisyRows rows(text("fftconv_f16_circular_l4096_b", batch, "_h1"));
    EXPECT_LT(rows.largest_fault(kKernel), 0.002) << batch;
    Promise pairs = kKernel;
    pairs.shared_rows = 2;
    EXPECT_LT(rows.largest_fault(pairs), 0.003) << batch;
    EXPECT_GT(rows.largest_fault(pairs), rows.largest_fault(kKernel)) << batch;
  }
}

struct OneCase {
  OneCase(const char* token, Values changed) : asked(parse_case(token)), inputs(make_values(asked)) {
    for (auto& [name, values] : changed) inputs[name] = values;
    outputs = truth(asked, inputs);
  }
  OutputVerdict verdict(const Promise& promise) const {
    return verdict_on(asked, inputs, outputs, promise).outputs.front();
  }
  Case asked;
  Values inputs, outputs;
};

// A row beside a loud one errs by what both have, where a kernel does not keep them apart.
TEST(Judge, RowsOfAPairAreRelativeToBothWhereTheyAreNotKeptApart) {
  OneCase c("fftconv_f16_circular_l64_b3_h1", {});
  std::vector<double>& u = c.inputs.at("u");
  for (int n = 0; n < 64; ++n) u[n] *= 0.01;
  c.outputs = truth(c.asked, c.inputs);
  const Promise together = {.roundings = {12}, .shared_rows = 2, .keeps_rows_apart = false};
  const Promise apart = {.roundings = {12}, .shared_rows = 2};
  const auto with_row_off = [&](int row, double by, const Promise& promise) {
    OneCase off = c;
    for (int n = 0; n < 64; ++n) off.outputs.at("y")[64 * row + n] *= n % 2 == 0 ? 1 + by : 1 - by;
    return off.verdict(promise);
  };
  EXPECT_TRUE(with_row_off(0, 0.05, together).passed);
  EXPECT_FALSE(with_row_off(0, 0.5, together).passed);
  const OutputVerdict verdict = with_row_off(0, 0.05, apart);
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.row.place, "b=0, h=0");
  EXPECT_FALSE(with_row_off(1, 0.01, together).passed) << "the loud one errs by itself";
  EXPECT_FALSE(with_row_off(2, 0.01, together).passed) << "without a partner";
  Promise all = together;
  all.shared_rows = 0;
  EXPECT_TRUE(with_row_off(0, 0.05, all).passed);
}

// A row of numbers below half of f16's least step is rounded to zeros. No number ten times as large may be.
TEST(Judge, RowsBelowTheLeastStepMayBeZero) {
  for (const auto& [scale, is_right] : {std::pair(0x1p-28, true), {0x1p-22, false}}) {
    OneCase c("fftconv_f16_circular_l1024_k1_b1_h2", {});
    for (int n = 0; n < 1024; ++n) c.inputs.at("u")[n] = scale * (n % 7 - 3);
    c.outputs = truth(c.asked, c.inputs);
    std::fill_n(c.outputs.at("y").begin(), 1024, 0);
    EXPECT_EQ(c.verdict({.roundings = {12}}).passed, is_right) << scale;
  }
}

// The same where a filter removes nearly all of a row, and beside another row that is lost.
TEST(Judge, CancelledRowsBelowTheLeastStepMayBeZero) {
  OneCase c("fftconv_f16_circular_l1024_k2_b2_h1", {});
  c.inputs.at("k") = {1, -1 + 0x1p-10};
  std::fill_n(c.inputs.at("u").begin(), 2048, 0x1p-16);  // y is 2^-26
  c.outputs = truth(c.asked, c.inputs);
  std::ranges::fill(c.outputs.at("y"), 0);
  EXPECT_TRUE(c.verdict({.roundings = {12}}).passed) << c.verdict({.roundings = {12}}).clearance;
}

// A gate that lets one sample through shows an error of the whole row there.
TEST(Judge, ASparseGateShowsErrorsOfTheRowBeforeIt) {
  for (const char* token : {"fftconv_f16_causal_l1024_b1_h1_postgate", "fftconvgrad_f16_causal_l1024_b1_h1_pregate"}) {
    OneCase c(token, {});
    std::ranges::fill(c.inputs.at("k"), 1. / 32);
    const bool forward = c.asked.as<Convolution>();
    for (const char* rows : {"u", "dy"})
      if (c.inputs.contains(rows)) std::ranges::fill(c.inputs.at(rows), 1);
    const int seen = forward ? 0 : 1023;  // where the fewest samples were summed
    std::vector<double>& gate = c.inputs.at(forward ? "postgate" : "pregate");
    std::ranges::fill(gate, 0), gate[seen] = 1;
    c.outputs = truth(c.asked, c.inputs);
    const auto with_error = [&](double share) {  // of the bound of the row before the gate, whose rms is 32 / sqrt(3)
      OneCase off = c;
      off.outputs.at(forward ? "y" : "du")[seen] += share * bound_l2_of_roundings(Dtype::f16, 12) * 32 / std::sqrt(3);
      return off.verdict(kKernel);
    };
    EXPECT_TRUE(with_error(1).passed) << token << ' ' << with_error(1).clearance;
    EXPECT_FALSE(with_error(8).passed) << token << ' ' << with_error(8).clearance;
  }
}

// Errors of a spike's transform are alike at neighbouring frequencies, and those of its result are at few samples.
TEST(Judge, ErrorsOfASpikeAreFew) {
  const auto terms = [](const char* token, bool is_spike) {
    const Case asked = parse_case(token);
    Values inputs = make_values(asked);
    if (is_spike) std::ranges::fill(inputs.at("u"), 0), inputs.at("u")[7] = 1;
    if (inputs.contains("k")) std::ranges::fill(inputs.at("k"), 0), inputs.at("k")[2] = 1;
    if (inputs.contains("postgate")) std::ranges::fill(inputs.at("postgate"), 0), inputs.at("postgate")[500] = 1;
    return judge_of(asked)->terms(inputs, kKernel).front();
  };
  constexpr const char* kMasked = "fftconv_f16_circular_l1024_b1_h1_keep100to110";
  EXPECT_EQ(terms(kMasked, true).frequencies.front(), 2);
  EXPECT_GT(terms(kMasked, false).frequencies.front(), 10);
  EXPECT_NEAR(terms("fftconv_f16_circular_l1024_k5_b1_h1_postgate", true).summed.front(), 1, 1e-9);
}

// One weight for all frequencies sums up errors that are alike there.
TEST(Judge, ASharedWeightSeesAllErrorsOfTwoSpikes) {
  const auto summed = [](const char* token, int samples) {
    const Case asked = parse_case(token);
    Values inputs = make_values(asked);
    for (const char* name : {"u", "dy"}) {
      std::vector<double>& row = inputs.at(name);
      std::ranges::fill(row, 0), std::fill_n(row.begin() + 5, samples, 1 / std::sqrt(samples));
    }
    return judge_of(asked)->terms(inputs, kKernel).back().summed.front();
  };
  const double of_one = summed("spectralgrad_f16_b1_c1x1_l256_m64_shared", 1);
  EXPECT_NEAR(of_one / summed("spectralgrad_f16_b1_c1x1_l256_m64", 1), 8, 1e-6) << "of 64 frequencies";
}

// An initial state adds to the first samples, until it has decayed. Its errors are there.
TEST(Judge, AnInitialStateErrsInTheFirstSamples) {
  OneCase c("ssmconv_f16_s1_l10000_b1_h1_initial", {});
  std::ranges::fill(c.inputs.at("u"), 0);
  c.inputs.at("a") = {0.9, 0}, c.inputs.at("c") = {0, 1}, c.inputs.at("x_initial") = {100, 0};
  c.outputs = truth(c.asked, c.inputs);
  const double bound = judge_of(c.asked)->bound("y", kKernel.roundings);
  const auto with_error = [&](double share) {  // beside parts of 90 that are imaginary
    OneCase off = c;
    off.outputs.at("y")[1] += share * bound * 90;
    return off.verdict(kKernel);
  };
  EXPECT_TRUE(with_error(1).passed) << with_error(1).clearance;
  EXPECT_FALSE(with_error(8).passed) << with_error(8).clearance;
}

// What a row reads beside a NaN says how its errors add up.
TEST(Judge, NanLeavesAConstantRowOneFrequency) {
  std::vector<double> row(100, 2);
  row[50] = std::nan("");
  EXPECT_NEAR(independent_frequencies(row), 1, 0.1);
  row[50] = std::numeric_limits<double>::infinity();
  EXPECT_NEAR(independent_samples(row), 99, 1e-9);
  OneCase c("shortconv_bf16_causal_k3_l1000_b1_h1", {});
  std::ranges::fill(c.inputs.at("u"), 1), c.inputs.at("u")[900] = std::nan("");
  c.outputs = truth(c.asked, c.inputs);
  const double bound = bound_l2_of_roundings(Dtype::bf16, 2);
  double summed = 0;
  for (double tap : c.inputs.at("k")) summed += tap * tap;
  for (int n = 0; n < 900; ++n) c.outputs.at("y")[n] += 2 * bound * std::sqrt(summed);  // a tap, rounded once for all
  EXPECT_TRUE(c.verdict({.roundings = {2}, .nonfinite_reach = 0}).passed);
}

// Errors of a constant row are few independent numbers: all at one place, or all in phase.
TEST(Judge, RowsOfOneFrequencyLeaveFewErrors) {
  const auto independent = [](const char* token, std::string_view output, bool is_constant) {
    const Case asked = parse_case(token);
    Values inputs = make_values(asked);
    if (is_constant) std::ranges::fill(inputs.at("u"), 1);
    const std::vector<OutputTerms> all = judge_of(asked)->terms(inputs, kKernel);
    const OutputTerms& terms = *std::ranges::find(all, output, &OutputTerms::name);
    return std::min(terms.samples[0], terms.frequencies[0]);
  };
  for (const auto& [token, output] : {std::pair("spectralgrad_f16_b1_c1x1_l256_m64", "dw"),
                                      {"ssmconv_f16_s12_l100_b1_h1_final", "x_final"},
                                      {"shortconvgrad_bf16_causal_k64_l4096_b1_h1_postgate", "dk"}}) {
    EXPECT_LT(independent(token, output, true), 5) << token;
    EXPECT_GT(independent(token, output, false), 15) << token;
  }
}

// Of a row that is judged before its NaN, what was summed there counts.
TEST(Judge, CountsWhatWasSummedWhereItJudges) {
  OneCase c("shortconv_f16_causal_k2_l100000_b1_h1", {});
  c.inputs.at("k") = {1, -1};
  std::vector<double>& u = c.inputs.at("u");
  std::ranges::fill(u, 0), std::fill_n(u.begin(), 400, 1), u[500] = std::nan("");
  c.outputs = truth(c.asked, c.inputs);
  const double bound = bound_l2_of_roundings(Dtype::f16, 2);
  for (int n = 0; n < 400; ++n) c.outputs.at("y")[n] += (n % 4 < 2 ? 0.8 : -0.8) * bound * std::sqrt(2);
  const OutputVerdict verdict = c.verdict({.roundings = {2}, .nonfinite_reach = 0});
  EXPECT_TRUE(verdict.passed) << verdict.row.clearance;
}

// Rows that read NaN show it, and no other row does.
TEST(Judge, NanStaysInItsRow) {
  OneCase c("fftconv_f16_circular_l64_b4_h2", {});
  const auto row_of = [](std::vector<double>& values, int row) { return std::span(values).subspan(64 * row, 64); };
  row_of(c.inputs.at("u"), 2)[5] = std::nan("");  // b=1, h=0
  c.outputs = truth(c.asked, c.inputs);
  const Promise apart = {.roundings = {12}, .shared_rows = 2};
  Promise together = apart;
  together.keeps_rows_apart = false;
  EXPECT_TRUE(c.verdict(apart).passed);
  EXPECT_EQ(c.verdict(apart).samples, 7 * 64);
  EXPECT_EQ(c.verdict(together).samples, 6 * 64);
  OneCase crossed = c;
  std::ranges::fill(row_of(crossed.outputs.at("y"), 0), std::nan(""));  // b=0, h=0
  EXPECT_TRUE(crossed.verdict(together).passed);
  EXPECT_FALSE(crossed.verdict(apart).passed);
  OneCase hidden = c;
  std::ranges::fill(row_of(hidden.outputs.at("y"), 2), 0);
  EXPECT_FALSE(hidden.verdict(apart).passed);
  EXPECT_EQ(hidden.verdict(apart).row.place, "b=1, h=0");
  KnownNumbers half = {{"y", std::vector<bool>(8 * 64, true)}};  // it may show where nobody looked
  std::fill_n(half.at("y").begin() + 2 * 64, 32, false);
  EXPECT_TRUE(verdict_on(hidden.asked, hidden.inputs, hidden.outputs, apart, {.known = half}).passed());
}

// A kernel that promises so shows NaN where its taps reach, and is judged elsewhere in the row.
TEST(Judge, NanShowsAsFarAsPromised) {
  OneCase c("shortconv_f16_causal_k4_l100_b2_h2", {});
  c.inputs.at("u")[150] = std::nan("");  // b=0, h=1, n=50
  c.outputs = truth(c.asked, c.inputs);
  Promise promise = {.roundings = {2}, .nonfinite_reach = 0};
  EXPECT_TRUE(c.verdict(promise).passed);
  EXPECT_EQ(c.verdict(promise).samples, 400 - 4);
  const auto with = [&](int i, double value) {
    OneCase off = c;
    off.outputs.at("y")[i] = value;
    return off.verdict(promise).passed;
  };
  EXPECT_FALSE(with(152, 1)) << "which the NaN reaches";
  EXPECT_FALSE(with(149, std::nan(""))) << "before its cause";
  EXPECT_FALSE(with(154, std::nan(""))) << "beyond the last tap";
  EXPECT_FALSE(with(110, 50));
  promise.nonfinite_reach = 2;
  EXPECT_TRUE(with(155, std::nan("")));
  EXPECT_FALSE(with(156, std::nan("")));
  promise.nonfinite_reach = kWholeRow;
  EXPECT_TRUE(with(110, std::nan("")));
  EXPECT_FALSE(with(10, std::nan(""))) << "another row";
}

// A row's samples before its NaN are judged, and what was summed to them counts, over all rows too.
TEST(Judge, CountsWhatARowSumsBeforeItsNan) {
  OneCase c("shortconv_f16_causal_k4_l1000_b2_h1", {});
  for (int n = 0; n < 1000; ++n) c.inputs.at("u")[n] *= 0.01, c.inputs.at("u")[1000 + n] = n % 2 == 0 ? 1 : -0.6;
  c.inputs.at("k") = {1, 1, 0, 0};
  c.inputs.at("u")[1900] = std::nan("");
  c.outputs = truth(c.asked, c.inputs);
  const Promise promise = {.roundings = {2}, .nonfinite_reach = 0};
  const double few = independent_frequencies(std::span(c.inputs.at("u")).last(1000));  // two
  const double error = 0.7 * excess_of_few(few) * bound_l2_of_roundings(Dtype::f16, 2) * std::sqrt(1.36);
  for (int n = 0; n < 900; ++n) c.outputs.at("y")[1000 + n] += n % 4 < 2 ? error : -error;
  const OutputVerdict verdict = c.verdict(promise);
  EXPECT_TRUE(verdict.passed) << verdict.reason << verdict.all.rel_l2 << ' ' << verdict.bound;
  EXPECT_NEAR(verdict.row.clearance, 0.7, 0.05);
  for (int n = 0; n < 900; ++n) c.outputs.at("y")[1000 + n] += n % 4 < 2 ? error : -error;
  EXPECT_FALSE(c.verdict(promise).passed);
}

// Products of two spikes are one number. Few taps may see all of its error, though they see a small share of the lags.
TEST(Judge, TapsSeeAllErrorsOfTwoSpikes) {
  const auto terms = [](int spikes) {
    std::vector<double> u(1000), dy(1000);
    for (int i = 0; i < spikes; ++i) u[10 * i] = dy[500 + 7 * i] = 3;
    const Case asked = parse_case("fftconvgrad_f16_circular_l1000_k10_b1_h1");
    return judge_of(asked)->terms({{"u", u}, {"k", std::vector<double>(10)}, {"dy", dy}}, kKernel).back();
  };
  EXPECT_NEAR(terms(1).summed.front(), 9, 1e-3);
  EXPECT_NEAR(terms(1).samples.front(), 1, 1e-9);
  EXPECT_NEAR(terms(5).summed.front(), 9 * 5 * 0.2, 1e-3) << "a product of 25";
  EXPECT_NEAR(terms(50).summed.front(), 9 * 50 * 0.1, 1e-2) << "ten lags of 1000";
  EXPECT_NEAR(terms(50).samples.front(), 2500 * 0.01, 1e-9);
}

// The sum over the batch has every row; other channels have none of it.
TEST(Judge, NanOfARowIsThatOfItsChannelsSums) {
  OneCase c("fftconvgrad_f16_causal_l32_b2_h3", {});
  c.inputs.at("u")[32 * 4] = INFINITY;  // b=1, h=1
  c.outputs = truth(c.asked, c.inputs);
  const Verdict verdict = verdict_on(c.asked, c.inputs, c.outputs, kKernel);
  for (const OutputVerdict& of : verdict.outputs) {
    EXPECT_TRUE(of.passed) << of.output << of.reason;
    EXPECT_EQ(of.samples, of.output == "dk" ? 2 * 32 : 6 * 32) << "du is of dy and k alone";
  }
  OneCase other = c;
  other.outputs.at("dk")[0] = std::nan("");
  EXPECT_FALSE(verdict_on(other.asked, other.inputs, other.outputs, kKernel).passed());
}

// A constant row is one number, which may err by three times the rms of many.
TEST(Judge, ARowOfOneFrequencyErrsAsOneNumber) {
  const auto passes = [](double u_of_odd, double gain) {
    std::vector<double> u(2 * 256, 1);
    for (std::size_t n = 1; n < u.size(); n += 2) u[n] = u_of_odd;
    std::vector<double> k(256, 0);
    k[3] = 1;
    OneCase c("fftconv_f16_circular_l256_b2_h1", {{"u", u}, {"k", k}});
    for (double& y : c.outputs.at("y")) y *= gain;
    return c.verdict(kKernel).passed;
  };
  const double bound = bound_l2_of_roundings(Dtype::f16, 12);
  for (double odd : {1., -1.}) {
    EXPECT_TRUE(passes(odd, 1 + 2 * bound)) << odd;
    EXPECT_FALSE(passes(odd, 1 + 4 * bound)) << odd;
  }
  EXPECT_FALSE(passes(0.3, 1 + 4 * bound));
}

// Small numbers of f16 are multiples of 2^-24, silent rows zeros.
TEST(Judge, AllowsTheRoundingOfTheSmallestNumbersOnce) {
  OneCase c("fftconv_f16_causal_l512_b2_h1", {});
  for (int n = 0; n < 512; ++n) c.inputs.at("u")[n] = round_to(Dtype::f16, 1e-6 * c.inputs.at("u")[n]);
  for (int n = 512; n < 1024; ++n) c.inputs.at("u")[n] = 0;
  c.outputs = rounded(c.asked, truth(c.asked, c.inputs));
  EXPECT_TRUE(c.verdict(kKernel).passed) << c.verdict(kKernel).reason;
  EXPECT_GT(c.verdict(kKernel).row.error, 0.01);
  for (int n = 0; n < 512; ++n) c.outputs.at("y")[n] += 0x1p-24;
  EXPECT_FALSE(c.verdict(kKernel).passed);
  for (int n = 0; n < 512; ++n) c.outputs.at("y")[n] -= 0x1p-24;
  c.outputs.at("y")[700] = 0x1p-20;
  EXPECT_FALSE(c.verdict(kKernel).passed);
  EXPECT_EQ(c.verdict(kKernel).row.place, "b=1, h=0");
}

// A state that decays below what fp32 has may be zero.
TEST(Judge, AllowsWhatFp32Loses) {
  OneCase c("ssmconv_f16_s1_l1000_b1_h1_initial_final",
            {{"u", std::vector<double>(1000)}, {"a", {0.8, 0}}, {"b", {1, 0}}, {"c", {1, 0}}, {"x_initial", {1, 1}}});
  EXPECT_GT(c.outputs.at("x_final")[0], 0);
  const auto verdict = [&] { return verdict_on(c.asked, c.inputs, c.outputs, kKernel); };
  c.outputs.at("x_final") = {0, 0};
  EXPECT_TRUE(verdict().passed());
  c.outputs.at("x_final") = {1e-20, 0};
  EXPECT_FALSE(verdict().passed());
}

// What is known of outputs is judged, and the rest is not.
TEST(Judge, KnowsWhatWasComputed) {
  OneCase c("fftconv_f16_causal_l100_b2_h2", {});
  KnownNumbers known = {{"y", std::vector<bool>(400)}};
  for (int n = 100; n < 150; ++n) known["y"][n] = true;
  c.outputs.at("y")[160] = std::nan("");
  const auto verdict = [&] { return verdict_on(c.asked, c.inputs, c.outputs, kKernel, {.known = known}); };
  EXPECT_TRUE(verdict().passed());
  EXPECT_EQ(verdict().known, 0.125);
  EXPECT_EQ(verdict().outputs.front().samples, 50);
  c.outputs.at("y")[120] += 1;
  EXPECT_FALSE(verdict().passed());
  EXPECT_EQ(verdict().outputs.front().all.worst, 120);
  known["y"].assign(400, false);
  EXPECT_TRUE(verdict().outputs.empty());
  EXPECT_FALSE(verdict().passed());
}

// Errors of an old sample decay with the state that has it.
TEST(Judge, TheRecurrencesBoundGrowsAsFarAsAStateRemembers) {
  const Case asked = parse_case("ssmconv_f16_s1_l1000000_b1_h2_final");
  Values inputs = make_values(asked);
  inputs["a"] = {0.99, 0, 1, 0};
  const Promise by_steps = {.roundings = {1, 0, 0, 1}};
  const std::vector<OutputTerms> terms = judge_of(asked)->terms(inputs, by_steps);
  EXPECT_NEAR(terms[1].bounds[0], std::hypot(100 * 0x1p-24, 10 * 0x1p-23), 1e-6) << "of x_final";
  EXPECT_NEAR(terms[1].bounds[1], 1e6 * 0x1p-24, 1e-3);
  EXPECT_EQ(judge_of(asked)->bound("x_final", by_steps.roundings), terms[1].bounds[1]);
}

// The row is constant, the pole turns three times in a chunk, and a chunk leaves d of a state. Errors' squares then add
// up to (1 + d) / (1 - d) times those of noise.
TEST(Judge, KnowsWhatRepeatedErrorsSumToAState) {
  const double kept = 0.999, chunk = 32, angle = 2 * std::numbers::pi * 3 / chunk, d = std::pow(kept, chunk);
  const Values inputs = {{"u", std::vector<double>(32000, 1)},
                         {"a", {kept * std::cos(angle), kept * std::sin(angle)}},
                         {"b", {2, 0}},
                         {"c", {1, 0}}};
  const auto summed = [&](int samples, int output) {
    const Promise promise = {.roundings = {4, 0, 0, samples}};
    return judge_of(parse_case("ssmconv_f16_s1_l32000_b1_h1_final"))->terms(inputs, promise)[output].summed.front();
  };
  EXPECT_NEAR(summed(1, 1), 1, 1e-9);
  EXPECT_NEAR(summed(31, 1), 1, 1e-9);
  EXPECT_NEAR(summed(32, 1), std::sqrt((1 + d) / (1 - d)), 1e-3);
  EXPECT_NEAR(summed(32, 0) / summed(1, 0), std::sqrt((1 + d) / (1 - d)), 0.4);
}

// A phase that never turns has all of its square in the real part.
TEST(Judge, KnowsWhatFewSamplesOfAStateSum) {
  const Case asked = parse_case("ssmconv_bf16_s1_l1_b1_h1");
  const Values inputs = {{"u", {3}}, {"a", {0.5, 0.5}}, {"b", {2, 0}}, {"c", {1, 0}}};
  EXPECT_DOUBLE_EQ(judge_of(asked)->terms(inputs, {}).front().summed.front(), 6);
}

// An error in a state that decays at once shows beside one that does not.
TEST(Judge, ComparesStatesByTheirSizes) {
  const Case asked = parse_case("ssmconv_f16_s2_l1000_b1_h1_final");
  Values inputs = make_values(asked);
  inputs["a"] = {0, 0, 0.9999, 0}, inputs["b"] = {1, 0, 1, 0};
  const std::vector<double> compared =
      judge_of(asked)->compared(inputs, {{"x_final", {0.5, 0, 20, 0}}}).find("x_final")->second;
  EXPECT_DOUBLE_EQ(compared[0], 0.5);
  EXPECT_LT(compared[2], 1);
}

TEST(Judge, FftwsBoundIsLargerForLargePrimes) {
  const double smooth = fftw_bound(parse_convolution("fftconv_f64_circular_l1048576_b1_h1"));
  const double prime = fftw_bound(parse_convolution("fftconv_f64_circular_l1048573_b1_h1"));
  EXPECT_NEAR(prime / smooth, 2, 0.1);
  EXPECT_NEAR(fftw_bound(parse_convolution("fftconv_f64_circular_l13_b1_h1")) /
                  fftw_bound(parse_convolution("fftconv_f64_circular_l17_b1_h1")),
              0.5, 0.1);
}

TEST(Rows, ArePlacedByTheirShapes) {
  const auto order = [](const char* token, int array) { return row_order(parse_case(token).arrays()[array]); };
  const RowOrder rows = order("fftconv_f16_causal_l100_k7_b2_h3", 0);
  EXPECT_EQ(rows.rows(), 6);
  EXPECT_EQ(place_of(rows, 4, 2), 402);
  EXPECT_EQ(rows.place(4), "b=1, h=1");
  const RowOrder taps = order("fftconv_f16_causal_l100_k7_b2_h3", 1);
  EXPECT_EQ(taps.length, 7);
  EXPECT_EQ(taps.place(2), "h=2");
  const RowOrder last = order("shortconv_f16_causal_k4_l10_b2_h3_channelslast", 0);
  EXPECT_EQ(place_of(last, 4, 2), (10 + 2) * 3 + 1);
  EXPECT_EQ(last.place(4), "b=1, h=1");
  EXPECT_EQ(order("spectral_f32_complex_b2_c3x5_l8_m4_channelmajor", 0).place(3), "c=1, b=1");
  EXPECT_EQ(order("spectral_f32_b2_c3x5_l8_m4", 1).place(7), "c_in=1, c_out=2");
}

}  // namespace
}  // namespace danaus
