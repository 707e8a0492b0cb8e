#include <algorithm>
#include <array>
#include <cmath>

#include "reference/convolution/fields.hpp"

namespace danaus {
namespace {

// Sizes stay far below overflow when multiplied: B * H * L is checked against this.
constexpr std::int64_t kMostSamples = std::int64_t{1} << 46;
constexpr std::int64_t kMostPoints = std::int64_t{1} << 30;  // of an FFT that is asked for, or whose frequencies are
constexpr int kMostFactor = 4096;                            // its DFT matrix is dense

constexpr std::array kFolds = {Fold::plain, Fold::pair, Fold::half, Fold::right_angle};
constexpr std::array kDtypes = {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64};
constexpr std::array kFilterDtypes = {Dtype::f16, Dtype::bf16};
constexpr std::array kModes = {Mode::circular, Mode::causal};

constexpr std::string_view kHexDigits = "0123456789abcdef";

std::string in_hex(const std::vector<std::uint8_t>& blocks) {
  std::string words;
  for (std::size_t i = 0; i < blocks.size(); i += 4) {
    int digit = 0;
    for (std::size_t bit = 0; bit < 4; ++bit) digit = 2 * digit + (i + bit < blocks.size() && blocks[i + bit]);
    words += kHexDigits[digit];
  }
  return words;
}

std::vector<Band> read_bands(std::string_view words, const TokenFields& fields, const std::string& field) {
  std::vector<Band> bands;
  while (true) {
    const std::string_view band = words.substr(0, words.find('+'));
    const std::size_t to = band.find("to");
    if (to == band.npos) fields.fail_at(field, "needs bands, as in keep0to63+128to255");
    bands.push_back({fields.read_number(band.substr(0, to), field), fields.read_number(band.substr(to + 2), field)});
    if (band.size() == words.size()) return bands;
    words.remove_prefix(band.size() + 1);
  }
}

// pieces and blocks of a mask from 8x4h<hex>.
void read_blocks(std::string_view words, const TokenFields& fields, const std::string& field, FrequencyMask& mask) {
  const std::size_t hex = words.find('h');
  if (hex == words.npos) fields.fail_at(field, "needs pieces and marks, as in blocks8x4hffff0000");
  mask.pieces = fields.read_list(words.substr(0, hex), field);
  std::int64_t count = 1;
  for (int pieces : mask.pieces) count = std::min(count * pieces, kMostSamples);
  const std::string_view digits = words.substr(hex + 1);
  if (std::ssize(digits) != (count + 3) / 4)
    fields.fail_at(field,
                   text("has ", digits.size(), " hexadecimal digits, its ", count, " blocks need ", (count + 3) / 4));
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t digit = kHexDigits.find(digits[i]);
    if (digit == kHexDigits.npos) fields.fail_at(field, text("has '", digits[i], "', needs 0 to 9 and a to f"));
    for (int bit = 3; bit >= 0 && std::ssize(mask.blocks) < count; --bit) mask.blocks.push_back(digit >> bit & 1);
  }
  if (in_hex(mask.blocks) != digits) fields.fail_at(field, "marks more blocks than it has");
}

FrequencyMask read_mask(const TokenFields& fields) {
  FrequencyMask mask;
  if (auto list = fields.rest("zero")) {
    const std::string field = "zero" + *list;
    constexpr std::string_view kLiteral = "literal";
    if (list->ends_with(kLiteral)) {
      mask.reading = MaskReading::literal;
      list->resize(list->size() - kLiteral.size());
    }
    mask.zeroed = fields.read_list(*list, field);
  }
  if (const auto words = fields.rest("keep")) mask.kept = read_bands(*words, fields, "keep" + *words);
  if (const auto words = fields.rest("blocks")) read_blocks(*words, fields, "blocks" + *words, mask);
  if (!mask.zeroed.empty() + !mask.kept.empty() + !mask.pieces.empty() > 1)
    fail("fftconv: more than one mask; the fields zero, keep and blocks exclude each other");
  return mask;
}

void validate_bands(const std::vector<Band>& bands, std::int64_t n) {
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const auto [first, last] = bands[i];
    if (first < 0 || first > last || last > n / 2)
      fail("fftconv: the mask keeps ", first, " to ", last, ", must be from 0 to N/2=", n / 2, ", ascending");
    if (i > 0 && first <= bands[i - 1].last + 1)
      fail("fftconv: the mask keeps ", bands[i - 1].first, " to ", bands[i - 1].last, " and ", first, " to ", last,
           ", must have something removed between");
  }
}

