#include <algorithm>

#include "reference/convolution/fields.hpp"
#include "reference/gated/gated.hpp"

namespace danaus {
namespace {

std::vector<TokenField> gated_fields() {
  using enum TokenField::Kind;
  std::vector<TokenField> fields = convolution_fields(false);
  for (TokenField& field : fields)
    if (field.name == "n" || field.name == "fold" || field.name == "r")
      field.refused = "cannot be taken: the plan chooses N, fold and factors";
  fields.push_back({.kind = number,
                    .name = "taps",
                    .form = "taps<T>",
                    .meaning = "u and the gates are convolved with T taps of their own first",
                    .example = "taps3",
                    .least = 2,
                    .most = kMostTapsOfGated});
  fields.push_back({.name = "bias",
                    .form = "bias",
                    .meaning = "each of these short filters adds a number; needs taps",
                    .example = "taps3_bias"});
  fields.push_back(
      {.name = "skip", .form = "skip", .meaning = "y has D x added before the postgate", .example = "skip"});
  return fields;
}

}  // namespace

std::string token(const GatedConvolution& p) {
  std::string words = with_word("gatedconv", token(p.conv));
  if (p.taps > 0) words += text("_taps", p.taps);
  if (p.bias) words += "_bias";
  if (p.skip) words += "_skip";
  return words;
}

Grammar gated_grammar() { return {"gatedconv", gated_fields(), "gatedconv_f16_causal_l512_b2_h2"}; }

GatedConvolution parse_gated(std::string_view token) {
  const TokenFields fields(token, *find_grammar("gatedconv"));
  GatedConvolution p;
  p.conv = read_convolution(fields);
  p.taps = fields.number("taps").value_or(0);
  p.bias = fields.has("bias"), p.skip = fields.has("skip");
  validate(p);
  return p;
}

void validate(const GatedConvolution& p) {
  validate(p.conv);
  if (p.taps == 1 || p.taps < 0 || p.taps > kMostTapsOfGated)
    fail("gatedconv: taps=", p.taps, ", must be from 2 to ", kMostTapsOfGated,
         p.taps > kMostTapsOfGated ? "; longer ones are those of shortconv" : "");
  if (p.bias && p.taps == 0) fail("gatedconv: a bias without taps, whose convolution it is added to");
  if (!p.conv.mask.empty() || p.conv.fold || p.conv.fft_size != 0 || !p.conv.factors.empty())
    fail("gatedconv: ", token(p.conv), " says N, fold, factors or a mask, which the plan chooses");
}

Operation gated_operation() {
  return {"gatedconv", "long convolutions of rows and gates that short filters convolve first, with a skip",
          [](std::string_view token) { return Case(parse_gated(token)); }};
}

std::vector<Array> arrays(const GatedConvolution& p) {
  std::vector<Array> list = arrays(p.conv);
  const Array y = list.back();
  list.pop_back();
  const Dtype wide = p.conv.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  if (p.taps > 0) list.push_back({"taps", Role::input, wide, {parts(p), p.conv.channels, p.taps}, false, "P*H*T"});
  if (p.bias) list.push_back({"bias", Role::input, wide, {parts(p), p.conv.channels}, false, "P*H"});
  if (p.skip) list.push_back({"skip", Role::filter, wide, {p.conv.channels}, false, "H"});
  list.push_back(y);
  return list;
}

double useful_flops(const GatedConvolution& p) {
  const double samples =
      static_cast<double>(p.conv.batch) * static_cast<double>(p.conv.channels) * static_cast<double>(p.conv.length);
  const double of_part = 2 * static_cast<double>(p.taps) + p.bias;
  return useful_flops(p.conv) + samples * (static_cast<double>(parts(p)) * of_part + 2. * p.skip);
}

}  // namespace danaus
