// Each row by itself: rows that are quiet beside loud ones, out of the range of f16, silent or not finite, each against
// its own bound.
#include <bit>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>

#include "kernels/plan/promise.hpp"
#include "reference/half.hpp"
#include "reference/judge.hpp"
#include "tests/kernels/fields.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {
namespace {

using Row = std::vector<double>;

// Two rows of a pair, and what the rows' spectra or samples are few of: a single number errs by its own rounding, which
// no average makes smaller (excess_of_few()).
struct Pair {
  std::string_view name;
  std::array<std::function<double(std::int64_t n)>, 2> row;
  double independent = 1e9;
  double gate = 1;  // what a pregate is multiplied by
};

class HostileRows {
 public:
  explicit HostileRows(std::int64_t length) : length_(length), random_(std::uint64_t(length)) {}

  // Those of a type.
  std::vector<Pair> pairs(Dtype dtype) {
    const double loud = dtype == Dtype::f16 ? 60000 : 0x1p100, quiet = dtype == Dtype::f16 ? 1e-6 : 0x1p-100;
    // Of rows with the most energy that a first walk takes.
    const double full = std::sqrt(0x1p26 / (2 * static_cast<double>(length_)));
    std::vector<Pair> list = {
        {"alike", {noise(1), noise(1)}},
        {"100 times as loud", {noise(1), noise(100)}},
        {"1e6 times as loud", {noise(1e-2), noise(1e4)}},
        {"spike beside noise", {spike(1), noise(1)}, 1},
        {"spike beside constant", {spike(1), constant(1)}, 1},
        {"constant beside noise", {constant(loud), noise(1)}, 1},
        {"Nyquist beside spike", {nyquist(loud), spike(1)}, 1},
        {"quiet", {noise(quiet), noise(quiet)}},
        {"quiet beside loud", {noise(quiet), noise(loud / 8)}},
        {"NaN beside noise", {broken(NAN), noise(1)}},
        {"noise beside infinity", {noise(1), broken(INFINITY)}},
        {"silence beside noise", {constant(0), noise(3)}},
        {"silence", {constant(0), constant(0)}},
        {"one frequency", {wave(full, 0), wave(full, 1)}, 1},
        {"one frequency, loud", {wave(loud, 0), wave(loud, 1)}, 1},
        {"comb", {comb(8 * full), comb(8 * full)}, 16},
        {"chirp", {chirp(full, 0), chirp(full, 1)}, 1},
        {"products too large", {noise(1e4), noise(1e4)}, 1e9, 1e4},
        {"products too small", {noise(1e-4), noise(1e-4)}, 1e9, 1e-4},
    };
    return list;
  }

 private:
  using Samples = std::function<double(std::int64_t)>;
  Samples noise(double scale) {
    std::vector<double> values(length_);
    std::normal_distribution<double> normal;
    for (double& value : values) value = std::clamp(normal(random_), -4., 4.) * scale;
    return [values](std::int64_t n) { return values[n]; };
  }
  Samples spike(double height) const {
    return [=, at = length_ / 3](std::int64_t n) { return n == at ? height : 0; };
  }
  static Samples constant(double value) {
    return [=](std::int64_t) { return value; };
  }
  static Samples nyquist(double value) {
    return [=](std::int64_t n) { return n % 2 == 0 ? value : -value; };
  }
  Samples broken(double value) {
    return [=, at = length_ / 2, others = noise(1)](std::int64_t n) { return n == at ? value : others(n); };
  }
  Samples wave(double height, int quarter) const {
    return [=, length = length_](std::int64_t n) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(n * 5 % length) / static_cast<double>(length);
      return height * (quarter == 0 ? std::cos(angle) : std::sin(angle));
    };
  }
  Samples chirp(double height, int quarter) const {
    return [=, length = length_](std::int64_t n) {
      const double angle = std::numbers::pi * static_cast<double>(n * n % (2 * length)) / static_cast<double>(length);
      return height * (quarter == 0 ? std::cos(angle) : std::sin(angle));
    };
  }
  Samples comb(double height) const {
    return [=, step = length_ / 16](std::int64_t n) { return n % step == 1 ? height : 0; };
  }

  std::int64_t length_;
  std::mt19937_64 random_;
};

double norm(std::span<const double> values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  return std::sqrt(sum);
}

// Filters, one a channel: of magnitudes that sum to 1, so that y is no larger than u; the same far from 1; and a chirp
// of unit energy backwards, which gathers the energy of one forwards in a sample.
constexpr std::array kGains = {1., 1e6, 1e-6, 1.};
constexpr int kChirp = 3;