// Pieces are of the dimensions, the last factor first.
void validate_blocks(const FrequencyMask& mask, const std::vector<int>& factors) {
  std::size_t count = 1;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const int extent = factors[factors.size() - 1 - i], pieces = mask.pieces[i];
    if (pieces < 1 || extent % pieces != 0)
      fail("fftconv: the mask cuts dimension ", i + 1, " into ", pieces, ", which must divide its ", extent,
           " indices");
    count *= pieces;
  }
  if (mask.blocks.size() != count) fail("fftconv: the mask marks ", mask.blocks.size(), " blocks, must be ", count);
  if (std::ranges::count(mask.blocks, 0) == std::ssize(mask.blocks)) fail("fftconv: the mask removes everything");
}

void validate_mask(const Convolution& r) {
  const FrequencyMask& mask = r.mask;
  if (mask.empty()) return;
  if (r.fold == Fold::right_angle)
    fail("fftconv: a frequency mask needs the filter's own spectrum; the right-angle fold has a shifted one");
  if (r.fold == Fold::half) fail("fftconv: a frequency mask is defined over N frequencies; the half fold computes N/2");
  if (!mask.kept.empty()) return validate_bands(mask.kept, r.fft_size);
  const std::size_t dimensions = mask.zeroed.empty() ? mask.pieces.size() : mask.zeroed.size();
  if (r.factors.empty())
    fail("fftconv: the mask ", token(mask), " needs the field r<N1>x<N2>... with ", dimensions, " factor",
         dimensions == 1 ? "" : "s", " of ", complex_points(r), ", one for each of its ",
         mask.zeroed.empty() ? "dimensions" : "counts", "; the token has no field r");
  if (r.factors.size() != dimensions)
    fail("fftconv: the mask has ", dimensions, mask.zeroed.empty() ? " dimensions" : " counts",
         ", must be one for each of the ", r.factors.size(), " factors");
  if (!mask.pieces.empty()) return validate_blocks(mask, r.factors);
  for (std::size_t i = 0; i < dimensions; ++i) {
    const int extent = r.factors[dimensions - 1 - i];
    if (mask.zeroed[i] < 0 || mask.zeroed[i] >= extent)
      fail("fftconv: mask count ", mask.zeroed[i], " in dimension ", i + 1, ", must be from 0 to ", extent - 1);
  }
}

}  // namespace

std::string token(const FrequencyMask& mask) {
  if (!mask.zeroed.empty()) return "zero" + join(mask.zeroed) + (mask.reading == MaskReading::literal ? "literal" : "");
  if (!mask.pieces.empty()) return "blocks" + join(mask.pieces) + 'h' + in_hex(mask.blocks);
  std::string words;
  for (const auto& [first, last] : mask.kept) words += text(words.empty() ? "keep" : "+", first, "to", last);
  return words;
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
  if (!p.mask.empty()) out << '_' << token(p.mask);
  return out.str();
}

