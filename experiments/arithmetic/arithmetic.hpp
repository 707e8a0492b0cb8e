// Holds instructions against their rules, on random and hostile operands.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/arithmetic/instructions.hpp"
#include "experiments/cli/environment.hpp"

namespace danaus {

enum class OperandKind {
  normal,
  wide,        // exponents of 20 binades
  tiny,        // about 2^-16: subnormal halves and products
  integers,    // exact
  cancelling,  // pairs of products that cancel but for a bit
  sparse,      // zeros of both signs, exponents of 30 binades
  faint,       // about the least that products in fp32 hold
  extreme,     // every exponent of the type
  ties,        // next to the middle of two results; of products of those of the least halves
  bits,        // any bits, infinities and NaN among them
};
inline constexpr std::array kOperandKinds = {"normal", "wide",  "tiny",    "integers", "cancelling",
                                             "sparse", "faint", "extreme", "ties",     "bits"};

OperandWords draw_operands(const Instruction& instruction, OperandKind kind, int items, std::uint64_t seed);

struct Miss {
  OperandKind kind;
  std::vector<std::uint32_t> a, b;  // the factors of the output
  std::uint32_t c, expected, computed;
};

struct Findings {
  std::int64_t outputs = 0, misses = 0;  // NaN is NaN, whatever its bits
  std::int64_t zero_signs = 0;           // of the misses: zeros of the other sign
  std::optional<Miss> first;
  std::string follows;  // a rule of others that all outputs that were tried fit, in words; or that none does
};

using RunInstruction = std::function<std::vector<std::uint32_t>(const OperandWords&)>;

// At least `count` outputs, in equal parts of each kind.
Findings hold(const Instruction& instruction, const host::ProductRule& rule, std::int64_t count, std::uint64_t seed,
              const RunInstruction& run);

// The rule that the instruction is held to on a device of this compute capability, times ten.
host::ProductRule rule_of(const Instruction& instruction, int sm);
std::string in_words(const Instruction& instruction, const host::ProductRule& rule);

// The fields of a result row.
Json row_of(const Instruction& instruction, const host::ProductRule& rule, const Findings& findings,
            const Device& device);

}  // namespace danaus
