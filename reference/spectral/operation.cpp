#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "reference/spectral/fields.hpp"

namespace danaus {
namespace {

constexpr std::int64_t kMostSamples = std::int64_t{1} << 46;
constexpr std::array kDtypes = {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64};

void check_size(std::string_view what, std::int64_t value) {
  if (value < 1) fail("spectral: ", what, "=", value, ", must be at least 1");
  if (value > kMostSamples) fail("spectral: ", what, "=", value, ", must be at most 2^46");
}

// As many as kept_on_axis() has.
std::int64_t kept_count(const Spectral& p, std::size_t axis) {
  return std::int64_t{p.modes[axis]} * (p.two_sided && !is_half_axis(p, axis) ? 2 : 1);
}

void check_modes(const Spectral& p, std::size_t axis) {
  const std::int64_t length = p.lengths[axis], modes = p.modes[axis];  // whose double may be more than an int
  const std::string what = text("modes of axis ", axis + 1);
  check_size(what, modes);
  if (is_half_axis(p, axis)) {
    if (modes > length / 2 + 1)
      fail("spectral: ", what, "=", modes, ", must be at most ", length / 2 + 1, ", as half of the spectrum of ",
           length, " real samples has");
  } else if (p.two_sided ? 2 * modes > length : modes > length) {
    fail("spectral: ", what, "=", modes, ", must be at most ", p.two_sided ? length / 2 : length, " of the ", length,
         p.two_sided ? " frequencies from either side" : " frequencies");
  }
}

}  // namespace

std::string token(const Spectral& p) {
  std::ostringstream out;
  out << "spectral_" << name(p.dtype);
  if (p.tf32) out << "_tf32";
  if (p.complex) out << "_complex";
  out << "_b" << p.batch << "_c" << p.inputs << 'x' << p.outputs << "_l" << join(p.lengths) << "_m" << join(p.modes);
  if (p.shared) out << "_shared";
  if (p.two_sided) out << "_twosided";
  if (p.channel_major) out << "_channelmajor";
  if (p.adjoint) out << "_adjoint";
  return out.str();
}

std::vector<TokenField> spectral_fields(bool with_adjoint) {
  using enum TokenField::Kind;
  TokenField adjoint{.name = "adjoint",
                     .form = "adjoint",
                     .meaning = "the layer that makes du of dy, by conjugate transposes of the weights",
                     .example = "adjoint"};
  if (!with_adjoint) adjoint.refused = "cannot be taken: an adjoint has no gradients here; ask for those of the layer";
  return {
      kTypeField,
      {.name = "tf32",
       .form = "tf32",
       .meaning = "operands of products are rounded to TF32; needs f32",
       .example = "f32_tf32"},
      {.name = "complex", .form = "complex", .meaning = "samples are complex", .example = "complex"},
      kBatchField,
      {.kind = list,
       .name = "c",
       .form = "c<C_in>x<C_out>",
       .meaning = "channels of u and of y",
       .example = "c8x4",
       .required = true,
       .values = "two numbers"},
      {.kind = list,
       .name = "l",
       .form = "l<X>[x<Y>]",
       .meaning = "points of each axis",
       .example = "l64",
       .required = true,
       .values = "one or two numbers"},
      {.kind = list,
       .name = "m",
       .form = "m<M>[x<M>]",
       .meaning = "frequencies that are kept on each axis, from 0 on",
       .example = "m4",
       .required = true,
       .values = "a number for each axis, at most X/2 + 1 on the last axis of real samples"},
      {.name = "shared", .form = "shared", .meaning = "one matrix for all frequencies", .example = "shared"},
      {.name = "twosided",
       .form = "twosided",
       .meaning = "keeps as many of the highest frequencies, but not on the last axis of real samples",
       .example = "complex_twosided"},
      {.name = "channelmajor",
       .form = "channelmajor",
       .meaning = "fields are [C, B, ...] in memory, not [B, C, ...]",
       .example = "channelmajor"},
      adjoint,
  };
}

Grammar spectral_grammar() { return {"spectral", spectral_fields(true), "spectral_f32_b2_c4x8_l32_m8"}; }

Spectral read_spectral(const TokenFields& fields) {
  Spectral p;
  p.dtype = *fields.one_of(kDtypes, "dtype");
  p.tf32 = fields.has("tf32"), p.complex = fields.has("complex"), p.shared = fields.has("shared");
  p.two_sided = fields.has("twosided"), p.channel_major = fields.has("channelmajor");
  p.adjoint = fields.has("adjoint");
  const std::vector<int> channels = fields.list("c");
  p.lengths = fields.list("l"), p.modes = fields.list("m"), p.batch = *fields.number("b");
  if (channels.size() != 2) fields.fail_at("c" + join(channels), "needs two numbers, C_in and C_out, as in c32x64");
  p.inputs = channels[0], p.outputs = channels[1];
  validate(p);
  return p;
}

Spectral parse_spectral(std::string_view token) { return read_spectral(TokenFields(token, *find_grammar("spectral"))); }

void validate(const Spectral& p) {
  check_size("B", p.batch);
  check_size("C_in", p.inputs);
  check_size("C_out", p.outputs);
  if (p.lengths.empty() || p.lengths.size() > 2)
    fail("spectral: ", p.lengths.size(), " axes, must be 1 or 2 (l128 or l128x128)");
  if (p.modes.size() != p.lengths.size())
    fail("spectral: modes of ", p.modes.size(), " axes, must be one number for each of the ", p.lengths.size());
  if (p.tf32 && p.dtype != Dtype::f32) fail("spectral: tf32 of ", name(p.dtype), " samples, they must be f32");
  if (p.two_sided && !p.complex && p.lengths.size() == 1)
    fail("spectral: twosided of one axis of real samples, whose highest frequencies mirror the lowest");
  long double samples = static_cast<long double>(p.batch) * std::max(p.inputs, p.outputs);
  for (std::size_t axis = 0; axis < p.lengths.size(); ++axis) {
    check_size(text("length of axis ", axis + 1), p.lengths[axis]);
    check_modes(p, axis);
    samples *= p.lengths[axis];
  }
  if (samples > static_cast<long double>(kMostSamples))
    fail("spectral: B*C*", join(p.lengths, "*"), " are more than 2^46 samples");
  if (static_cast<long double>(p.inputs) * p.outputs * (p.shared ? 1 : kept_count(p)) >
      static_cast<long double>(kMostSamples))
    fail("spectral: C_in*C_out*M = ", p.inputs, "*", p.outputs, "*", p.shared ? 1 : kept_count(p),
         " weights, must be at most 2^46");
}

Spectral adjoint_of(Spectral p) {
  std::swap(p.inputs, p.outputs);
  p.adjoint = !p.adjoint;
  return p;
}

std::vector<int> kept_on_axis(const Spectral& p, std::size_t axis) {
  std::vector<int> kept(p.modes[axis]);
  std::iota(kept.begin(), kept.end(), 0);
  if (p.two_sided && !is_half_axis(p, axis))
    for (int k = p.lengths[axis] - p.modes[axis]; k < p.lengths[axis]; ++k) kept.push_back(k);
  return kept;
}

std::int64_t kept_count(const Spectral& p) {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < p.modes.size(); ++axis) count *= kept_count(p, axis);
  return count;
}

