#include "reference/problem.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace danaus {
namespace {

// Sizes stay far below overflow when multiplied: B * H * L is checked against this.
constexpr std::int64_t kMostSamples = std::int64_t{1} << 46;

constexpr std::array kFolds = {Fold::plain, Fold::pair, Fold::half, Fold::right_angle};
constexpr std::array kDtypes = {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64};
constexpr std::array kModes = {Mode::circular, Mode::causal};

template <class Enum, std::size_t Count>
std::optional<Enum> find_name(const std::array<Enum, Count>& values, std::string_view word) {
  for (Enum value : values)
    if (name(value) == word) return value;
  return std::nullopt;
}

std::int64_t parse_number(std::string_view digits, std::string_view field, std::string_view token) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0)
    fail("token ", token, ": field '", field, "' needs a whole number where it has '", digits, "'");
  return value;
}

std::vector<int> parse_list(std::string_view text, std::string_view field, std::string_view token) {
  std::vector<int> list;
  while (true) {
    const std::size_t cross = text.find('x');
    const std::int64_t value = parse_number(text.substr(0, cross), field, token);
    if (value > std::numeric_limits<int>::max())
      fail("token ", token, ": field '", field, "' has ", value, ", too large");
    list.push_back(static_cast<int>(value));
    if (cross == std::string_view::npos) return list;
    text.remove_prefix(cross + 1);
  }
}

}  // namespace

std::string join(const std::vector<int>& list, std::string_view between) {
  std::string joined;
  for (int value : list) {
    if (!joined.empty()) joined += between;
    joined += std::to_string(value);
  }
  return joined;
}

std::string_view name(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return "f16";
    case Dtype::bf16: return "bf16";
    case Dtype::f32: return "f32";
    case Dtype::f64: return "f64";
  }
  fail("dtype: ", int(dtype), " is none of f16, bf16, f32, f64");
}

std::int64_t bytes(Dtype dtype) { return dtype == Dtype::f64 ? 8 : dtype == Dtype::f32 ? 4 : 2; }

double unit_roundoff(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return 0x1p-11;
    case Dtype::bf16: return 0x1p-8;
    case Dtype::f32: return 0x1p-24;
    case Dtype::f64: return 0x1p-53;
  }
  fail("dtype: ", int(dtype), " is none of f16, bf16, f32, f64");
}

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

std::string token(const Problem& p) {
  std::ostringstream out;
  out << "fftconv_" << name(p.dtype) << '_' << name(p.mode) << "_l" << p.length;
  if (p.filter_length != p.length) out << "_k" << p.filter_length;
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

Problem parse_problem(std::string_view token) {
  Problem p;
  std::vector<std::string> seen;
  const auto once = [&](std::string field) {
    if (std::find(seen.begin(), seen.end(), field) != seen.end())
      fail("token ", token, ": field '", field, "' stands twice");
    seen.push_back(std::move(field));
  };
  const auto has = [&](std::string_view field) { return std::find(seen.begin(), seen.end(), field) != seen.end(); };

  std::string_view rest = token;
  for (bool first = true; !rest.empty() || first; first = false) {
    const std::size_t end = rest.find('_');
    const std::string_view word = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (first) {
      if (word != "fftconv") fail("token '", token, "': a case begins with 'fftconv'");
      continue;
    }
    if (word.empty()) fail("token ", token, ": an empty field (two underscores)");
    if (const auto dtype = find_name(kDtypes, word)) {
      once("dtype"), p.dtype = *dtype;
    } else if (const auto mode = find_name(kModes, word)) {
      once("mode"), p.mode = *mode;
    } else if (const auto fold = find_name(kFolds, word)) {
      once("fold"), p.fold = *fold;
    } else if (word == "pregate") {
      once("pregate"), p.pregate = true;
    } else if (word == "postgate") {
      once("postgate"), p.postgate = true;
    } else if (word.substr(0, 4) == "zero") {
      std::string_view list = word.substr(4);
      constexpr std::string_view kLiteral = "literal";
      if (list.size() > kLiteral.size() && list.substr(list.size() - kLiteral.size()) == kLiteral) {
        p.mask.reading = MaskReading::literal;
        list.remove_suffix(kLiteral.size());
      }
      once("zero"), p.mask.zeroed = parse_list(list, word, token);
    } else if (word[0] == 'r') {
      once("r"), p.factors = parse_list(word.substr(1), word, token);
    } else if (word[0] == 'l') {
      once("l"), p.length = parse_number(word.substr(1), word, token);
    } else if (word[0] == 'k') {
      once("k"), p.filter_length = parse_number(word.substr(1), word, token);
    } else if (word[0] == 'b') {
      once("b"), p.batch = parse_number(word.substr(1), word, token);
    } else if (word[0] == 'h') {
      once("h"), p.channels = parse_number(word.substr(1), word, token);
    } else if (word[0] == 'n') {
      once("n"), p.fft_size = parse_number(word.substr(1), word, token);
      if (p.fft_size == 0) fail("token ", token, ": n=0, must be at least 1");
    } else {
      fail("token ", token, ": unknown field '", word,
           "'; fields are f16|bf16|f32|f64, circular|causal, l, k, b, h, pregate, postgate, n, "
           "plain|pair|half|rightangle, r, zero");
    }
  }
  for (std::string_view field : {"dtype", "mode", "l", "b", "h"})
    if (!has(field)) fail("token ", token, ": field '", field, "' is missing");
  if (!has("k")) p.filter_length = p.length;
  validate(p);
  return p;
}

std::int64_t smallest_linear_fft_size(const Problem& p) { return p.length + std::min(p.filter_length, p.length) - 1; }

std::int64_t complex_points(const Problem& p) { return p.fold == Fold::half ? p.fft_size / 2 : p.fft_size; }

void validate(const Problem& p) {
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

  const Problem r = resolved(p);
  if (r.fold == Fold::half && r.fft_size % 2 != 0) fail("fftconv: N=", r.fft_size, ", the half fold needs an even N");
  if (r.fold == Fold::right_angle) {
    if (r.fft_size < r.length) fail("fftconv: N=", r.fft_size, ", the right-angle fold needs N >= L=", r.length);
  } else if (r.mode == Mode::causal || r.fft_size != r.length) {
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

Problem resolved(Problem p) {
  if (!p.fold) p.fold = p.mode == Mode::circular ? Fold::pair : Fold::right_angle;
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

}  // namespace danaus