// A case of all pairs, and a last row without a partner.
struct Hostile {
  std::vector<Pair> pairs;
  Convolution problem;
  Inputs inputs;

  template <class Values>
  auto at(Values& values, std::int64_t row) const {
    return std::span(values).subspan(row * problem.length, problem.length);
  }

  // Of pairs with these names alone, where there are some.
  explicit Hostile(const Convolution& p, std::initializer_list<std::string_view> some = {})
      : pairs(HostileRows(p.length).pairs(p.dtype)), problem(p) {
    if (some.size() > 0)
      std::erase_if(pairs, [&](const Pair& pair) { return std::ranges::find(some, pair.name) == some.end(); });
    problem.batch = 2 * std::ssize(pairs) + 1;
    inputs = make_inputs(problem, {});
    for (std::int64_t row = 0; row < 2 * std::ssize(pairs) * p.channels; ++row) {
      const std::int64_t b = row / p.channels;
      for (std::int64_t n = 0; n < p.length; ++n) {
        at(inputs.u, row)[n] = round_to(p.dtype, pairs[b / 2].row[b % 2](n));
        if (p.pregate) at(inputs.pregate, row)[n] = round_to(p.dtype, pairs[b / 2].gate * at(inputs.pregate, row)[n]);
      }
    }
    for (int h = 0; h < p.channels; ++h) {
      const auto taps = std::span(inputs.k).subspan(h * p.filter_length, p.filter_length);
      const auto count = static_cast<double>(p.filter_length);
      double sum = 0;
      for (double tap : taps) sum += std::abs(tap);
      for (std::int64_t n = 0; n < p.filter_length; ++n) {
        const double angle = std::numbers::pi * static_cast<double>(n * n % (2 * p.filter_length)) / count;
        taps[n] = static_cast<float>(h == kChirp ? std::cos(angle) * std::sqrt(2 / count) : taps[n] / sum * kGains[h]);
      }
    }
  }
};

// Of a row with NaN or infinity all is NaN, but of one that is cut into pieces.
void expect_rows_right(const Hostile& hostile, const std::vector<double>& y, const Variant& v, bool in_pieces = false) {
  const Convolution& p = hostile.problem;
  Inputs inputs = hostile.inputs;
  std::vector<bool> finite(p.batch * p.channels, true);
  for (std::int64_t row = 0; row < std::ssize(finite); ++row)
    for (double& value : hostile.at(inputs.u, row))
      if (!std::isfinite(value)) finite[row] = false, value = 0;
  const std::vector<double> truth = convolve(p, inputs, Algorithm::fftw);
  const double bound = bound_l2_of_kernel(p, v.roundings());
  const double most = p.dtype == Dtype::f16 ? 65504 : 3.38e38;
  const double floor = p.dtype == Dtype::f16 ? 0x1p-25 * std::sqrt(static_cast<double>(p.length)) : 0;
  for (std::int64_t row = 0; row < std::ssize(finite); ++row) {
    const std::int64_t b = row / p.channels, h = row % p.channels;
    const Pair* pair = b / 2 < std::ssize(hostile.pairs) ? &hostile.pairs[b / 2] : nullptr;
    const auto of_row = hostile.at(y, row), right = hostile.at(truth, row);
    const auto name = [&] {
      return text(v.name, ": ", pair ? pair->name : "without a partner", ", row ", b % 2, ", filter of ", kGains[h]);
    };
    if (!finite[row]) {
      const auto nans = std::ranges::count_if(of_row, [](double value) { return std::isnan(value); });
      EXPECT_TRUE(in_pieces ? nans > 0 : nans == p.length) << name();
      continue;
    }
    if (std::ranges::any_of(right, [&](double value) { return !(std::abs(value) < most); })) continue;
    std::vector<double> difference(of_row.begin(), of_row.end()), input(p.length);
    for (std::int64_t n = 0; n < p.length; ++n) {
      difference[n] -= right[n];
      input[n] = hostile.at(inputs.u, row)[n] * (p.pregate ? hostile.at(inputs.pregate, row)[n] : 1);
    }
    const double gate =
        p.postgate ? norm(hostile.at(inputs.postgate, row)) / std::sqrt(static_cast<double>(p.length)) : 1;
    const double taps = norm(std::span(inputs.k).subspan(h * p.filter_length, p.filter_length));
    const double few = pair ? excess_of_few(pair->independent) : 1;
    const double allowed = 1.25 * few * bound * norm(input) * taps * gate + floor;
    EXPECT_LE(norm(difference), allowed) << name() << ": " << norm(difference) / allowed << " of the bound";
  }
}

