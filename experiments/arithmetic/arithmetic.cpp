#include "experiments/arithmetic/arithmetic.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/device/halves.hpp"

namespace danaus {
namespace {

using host::Factor;
using host::ProductRule;
using Word = std::uint32_t;
using Type = Instruction::Type;

Type type_of(Factor factor) {
  return factor == Factor::f16 ? Type::half : factor == Factor::bf16 ? Type::bfloat : Type::single;
}
Type output_type(const Instruction& of) { return of.is_product() ? (of.f16_sums ? Type::half : Type::single) : of.out; }

Word word_of(Type type, double value) {
  if (type == Type::half) return host::encode<Dtype::f16>(value);
  if (type == Type::bfloat) return host::encode<Dtype::bf16>(value);
  return std::bit_cast<Word>(static_cast<float>(value));
}
Word magnitude(Type type, Word word) { return word & (type == Type::single ? 0x7fffffffu : 0x7fffu); }
bool is_nan(Type type, Word word) {
  return magnitude(type, word) > (type == Type::half ? 0x7c00u : type == Type::bfloat ? 0x7f80u : 0x7f800000u);
}
bool same(Type type, Word a, Word b) { return a == b || (is_nan(type, a) && is_nan(type, b)); }

class OperandDraw {
 public:
  OperandDraw(OperandKind kind, std::uint64_t seed) : kind_(kind), random_(seed) {}

  // Of a type that is rounded to `narrow` next.
  Word operator()(Type type, Type narrow) {
    const double x = normal_(random_);
    switch (kind_) {
      case OperandKind::wide: return word_of(type, std::ldexp(x, below(20) - 10));
      case OperandKind::tiny: return word_of(type, std::ldexp(x, -16));
      case OperandKind::integers: return word_of(type, std::round(4 * x));
      case OperandKind::sparse: return word_of(type, below(2) ? (below(2) ? 0. : -0.) : std::ldexp(x, -below(30)));
      case OperandKind::faint: return word_of(type, std::ldexp(x, type == Type::half ? -12 : below(40) - 70));
      case OperandKind::extreme:
        return word_of(type, std::ldexp(x, type == Type::half ? below(42) - 25 : below(280) - 150));
      case OperandKind::ties: return next_to_a_tie(type, narrow, x);
      case OperandKind::bits: return static_cast<Word>(random_()) & (type == Type::single ? ~0u : 0xffffu);
      default: return word_of(type, x);
    }
  }
  Word sum(Type type) {
    if (kind_ == OperandKind::cancelling) return 0;
    if (kind_ == OperandKind::faint) return word_of(type, std::ldexp(normal_(random_), -80));
    return (*this)(type, type);
  }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<std::uint64_t>(count)); }
  Word next_to_a_tie(Type type, Type narrow, double x) {
    if (narrow == Type::single || type != Type::single) return word_of(type, std::ldexp(x, below(8) - 4));
    const Word half = static_cast<Word>(random_() & 0x7fff);
    const auto value = [&](Word word) -> double {
      return narrow == Type::half ? host::decode<Dtype::f16>(static_cast<std::uint16_t>(word))
                                  : host::decode<Dtype::bf16>(static_cast<std::uint16_t>(word));
    };
    const double tie = (value(half) + value(half + 1)) / 2;
    if (!std::isfinite(tie)) return word_of(type, x);
    const Word word = word_of(type, x < 0 ? -tie : tie);
    return word + static_cast<Word>(below(3)) - 1;
  }

