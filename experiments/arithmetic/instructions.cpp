#include "experiments/arithmetic/instructions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/executor/operations.hpp"

namespace danaus {
namespace {

using host::decode;
using host::encode;
using host::Factor;
using Word = std::uint32_t;
using enum Instruction::Type;

constexpr std::string_view kOnce = "rounded once, to nearest even";

Instruction product(std::string_view name, int rows, int columns, int depth, Factor factor, bool f16_sums = false,
                    bool adds = true) {
  const bool group = rows == 64;
  return {.name = name,
          .rows = rows,
          .columns = columns,
          .depth = depth,
          .factor = factor,
          .f16_sums = f16_sums,
          .adds = adds,
          .least_sm = group ? 90 : 80,
          .most_sm = group ? 90 : 1000};
}

template <Dtype T>
double value(Word word) {
  return decode<T>(static_cast<std::uint16_t>(word));
}
float single_of(Word word) { return std::bit_cast<float>(word); }
Word word_of_single(float value) { return std::bit_cast<Word>(value); }

// Of a times b and c, with the signs of the operation.
template <Dtype T, class Exact>
Word packed(Exact exact, Word a, Word b, Word c) {
  return encode<T>(exact(value<T>(a), value<T>(b), value<T>(c)));
}
template <Dtype T>
Word sum(Word a, Word b, Word c) {
  return packed<T>([](double x, double y, double) { return device::detail::odd_sum(x, y); }, a, b, c);
}
template <Dtype T>
Word difference(Word a, Word b, Word c) {
  return packed<T>([](double x, double y, double) { return device::detail::odd_sum(x, -y); }, a, b, c);
}
template <Dtype T>
Word times(Word a, Word b, Word c) {
  return packed<T>([](double x, double y, double) { return x * y; }, a, b, c);
}
template <Dtype T>
Word fused_sum(Word a, Word b, Word c) {
  return packed<T>([](double x, double y, double z) { return device::detail::odd_sum(x * y, z); }, a, b, c);
}
template <Dtype T>
Word fused_difference(Word a, Word b, Word c) {
  return packed<T>([](double x, double y, double z) { return device::detail::odd_sum(x * y, -z); }, a, b, c);
}
template <Dtype T>
Word greater(Word a, Word b, Word c) {
  const auto exact = [](double x, double y, double) { return x == y ? (std::signbit(x) ? y : x) : std::fmax(x, y); };
  return packed<T>(exact, a, b, c);
}
template <Dtype T>
Word narrowed(Word a, Word, Word) {
  return encode<T>(single_of(a));
}
template <Dtype T>
Word widened(Word a, Word, Word) {
  return word_of_single(static_cast<float>(value<T>(a)));
}
Word nearest_tf32(Word a, Word, Word) { return (std::isfinite(single_of(a)) ? a + 0x1000u : a) & ~0x1fffu; }
Word scaled_bf16(Word a, Word b, Word) {
  return encode<Dtype::bf16>(static_cast<float>(value<Dtype::f16>(a)) * single_of((b % 254 + 1) << 23));
}
Word sum_f32(Word a, Word b, Word) { return word_of_single(single_of(a) + single_of(b)); }
Word product_f32(Word a, Word b, Word) { return word_of_single(single_of(a) * single_of(b)); }
Word quotient_f32(Word a, Word b, Word) { return word_of_single(single_of(a) / single_of(b)); }

Instruction single_operation(std::string_view name, Instruction::Type in, Instruction::Type out,
                             Word (*expected)(Word, Word, Word), std::string_view rule = kOnce) {
  return {.name = name, .in = in, .out = out, .expected = expected, .rule = rule};
}

// In the order of experiments/arithmetic/order.hpp.
const std::vector<Instruction>& all() {
  using enum Dtype;
  static const std::vector<Instruction> kAll = {
      product("mma.m16n8k16.f32.f16", 16, 8, 16, Factor::f16),
      product("mma.m16n8k16.f32.bf16", 16, 8, 16, Factor::bf16),
      product("mma.m16n8k16.f16.f16", 16, 8, 16, Factor::f16, true),
      product("mma.m16n8k8.f32.f16", 16, 8, 8, Factor::f16),
      product("mma.m16n8k8.f32.bf16", 16, 8, 8, Factor::bf16),
      product("mma.m16n8k8.f16.f16", 16, 8, 8, Factor::f16, true),
      product("mma.m16n8k8.f32.tf32", 16, 8, 8, Factor::tf32),
      product("wgmma.m64n64k16.f32.f16", 64, 64, 16, Factor::f16),
      product("wgmma.m64n64k16.f32.bf16", 64, 64, 16, Factor::bf16),
      product("wgmma.m64n128k16.f32.f16", 64, 128, 16, Factor::f16),
      product("wgmma.m64n128k16.f32.bf16", 64, 128, 16, Factor::bf16),
      product("wgmma.m64n64k16.f32.f16, without c", 64, 64, 16, Factor::f16, false, false),
      single_operation("add.f16x2", half, half, sum<f16>),
      single_operation("add.bf16x2", bfloat, bfloat, sum<bf16>),
      single_operation("sub.f16x2", half, half, difference<f16>),
      single_operation("sub.bf16x2", bfloat, bfloat, difference<bf16>),
      single_operation("mul.f16x2", half, half, times<f16>),
      single_operation("mul.bf16x2", bfloat, bfloat, times<bf16>),
      single_operation("fma.f16x2", half, half, fused_sum<f16>),
      single_operation("fma.bf16x2", bfloat, bfloat, fused_sum<bf16>),
      single_operation("fma.f16x2 of -c", half, half, fused_difference<f16>),
      single_operation("fma.bf16x2 of -c", bfloat, bfloat, fused_difference<bf16>),
      single_operation("max.f16x2", half, half, greater<f16>, "of a number and NaN the number; +0 above -0"),
      single_operation("max.bf16x2", bfloat, bfloat, greater<bf16>, "of a number and NaN the number; +0 above -0"),
      single_operation("cvt.rn.f16x2.f32", single, half, narrowed<f16>),
      single_operation("cvt.rn.bf16x2.f32", single, bfloat, narrowed<bf16>),
      single_operation("cvt.f32.f16", half, single, widened<f16>, "exact"),
      single_operation("bf16 to f32", bfloat, single, widened<bf16>, "exact"),
      single_operation("cvt.rna.tf32.f32", single, single, nearest_tf32, "to nearest, ties away from zero"),
      single_operation("operand of tf32", single, single, nearest_tf32, "to nearest, ties away from zero"),
      single_operation("f16 scaled to bf16", half, bfloat, scaled_bf16, "rounded to fp32, then to bf16"),
      single_operation("add.f32", single, single, sum_f32),
      single_operation("mul.f32", single, single, product_f32),
      single_operation("div.f32", single, single, quotient_f32),
      single_operation("redux.max.u32", single, single, nullptr, "the greatest word of the warp"),
  };
  return kAll;
}

}  // namespace

std::span<const Instruction> instructions() { return all(); }

std::vector<Word> expected_outputs(const Instruction& of, const OperandWords& operands, const host::ProductRule& rule) {
  std::vector<Word> outputs(static_cast<std::size_t>(operands.items) * of.outputs());
  if (!of.is_product()) {
    constexpr int kWarp = 32;
    for (int i = 0; i < operands.items; ++i) {
      const Word* const warp = operands.a.data() + i / kWarp * kWarp;
      outputs[i] = of.expected ? of.expected(operands.a[i], operands.b[i], operands.c[i])
                               : *std::max_element(warp, warp + kWarp);
    }
    return outputs;
  }
  constexpr int kTileRows = 16, kTileColumns = 8;
  std::vector<Word> b(static_cast<std::size_t>(of.depth) * kTileColumns), sums(kTileRows * kTileColumns);
  for (int item = 0; item < operands.items; ++item)
    for (int column = 0; column < of.columns; column += kTileColumns) {
      for (int k = 0; k < of.depth; ++k)
        std::copy_n(&operands.b[(std::size_t(item) * of.depth + k) * of.columns + column], kTileColumns,
                    &b[std::size_t(k) * kTileColumns]);
      for (int row = 0; row < of.rows; row += kTileRows) {
        const auto at = [&](int r) { return (std::size_t(item) * of.rows + row + r) * of.columns + column; };
        for (int r = 0; r < kTileRows; ++r)
          if (of.adds)
            std::copy_n(&operands.c[at(r)], kTileColumns, &sums[std::size_t(r) * kTileColumns]);
          else
            std::fill_n(&sums[std::size_t(r) * kTileColumns], kTileColumns, 0u);
        host::multiply_tile(rule, of.factor, of.f16_sums, of.depth,
                            &operands.a[(std::size_t(item) * of.rows + row) * of.depth], b.data(), sums.data());
        for (int r = 0; r < kTileRows; ++r)
          std::copy_n(&sums[std::size_t(r) * kTileColumns], kTileColumns, &outputs[at(r)]);
      }
    }
  return outputs;
}

}  // namespace danaus