struct Part {
  std::string_view family;
  int size;
  friend void PrintTo(const Part& part, std::ostream* out) { *out << part.family << '_' << part.size; }
};

class Rows : public testing::TestWithParam<Part> {
 protected:
  template <class Check>
  void for_each_variant(Check check) const {
    for (const auto& v : variants())
      if (v->compiled && v->family == GetParam().family && v->size == GetParam().size &&
          (v->preferred || v->unaligned) && v->suits(0) && !v->sparse)
        check(*v);
  }
};

TEST_P(Rows, EachKeepsItsOwnBound) {
  for_each_variant([&](const Variant& v) {
    const std::int64_t channels = v.size > 4096 ? 1 : v.size > 1024 ? 2 : std::ssize(kGains);
    const Hostile hostile(problem_for(v, 1, channels, v.size));
    expect_rows_right(hostile, execute_plan(hostile.problem, hostile.inputs, few_blocks()), v);
    if (v.wraps() || v.size > 2048) return;
    for (int missing : {3, 11}) {  // enclosing copies, of rows that reach beyond N too
      const Hostile odd(problem_for(v, 1, 1, v.size - missing));
      expect_rows_right(odd, execute_plan(odd.problem, odd.inputs, few_blocks(), 3), v);
    }
  });
}

// Pieces of rows that lie in the rows, by launches of all rows or of all pieces, and that are copied.
TEST(RowsOfPieces, KeepTheirOwnBound) {
  for (std::string_view token :
       {"fftconv_f16_causal_l1000_k100_b1_h3_n256", "fftconv_bf16_circular_l4096_k200_b1_h2_n512",
        "fftconv_f16_causal_l9000_k1000_b1_h1_n4096", "fftconv_bf16_causal_l1003_k100_b1_h3_n256"}) {
    const Hostile hostile(parse_convolution(token));
    const Variant& v = choose(hostile.problem, Device());
    ASSERT_TRUE(v.name.starts_with("pieces_")) << v.name;
    for (int offset : {0, 3})
      expect_rows_right(hostile, execute_plan(hostile.problem, hostile.inputs, few_blocks(), offset), v, true);
  }
}

// Of rows longer than a fused kernel's: by outer passes with gates and masks, and by clusters.
class LongRows : public testing::TestWithParam<const char*> {};

TEST_P(LongRows, KeepTheirOwnBound) {
  const Hostile hostile(parse_convolution(GetParam()),
                        {"alike", "1e6 times as loud", "constant beside noise", "quiet beside loud", "NaN beside noise",
                         "silence beside noise", "one frequency, loud"});
  const Variant& v = choose(hostile.problem, Device());
  ASSERT_GT(v.size, 32768) << v.name;
  expect_rows_right(hostile, execute_plan(hostile.problem, hostile.inputs, few_blocks()), v);
}

INSTANTIATE_TEST_SUITE_P(Of, LongRows,
                         testing::Values("fftconv_f16_circular_l49152_k300_b1_h3",
                                         "fftconv_bf16_circular_l49152_k300_b1_h1_pregate_postgate",
                                         "fftconv_f16_causal_l49003_k300_b1_h1_pregate_postgate",
                                         "fftconv_f16_circular_l49152_k300_b1_h1_keep0to6144",
                                         "fftconv_f16_circular_l65536_k300_b1_h1",
                                         "fftconv_bf16_circular_l65536_k300_b1_h1",
                                         "fftconv_f16_causal_l65536_k300_b1_h1"),
                         [](const auto& info) { return std::string(info.param); });

// Gradients by one kernel, and each by a launch of its own: by chains and exchanges, and by outer passes.
class GradientRows : public testing::TestWithParam<const char*> {
 public:
  // Rows of u and dy are multiplied by powers of ten, row by row.
  static Verdict judged(const Case& asked, std::initializer_list<int> of_u, std::initializer_list<int> of_dy,
                        double spoiled = 0, const ExecutorOptions& options = few_blocks()) {
    Values values = make_values(asked, 1);
    for (const auto& [name, powers] : {std::pair("u", of_u), std::pair("dy", of_dy)}) {
      std::vector<double>& rows = values.at(name);
      const auto of_batch = std::ssize(rows) / std::ssize(powers);
      for (std::int64_t i = 0; i < std::ssize(rows); ++i)
        rows[i] = round_to(asked.arrays().front().dtype, rows[i] * std::pow(10., powers.begin()[i / of_batch]));
    }
    if (spoiled != 0) values.at("dy")[5] = spoiled;
    Plan plan(asked, executor_machine(options));
    auto fields = fields_of(asked, values, 0, 0);
    std::vector<Buffer> buffers;
    for (auto& [name, field] : fields) buffers.emplace_back(name, std::span(field.samples()));
    plan.whole_call(buffers);
    return verdict_on(asked, values, outputs_of(asked, fields), promise_of(asked, Device()));
  }
  static void expect_right(const Verdict& verdict, std::string_view name) {
    for (const OutputVerdict& of : verdict.outputs)
      EXPECT_TRUE(of.passed) << name << ": " << of.output << ' ' << of.clearance << ' ' << of.row.place << ' '
                             << of.reason;
  }
};