  OperandKind kind_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

// The second half of the factors repeats the first, negated and but for one bit of one of them.
void cancel(const Instruction& of, OperandWords& operands) {
  const Word sign = of.factor == Factor::tf32 ? 0x80000000u : 0x8000u, bit = of.factor == Factor::tf32 ? 1u << 13 : 1u;
  const int half = of.depth / 2;
  for (std::size_t row = 0; row < operands.a.size() / of.depth; ++row)
    for (int k = 0; k < half; ++k) {
      Word* const a = &operands.a[row * of.depth];
      a[k + half] = a[k] ^ sign ^ (k == 0 ? bit : 0u);
    }
  for (int item = 0; item < operands.items; ++item)
    for (int k = 0; k < half; ++k)
      for (int j = 0; j < of.columns; ++j) {
        Word* const b = &operands.b[std::size_t(item) * of.depth * of.columns];
        b[(k + half) * of.columns + j] = b[k * of.columns + j];
      }
}

// A product in the middle of two of the least halves, and one that is far less: sums are next to the middle, by a few
// of the last bits that are summed.
void approach_ties(const Instruction& of, OperandWords& operands, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Type type = type_of(of.factor);
  const auto draw = [&](int first, int most, int exponent) {
    const int number = first + static_cast<int>(random() % static_cast<std::uint64_t>(most));
    return word_of(type, std::ldexp(random() % 2 == 0 ? number : -number, exponent));
  };
  std::ranges::fill(operands.a, 0u), std::ranges::fill(operands.b, 0u), std::ranges::fill(operands.c, 0u);
  for (std::size_t row = 0; row < operands.a.size(); row += static_cast<std::size_t>(of.depth)) {
    const int k = static_cast<int>(random() % static_cast<std::uint64_t>(of.depth - 1));
    operands.a[row] = draw(1, 63, -13), operands.a[row + 1 + static_cast<std::size_t>(k)] = draw(1, 63, -24);
  }
  const auto columns = static_cast<std::size_t>(of.columns);
  for (std::size_t at = 0; at < operands.b.size(); ++at)
    operands.b[at] = at / columns % static_cast<std::size_t>(of.depth) == 0 ? draw(1, 1, -12) : draw(1, 3, -24);
}

// Of one output.
Miss operands_of(const Instruction& of, const OperandWords& operands, std::size_t at) {
  Miss miss{};
  if (!of.is_product()) {
    miss.a = {operands.a[at]}, miss.b = {operands.b[at]}, miss.c = operands.c[at];
    return miss;
  }
  const std::size_t item = at / of.outputs(), row = at / of.columns, column = at % of.columns;
  for (int k = 0; k < of.depth; ++k) {
    miss.a.push_back(operands.a[row * of.depth + k]);
    miss.b.push_back(operands.b[(item * of.depth + k) * of.columns + column]);
  }
  miss.c = of.adds ? operands.c[at] : 0;
  return miss;
}

constexpr std::size_t kMostTried = 20000;  // outputs that other rules are tried on

// Outputs that other rules are to fit: all of the first chunks of each kind that has misses.
struct Tried {
  std::vector<Miss> outputs;
  void add(const Instruction& of, const OperandWords& operands, const std::vector<Word>& computed) {
    for (std::size_t i = 0; i < computed.size() && outputs.size() < kMostTried; ++i) {
      outputs.push_back(operands_of(of, operands, i));
      outputs.back().computed = computed[i];
    }
  }
};

std::string rule_in_words(int group, int fraction_bits) {
  return text("groups of ", group, ", ", fraction_bits, " bits");
}

std::string followed_product(const Instruction& of, const Tried& tried) {
  std::size_t least = tried.outputs.size();
  std::string nearest;
  for (int group = of.depth; group >= 1; group /= 2)
    for (int bits = 20; bits <= 28; ++bits) {
      std::size_t misses = 0;
      for (const Miss& each : tried.outputs)
        misses += !same(output_type(of), each.computed,
                        host::multiply_add({group, bits}, of.factor, of.f16_sums, each.a, each.b, each.c));
      if (misses >= least) continue;
      least = misses, nearest = rule_in_words(group, bits);
    }
  if (least == 0) return nearest;
  return text("no rule that was tried; the nearest, ", nearest, ", misses ", least, " of ", tried.outputs.size());
}

// What single operations of other machines may do.
std::string followed_single(const Instruction& of, const Tried& tried) {
  const auto flushed = [](Type type, Word word) {
    const Word least = type == Type::half ? 0x400u : type == Type::bfloat ? 0x80u : 0x800000u;
    return magnitude(type, word) < least ? word ^ magnitude(type, word) : word;
  };
  const struct {
    std::string_view words;
    bool operands, results;
  } kOthers[] = {{"subnormal results are zero", false, true},
                 {"subnormal operands are zero", true, false},
                 {"subnormal operands and results are zero", true, true}};
  if (!of.expected) return "no rule that was tried";
  for (const auto& other : kOthers) {
    const bool fits = std::ranges::all_of(tried.outputs, [&](const Miss& each) {
      const auto operand = [&](Word word) { return other.operands ? flushed(of.in, word) : word; };
      const Word result = of.expected(operand(each.a[0]), operand(each.b[0]), operand(each.c));
      return same(of.out, each.computed, other.results ? flushed(of.out, result) : result);
    });
    if (fits) return std::string(other.words);
  }
  return "no rule that was tried";
}

Json hexadecimal(const std::vector<Word>& words) {
  Json list = Json::array();
  for (const Word word : words) {
    std::ostringstream digits;
    digits << "0x" << std::hex << word;
    list.push_back(digits.str());
  }
  return list;
}

}  // namespace

