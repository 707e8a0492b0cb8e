#include <algorithm>
#include <array>
#include <cmath>

#include "reference/convolution/convolution.hpp"
#include "reference/token.hpp"

namespace danaus {
namespace {

// Sizes stay far below overflow when multiplied: B * H * L is checked against this.
constexpr std::int64_t kMostSamples = std::int64_t{1} << 46;

constexpr std::array kFolds = {Fold::plain, Fold::pair, Fold::half, Fold::right_angle};
constexpr std::array kDtypes = {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64};
constexpr std::array kModes = {Mode::circular, Mode::causal};

}  // namespace

std::string_view name(Mode mode) { return mode == Mode::circular ? "circular" : "causal"; }

std::string_view name(Fold fold) {
  switch (fold) {
    case Fold::plain: return "plain";
    case Fold::pair: return "pair";
    case Fold::half: return "half";
    case Fold::right_angle: return "rightangle";
  }
  fail("fold: ", int(fold), " is none of plain, pair, half, rightangle");
}

std::string token(const Convolution& p) {
  std::ostringstream out;
  out << "fftconv_" << name(p.dtype) << '_' << name(p.mode) << "_l" << p.length;
  if (p.filter_length != p.length) out << "_k" << p.filter_length;
  if (p.filter != Dtype::f32) out << "_k" << name(p.filter);
  out << "_b" << p.batch << "_h" << p.channels;
  if (p.pregate) out << "_pregate";
  if (p.postgate) out << "_postgate";
  if (p.fft_size != 0) out << "_n" << p.fft_size;
  if (p.fold) out << '_' << name(*p.fold);
  if (!p.factors.empty()) out << "_r" << join(p.factors);
  if (!p.mask.zeroed.empty()) {
    out << "_zero" << join(p.mask.zeroed);
    if (p.mask.reading == MaskReading::literal) out << "literal";
  }
  return out.str();
}

Convolution parse_convolution(std::string_view token) {
  if (operation_word(token) != "fftconv") fail("token '", token, "': a convolution begins with 'fftconv'");
  TokenFields fields(token);
  Convolution p;
  const auto dtype = fields.take_one_of(kDtypes, "dtype");
  const auto mode = fields.take_one_of(kModes, "mode");
  p.fold = fields.take_one_of(kFolds, "fold");
  for (Dtype filter : {Dtype::f16, Dtype::bf16})
    if (fields.take_word(text('k', name(filter)))) {
      if (p.filter != Dtype::f32) fail("token '", token, "': k is kf16 or kbf16, not both");
      p.filter = filter;
    }
  p.pregate = fields.take_word("pregate");
  p.postgate = fields.take_word("postgate");
  if (auto list = fields.take("zero")) {
    const std::string field = "zero" + *list;
    constexpr std::string_view kLiteral = "literal";
    if (list->ends_with(kLiteral)) {
      p.mask.reading = MaskReading::literal;
      list->resize(list->size() - kLiteral.size());
    }
    p.mask.zeroed = fields.read_list(*list, field);
  }
  p.factors = fields.take_list("r");
  const auto length = fields.take_number("l"), filter_length = fields.take_number("k");
  const auto batch = fields.take_number("b"), channels = fields.take_number("h");
  if (const auto size = fields.take_number("n")) {
    if (*size == 0) fail("token ", token, ": n=0, must be at least 1");
    p.fft_size = *size;
  }
  fields.finish(
      "f16|bf16|f32|f64, circular|causal, l, k, kf16|kbf16, b, h, pregate, postgate, n, plain|pair|half|rightangle, r, "
      "zero");
  p.dtype = fields.required(dtype, "dtype"), p.mode = fields.required(mode, "mode");
  p.length = fields.required(length, "l"), p.filter_length = filter_length.value_or(p.length);
  p.batch = fields.required(batch, "b"), p.channels = fields.required(channels, "h");
  validate(p);
  return p;
}

std::int64_t smallest_linear_fft_size(const Convolution& p) {
  return p.length + std::min(p.filter_length, p.length) - 1;
}

std::int64_t complex_points(const Convolution& p) { return p.fold == Fold::half ? p.fft_size / 2 : p.fft_size; }

void validate(const Convolution& p) {
  const auto positive = [](std::string_view what, std::int64_t value) {
    if (value < 1) fail("fftconv: ", what, "=", value, ", must be at least 1");
    if (value > kMostSamples) fail("fftconv: ", what, "=", value, ", must be at most 2^46");
  };
  positive("L", p.length);
  positive("K", p.filter_length);
  positive("B", p.batch);
  positive("H", p.channels);
  if (p.fft_size != 0) positive("N", p.fft_size);
  const auto too_many = [](std::int64_t a, std::int64_t b, std::int64_t c) {
    return static_cast<long double>(a) * b * c > static_cast<long double>(kMostSamples);
  };
  if (too_many(p.batch, p.channels, p.length))
    fail("fftconv: B*H*L = ", p.batch, "*", p.channels, "*", p.length, " samples, must be at most 2^46");
  if (too_many(1, p.channels, p.filter_length))
    fail("fftconv: H*K = ", p.channels, "*", p.filter_length, " samples, must be at most 2^46");

  if (p.filter != Dtype::f32 && filter_dtype(p) != p.filter)
    fail("fftconv: the filter is ", name(p.filter), ", of ", name(p.dtype), " samples it must be ", name(p.dtype));

  const Convolution r = resolved(p);
  const bool in_chunks = r.fold == Fold::pair && r.fft_size < r.length;
  if (in_chunks) {
    if (2 * r.filter_length > r.fft_size)
      fail("fftconv: N=", r.fft_size, " cuts rows of L=", r.length,
           " into chunks, which need K <= N/2, K=", r.filter_length);
    if (!r.mask.zeroed.empty()) fail("fftconv: a frequency mask needs N >= L; N=", r.fft_size, ", L=", r.length);
  }
  if (r.fold == Fold::half && r.fft_size % 2 != 0) fail("fftconv: N=", r.fft_size, ", the half fold needs an even N");
  if (r.fold == Fold::right_angle) {
    if (r.fft_size < r.length) fail("fftconv: N=", r.fft_size, ", the right-angle fold needs N >= L=", r.length);
  } else if (!in_chunks && (r.mode == Mode::causal || r.fft_size != r.length)) {
    if (r.fft_size < smallest_linear_fft_size(r))
      fail("fftconv: N=", r.fft_size, ", a ", name(r.mode), " convolution of L=", r.length, " and K=", r.filter_length,
           " needs N >= ", smallest_linear_fft_size(r), r.mode == Mode::circular ? " or N = L" : "");
  }
  if (!p.factors.empty()) {
    std::int64_t product = 1;
    for (int factor : p.factors) {
      if (factor < 1) fail("fftconv: factors ", join(p.factors), ", each must be at least 1");
      if (product > kMostSamples / factor)
        fail("fftconv: factors ", join(p.factors), ", their product must be at most 2^46");
      product *= factor;
    }
    if (product != complex_points(r))
      fail("fftconv: factors ", join(p.factors), " multiply to ", product, ", must be ", complex_points(r),
           r.fold == Fold::half ? " (N/2)" : " (N)");
  }
  if (!p.mask.zeroed.empty()) {
    if (r.fold == Fold::right_angle)
      fail("fftconv: a frequency mask needs the filter's own spectrum; the right-angle fold has a shifted one");
    if (r.fold == Fold::half)
      fail("fftconv: a frequency mask is defined over N frequencies; the half fold computes N/2");
    if (p.factors.size() != p.mask.zeroed.size())
      fail("fftconv: the mask has ", p.mask.zeroed.size(), " counts, must be one for each of the ", p.factors.size(),
           " factors");
    for (std::size_t i = 0; i < p.mask.zeroed.size(); ++i) {
      const int extent = p.factors[p.factors.size() - 1 - i];
      if (p.mask.zeroed[i] < 0 || p.mask.zeroed[i] >= extent)
        fail("fftconv: mask count ", p.mask.zeroed[i], " in dimension ", i + 1, ", must be from 0 to ", extent - 1);
    }
  }
}

Convolution resolved(Convolution p) {
  const bool in_chunks = p.fft_size != 0 && p.fft_size < p.length;
  if (!p.fold) p.fold = p.mode == Mode::circular || in_chunks ? Fold::pair : Fold::right_angle;
  if (p.fft_size == 0) {
    if (p.mode == Mode::circular || p.fold == Fold::right_angle) {
      p.fft_size = p.length;
    } else {
      p.fft_size = smallest_linear_fft_size(p);
      if (p.fold == Fold::half) p.fft_size += p.fft_size % 2;
    }
    if (!p.factors.empty()) {
      // The caller split some N: take theirs where it is legal, validate() judges it.
      std::int64_t product = p.fold == Fold::half ? 2 : 1;
      for (int factor : p.factors)
        if (product <= kMostSamples) product *= std::max(factor, 1);
      p.fft_size = product;
    }
  }
  return p;
}

Operation convolution_operation() {
  return {"fftconv", "long convolutions: y = postgate * conv(pregate * u, k)",
          [](std::string_view token) { return Case(parse_convolution(token)); }};
}

std::vector<Array> arrays(const Convolution& p) {
  const std::vector<std::int64_t> rows = {p.batch, p.channels, p.length};
  std::vector<Array> list = {{"u", Role::input, p.dtype, rows, true, "B*H*L"}};
  if (p.pregate) list.push_back({"pregate", Role::input, p.dtype, rows, true, "B*H*L"});
  if (p.postgate) list.push_back({"postgate", Role::input, p.dtype, rows, true, "B*H*L"});
  list.push_back({"k", Role::filter, filter_dtype(p), {p.channels, p.filter_length}, false, "H*K"});
  list.push_back({"y", Role::output, p.dtype, rows, true, "B*H*L"});
  return list;
}

// 2.5 M log2 M for a real transform of M points, forward and backward, and 6 for each of the M / 2 complex products
// between. M is L (circular), or the 2 L of a padded linear convolution (causal). Gates take one a sample.
double useful_flops(const Convolution& p) {
  const double points = static_cast<double>(p.length) * (p.mode == Mode::causal ? 2 : 1);
  const double rows = static_cast<double>(p.batch) * static_cast<double>(p.channels);
  return rows *
         (5 * points * std::log2(points) + 3 * points + static_cast<double>(p.length) * (p.pregate + p.postgate));
}

}  // namespace danaus