std::int64_t points_of_row(const Spectral& p) {
  std::int64_t points = 1;
  for (int length : p.lengths) points *= length;
  return points;
}

std::int64_t pruned_operations(std::int64_t points, std::int64_t kept) {
  if (points < 1 || (points & (points - 1)) != 0)
    fail("pruned_operations: points=", points, ", must be a power of two");
  if (kept < 1 || kept > points)
    fail("pruned_operations: kept=", kept, ", must be from 1 to the ", points, " of the transform");
  // Each of the transforms of `size` points, decimated in time, gives those outputs that are asked of the larger ones.
  std::int64_t operations = 0;
  for (std::int64_t size = 2; size <= points; size *= 2) operations += points / size * std::min(kept, size);
  return operations;
}

Operation spectral_operation() {
  return {"spectral", "spectral layers of neural operators: y = F^-1 (W F u), few frequencies kept",
          [](std::string_view token) { return Case(parse_spectral(token)); }};
}

std::vector<Array> arrays(const Spectral& p) {
  const bool plane = p.lengths.size() == 2;
  const auto field = [&](std::int64_t channels) {
    std::vector<std::int64_t> extents = {p.batch, channels};
    if (p.channel_major) std::swap(extents[0], extents[1]);
    extents.insert(extents.end(), p.lengths.begin(), p.lengths.end());
    if (p.complex) extents.push_back(2);
    return extents;
  };
  constexpr std::string_view kShapes[2][2][2] = {{{"B*C*X", "B*C*X*2"}, {"C*B*X", "C*B*X*2"}},
                                                 {{"B*C*X*Y", "B*C*X*Y*2"}, {"C*B*X*Y", "C*B*X*Y*2"}}};
  const std::string_view shape = kShapes[plane][p.channel_major][p.complex];
  std::vector<std::int64_t> weights = {p.inputs, p.outputs};
  if (p.adjoint) std::swap(weights[0], weights[1]);
  if (!p.shared)
    for (std::size_t axis = 0; axis < p.lengths.size(); ++axis) weights.push_back(kept_count(p, axis));
  weights.push_back(2);
  constexpr std::string_view kWeights[2][3] = {{"C_in*C_out*2", "C_in*C_out*M*2", "C_in*C_out*M*M*2"},
                                               {"C_out*C_in*2", "C_out*C_in*M*2", "C_out*C_in*M*M*2"}};
  const std::string_view shape_of_weights = kWeights[p.adjoint][p.shared ? 0 : p.lengths.size()];
  return {{"u", Role::input, p.dtype, field(p.inputs), !p.channel_major, shape},
          {"w", Role::filter, p.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32, weights, false, shape_of_weights},
          {"y", Role::output, p.dtype, field(p.outputs), !p.channel_major, shape}};
}

// Whole transforms there and back, 5 N log2 N each and half of it for real samples, and 8 for each complex product.
double useful_flops(const Spectral& p) {
  const double points = static_cast<double>(points_of_row(p)), batch = static_cast<double>(p.batch);
  const double channels = static_cast<double>(p.inputs + p.outputs);
  const double products = static_cast<double>(p.inputs) * static_cast<double>(p.outputs);
  return batch * ((p.complex ? 5 : 2.5) * points * std::log2(points) * channels +
                  8 * products * static_cast<double>(kept_count(p)));
}

}  // namespace danaus