OperandWords draw_operands(const Instruction& of, OperandKind kind, int items, std::uint64_t seed) {
  OperandDraw draw(kind, seed);
  OperandWords operands;
  operands.items = items;
  const auto count = static_cast<std::size_t>(items);
  if (of.is_product()) {
    const Type type = type_of(of.factor);
    operands.a.resize(count * of.rows * of.depth), operands.b.resize(count * of.depth * of.columns);
    operands.c.resize(count * of.outputs());
    for (auto* const words : {&operands.a, &operands.b})
      for (Word& word : *words) word = draw(type, type);
    for (Word& word : operands.c) word = draw.sum(output_type(of));
    if (kind == OperandKind::cancelling) cancel(of, operands);
    if (kind == OperandKind::ties && type == Type::half) approach_ties(of, operands, seed);
    return operands;
  }
  for (auto* const words : {&operands.a, &operands.b, &operands.c}) {
    words->resize(count);
    for (Word& word : *words) word = draw(of.in, of.out);
  }
  if (kind == OperandKind::cancelling)  // a - b, and a b + c, next to zero
    for (std::size_t i = 0; i < count; ++i) operands.b[i] = operands.a[i] ^ static_cast<Word>(i % 3);
  return operands;
}

ProductRule rule_of(const Instruction& of, int sm) {
  const host::ArchitectureRule* rule = &host::kProductRules.front();
  for (const host::ArchitectureRule& each : host::kProductRules)
    if (each.sm <= sm) rule = &each;
  return of.factor == Factor::tf32 ? rule->tf32 : rule->halves;
}

std::string in_words(const Instruction& of, const ProductRule& rule) {
  return of.is_product() ? rule_in_words(std::min(rule.group, of.depth), rule.fraction_bits) : std::string(of.rule);
}

Findings hold(const Instruction& of, const ProductRule& rule, std::int64_t count, std::uint64_t seed,
              const RunInstruction& run) {
  constexpr std::int64_t kMostOutputs = 1 << 20;  // of a run
  constexpr std::int64_t kWarp = 32;
  Findings findings;
  Tried tried;
  const auto kinds = static_cast<std::int64_t>(kOperandKinds.size());
  const std::int64_t of_kind = (count + kinds - 1) / kinds;
  for (std::int64_t number = 0; number < kinds; ++number) {
    const auto kind = static_cast<OperandKind>(number);
    bool missed = false;
    for (std::int64_t left = of_kind; left > 0;) {
      std::int64_t items = (std::min(left, kMostOutputs) + of.outputs() - 1) / of.outputs();
      if (!of.is_product()) items = (items + kWarp - 1) / kWarp * kWarp;
      const OperandWords operands = draw_operands(of, kind, static_cast<int>(items), seed++);
      const std::vector<Word> computed = run(operands), expected = expected_outputs(of, operands, rule);
      const std::int64_t before = findings.misses;
      for (std::size_t i = 0; i < computed.size(); ++i) {
        if (same(output_type(of), computed[i], expected[i])) continue;
        ++findings.misses;
        findings.zero_signs += magnitude(output_type(of), computed[i] | expected[i]) == 0;
        if (findings.first) continue;
        findings.first = operands_of(of, operands, i);
        findings.first->kind = kind, findings.first->computed = computed[i], findings.first->expected = expected[i];
      }
      if (findings.misses > before && !std::exchange(missed, true)) {
        Tried of_chunk;
        of_chunk.add(of, operands, computed);
        const std::size_t most = kMostTried / kOperandKinds.size();
        of_chunk.outputs.resize(std::min(of_chunk.outputs.size(), most));
        std::ranges::move(of_chunk.outputs, std::back_inserter(tried.outputs));
      }
      findings.outputs += std::ssize(computed), left -= std::ssize(computed);
    }
  }
  if (findings.misses > 0)
    findings.follows = of.is_product() ? followed_product(of, tried) : followed_single(of, tried);
  return findings;
}

Json row_of(const Instruction& of, const ProductRule& rule, const Findings& findings, const Device& device) {
  Json row = {{"device", device_block(device)}, {"instruction", of.name},    {"rule", in_words(of, rule)},
              {"outputs", findings.outputs},    {"misses", findings.misses}, {"zero_signs", findings.zero_signs}};
  if (findings.misses == 0) return row;
  row["follows"] = findings.follows;
  const Miss& first = *findings.first;
  row["first"] = {{"data", kOperandKinds[static_cast<std::size_t>(first.kind)]},
                  {"a", hexadecimal(first.a)},
                  {"b", hexadecimal(first.b)},
                  {"c", hexadecimal({first.c})[0]},
                  {"expected", hexadecimal({first.expected})[0]},
                  {"computed", hexadecimal({first.computed})[0]}};
  return row;
}

}  // namespace danaus