std::vector<TokenField> convolution_fields(bool masked) {
  using enum TokenField::Kind;
  std::vector<TokenField> fields = {
      kTypeField,
      {.kind = one_of,
       .name = "mode",
       .form = "<mode>",
       .meaning = "linear convolution of which the first L samples are kept, or circular with period L",
       .example = "causal",
       .required = true,
       .values = "causal|circular"},
      kLengthField,
      {.kind = number,
       .name = "k",
       .form = "k<K>",
       .meaning = "taps of a filter, K; without the field K = L",
       .example = "k100"},
      kFilterTypeField,
      kBatchField,
      kChannelsField,
      kPregateField,
      kPostgateField,
      {.kind = number,
       .name = "n",
       .form = "n<N>",
       .meaning = "FFT size, N; less than L cuts rows into overlapping pieces, which needs K <= N/2",
       .example = "causal_n2048"},
      {.kind = one_of,
       .name = "fold",
       .form = "<fold>",
       .meaning = "how real rows are put into a complex FFT",
       .example = "pair",
       .values = "pair|plain|half|rightangle"},
      {.kind = list,
       .name = "r",
       .form = "r<N1>x<N2>...",
       .meaning = "factors of the FFT, outermost first",
       .example = "r32x32",
       .values = "their product is N, or N/2 for half"},
      {.kind = other,
       .name = "zero",
       .form = "zero<z1>x<z2>...[literal]",
       .meaning = "mask: the last z indices of each dimension of the spectrum are zero (Fu et al. 2023, Table 10)",
       .example = "r32x32_zero8x0",
       .values = "one count for each factor of r, last factor first; literal drops one of each conjugate pair"},
      {.kind = other,
       .name = "keep",
       .form = "keep<f1>to<f2>+...",
       .meaning = "mask: only these bands of frequencies are kept",
       .example = "keep0to63+128to255",
       .values = "from 0 to N/2, ascending"},
      {.kind = other,
       .name = "blocks",
       .form = "blocks<p1>x<p2>...h<hex>",
       .meaning = "mask: each dimension of the spectrum is cut into p pieces, and some of the blocks are kept",
       .example = "r32x32_blocks4x1h9",
       .values = "pieces for each factor of r, last factor first; a hexadecimal digit for four blocks, bit 1 keeps"},
  };
  if (!masked)
    for (TokenField& field : fields)
      if (field.kind == other) field.refused = "cannot be taken: a frequency mask has no gradients here";
  return fields;
}

Grammar convolution_grammar() { return {"fftconv", convolution_fields(true), "fftconv_f16_circular_l1024_b2_h2"}; }

Convolution read_convolution(const TokenFields& fields) {
  Convolution p;
  p.dtype = *fields.one_of(kDtypes, "dtype"), p.mode = *fields.one_of(kModes, "mode");
  p.fold = fields.one_of(kFolds, "fold");
  p.filter = fields.one_of(kFilterDtypes, "type of k", "k").value_or(Dtype::f32);
  p.pregate = fields.has("pregate"), p.postgate = fields.has("postgate");
  p.mask = read_mask(fields);
  p.factors = fields.list("r");
  p.length = *fields.number("l"), p.filter_length = fields.number("k").value_or(p.length);
  p.batch = *fields.number("b"), p.channels = *fields.number("h");
  if (const auto size = fields.number("n")) {
    if (*size == 0) fail("fftconv: N=0, must be at least 1");
    p.fft_size = *size;
  }
  validate(p);
  return p;
}

Convolution parse_convolution(std::string_view token) {
  return read_convolution(TokenFields(token, *find_grammar("fftconv")));
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
  if ((p.fft_size != 0 || !p.factors.empty() || !p.mask.empty()) && r.fft_size > kMostPoints)
    fail("fftconv: N=", r.fft_size, ", must be at most 2^30");
  const bool in_chunks = r.fold == Fold::pair && r.fft_size < r.length;
  if (in_chunks) {
    if (2 * r.filter_length > r.fft_size)
      fail("fftconv: N=", r.fft_size, " cuts rows of L=", r.length,
           " into chunks, which need K <= N/2, K=", r.filter_length);
    if (!r.mask.empty()) fail("fftconv: a frequency mask needs N >= L; N=", r.fft_size, ", L=", r.length);
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
      if (factor < 1 || factor > kMostFactor)
        fail("fftconv: factors ", join(p.factors), ", each must be from 1 to ", kMostFactor);
      if (product > kMostSamples / factor)
        fail("fftconv: factors ", join(p.factors), ", their product must be at most 2^46");
      product *= factor;
    }
    if (product != complex_points(r))
      fail("fftconv: factors ", join(p.factors), " multiply to ", product, ", must be ", complex_points(r),
           r.fold == Fold::half ? " (N/2)" : " (N)");
  }
  validate_mask(r);
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