TEST_P(GradientRows, KeepTheirOwnBound) {
  const Case asked = parse_case(text(GetParam(), "_b4_h2"));
  expect_right(judged(asked, {0, 0, 0, 0}, {0, 0, 0, 0}), "alike");
  expect_right(judged(asked, {0, -3, 0, 0}, {0, 3, 0, 0}), "crossed");
  expect_right(judged(asked, {0, -4, 0, -4}, {-2, 2, -2, 2}), "all crossed");
  expect_right(judged(asked, {2, 3, -3, -3}, {-5, -4, 0, 0}), "loud and quiet");
  expect_right(judged(asked, {-5, -5, -5, -5}, {-4, -4, -4, -4}), "quiet");
  expect_right(judged(asked, {3, 3, 3, 3}, {3, 3, 3, 3}), "loud");
  expect_right(judged(asked, {0, 0, 0, 0}, {0, 0, 0, 0}, NAN), "NaN");
}

using GradientRowsOfOuterPasses = GradientRows;

TEST_P(GradientRowsOfOuterPasses, KeepTheirOwnBound) {
  const Case asked = parse_case(GetParam());
  expect_right(judged(asked, {0, 0}, {0, 0}), "alike");
  expect_right(judged(asked, {0, -3}, {0, 3}), "crossed");
  expect_right(judged(asked, {-5, -5}, {-4, -4}), "quiet");
}

// Memory has room for few blocks that compute, so all blocks look first. They see uneven rows, and a tap that
// overflowed.
TEST(GradientRowsOfManyChannels, AreLookedAtByAllBlocks) {
  for (const auto& [powers, broken] : {std::pair(3, -1), {0, 0}, {0, 4 * 49152 - 1}}) {
    ExecutorOptions options;
    options.blocks = 7;
    std::vector<std::int64_t> blocks;
    options.observer = [&](const Launch& launch, const host::Counters&) {
      if (launch.kernel.family == "rescaled") blocks.push_back(launch.blocks);
      const auto dk = std::ranges::find_if(launch.regions,
                                           [](const Region& r) { return r.name && std::string_view(r.name) == "dk"; });
      if (launch.kernel.family == "taps" && dk != launch.regions.end() && broken >= 0)
        static_cast<float*>(const_cast<void*>(dk->data))[broken] = INFINITY;
    };
    GradientRows::expect_right(GradientRows::judged(parse_case("fftconvgrad_f16_circular_l49152_b2_h4"), {0, -powers},
                                                    {0, powers}, 0, options),
                               text("powers of ", powers, ", tap ", broken));
    ASSERT_EQ(blocks.size(), 3u) << "du's, and two of dk";
    EXPECT_EQ(blocks[1], 7);
    EXPECT_LT(blocks[2], 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, GradientRowsOfOuterPasses,
                         testing::Values("fftconvgrad_f16_circular_l49152_k300_b2_h1",
                                         "fftconvgrad_bf16_circular_l49152_k300_b2_h1"),
                         [](const auto& info) { return std::string(info.param); });

INSTANTIATE_TEST_SUITE_P(Of, GradientRows,
                         testing::Values("fftconvgrad_f16_circular_l256_pregate_postgate",
                                         "fftconvgrad_bf16_circular_l256_pregate_postgate",
                                         "fftconvgrad_f16_causal_l248_k300_pregate",
                                         "fftconvgrad_f16_circular_l1024_k2000", "fftconvgrad_bf16_circular_l1536",
                                         "fftconvgrad_bf16_circular_l2048_k30_pregate_postgate",
                                         "fftconvgrad_f16_causal_l1000_k50_postgate"),
                         [](const auto& info) { return std::string(info.param); });

std::vector<Part> parts() {
  std::vector<Part> list;
  for (const auto& v : variants()) {
    const auto same = [&](const Part& p) { return p.family == v->family && p.size == v->size; };
    if (v->size > 0 && std::ranges::none_of(list, same)) list.push_back({v->family, v->size});
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(Variants, Rows, testing::ValuesIn(parts()),
                         [](const auto& info) { return text(info.param.family, '_', info.param.size); });

}  // namespace
}  // namespace danaus
