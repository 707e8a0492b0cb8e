#include <array>

#include "reference/short/fields.hpp"

namespace danaus {
namespace {

constexpr std::int64_t kMostSamples = std::int64_t{1} << 46;
constexpr std::array kDtypes = {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64};
constexpr std::array kFilterDtypes = {Dtype::f16, Dtype::bf16};
constexpr std::array kPaddings = {Padding::causal, Padding::same};

}  // namespace

std::string_view name(Padding padding) { return padding == Padding::causal ? "causal" : "same"; }

std::string token(const ShortConvolution& p) {
  std::ostringstream out;
  out << "shortconv_" << name(p.dtype) << '_' << name(p.padding) << "_k" << p.taps;
  if (p.filter != Dtype::f32) out << "_k" << name(p.filter);
  out << "_l" << p.length << "_b" << p.batch << "_h" << p.channels;
  if (p.bias) out << "_bias";
  if (p.pregate) out << "_pregate";
  if (p.postgate) out << "_postgate";
  if (p.channels_last) out << "_channelslast";
  return out.str();
}

std::vector<TokenField> short_fields() {
  using enum TokenField::Kind;
  return {
      kTypeField,
      {.kind = one_of,
       .name = "padding",
       .form = "<padding>",
       .meaning = "the filter reaches back only, or is centred as in PyTorch",
       .example = "same",
       .required = true,
       .values = "causal|same"},
      {.name = "anticausal",
       .form = "anticausal",
       .meaning = "the filter reaches forward",
       .example = "",
       .refused = "has no kernel: the padding must be causal or same"},
      {.kind = number,
       .name = "k",
       .form = "k<K>",
       .meaning = "taps of a filter, K",
       .example = "k32",
       .required = true,
       .least = 2,
       .most = kMostTaps},
      kFilterTypeField,
      kLengthField,
      kBatchField,
      kChannelsField,
      {.name = "bias", .form = "bias", .meaning = "each channel adds a number of its own", .example = "bias"},
      kPregateField,
      kPostgateField,
      {.name = "channelslast",
       .form = "channelslast",
       .meaning = "rows are [B, L, H] in memory, not [B, H, L]",
       .example = "channelslast"},
  };
}

Grammar short_grammar() { return {"shortconv", short_fields(), "shortconv_f16_same_k5_l300_b2_h8"}; }

ShortConvolution read_short(const TokenFields& fields) {
  ShortConvolution p;
  p.dtype = *fields.one_of(kDtypes, "dtype"), p.padding = *fields.one_of(kPaddings, "padding");
  p.filter = fields.one_of(kFilterDtypes, "type of k", "k").value_or(Dtype::f32);
  p.bias = fields.has("bias"), p.pregate = fields.has("pregate"), p.postgate = fields.has("postgate");
  p.channels_last = fields.has("channelslast");
  p.taps = *fields.number("k"), p.length = *fields.number("l");
  p.batch = *fields.number("b"), p.channels = *fields.number("h");
  validate(p);
  return p;
}

ShortConvolution parse_short(std::string_view token) {
  return read_short(TokenFields(token, *find_grammar("shortconv")));
}

void validate(const ShortConvolution& p) {
  const auto positive = [](std::string_view what, std::int64_t value) {
    if (value < 1) fail("shortconv: ", what, "=", value, ", must be at least 1");
    if (value > kMostSamples) fail("shortconv: ", what, "=", value, ", must be at most 2^46");
  };
  if (p.taps < 2 || p.taps > kMostTaps)
    fail("shortconv: K=", p.taps, ", must be from 2 to ", kMostTaps,
         p.taps > kMostTaps ? "; longer filters are those of fftconv"
         : p.taps == 1      ? "; one tap is a product, k[0] * u, which needs no convolution"
                            : "");
  positive("L", p.length);
  positive("B", p.batch);
  positive("H", p.channels);
  if (static_cast<long double>(p.batch) * p.channels * p.length > static_cast<long double>(kMostSamples))
    fail("shortconv: B*H*L = ", p.batch, "*", p.channels, "*", p.length, " samples, must be at most 2^46");
  const bool is_wide = bytes(p.dtype) > 2;
  if (p.filter != Dtype::f32 && (is_wide || p.filter != p.dtype))
    fail("shortconv: the filter is ", name(p.filter), ", of ", name(p.dtype), " samples it must be ",
         is_wide ? "" : "f32 or ", name(p.dtype));
}

Operation short_operation() {
  return {"shortconv", "short depthwise convolutions: y = postgate * (conv(pregate * u, k) + bias), 2 to 256 taps",
          [](std::string_view token) { return Case(parse_short(token)); }};
}

std::vector<Array> arrays(const ShortConvolution& p) {
  std::vector<std::int64_t> extents = {p.batch, p.channels, p.length};
  if (p.channels_last) std::swap(extents[1], extents[2]);
  const std::string_view shape = p.channels_last ? "B*L*H" : "B*H*L";
  std::vector<Array> list = {{"u", Role::input, p.dtype, extents, true, shape}};
  if (p.pregate) list.push_back({"pregate", Role::input, p.dtype, extents, true, shape});
  if (p.postgate) list.push_back({"postgate", Role::input, p.dtype, extents, true, shape});
  list.push_back({"k", Role::filter, filter_dtype(p), {p.channels, p.taps}, false, "H*K"});
  if (p.bias) list.push_back({"bias", Role::filter, filter_dtype(p), {p.channels}, false, "H"});
  list.push_back({"y", Role::output, p.dtype, extents, true, shape});
  return list;
}

// A product and a sum for each tap, and one operation for each of bias and gates.
double useful_flops(const ShortConvolution& p) {
  const double samples = static_cast<double>(p.batch) * static_cast<double>(p.channels) * static_cast<double>(p.length);
  return samples * (2 * static_cast<double>(p.taps) + p.bias + p.pregate + p.postgate);
}

}  // namespace danaus
