// Every instruction whose result the kernels round, by number: what it is, its rule, and how to run it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/executor/product_rule.hpp"
#include "kernels/plan/machine.hpp"

namespace danaus {

struct Instruction {
  std::string_view name;
  // Of a product; a single operation has one row and one column, and `depth` 0.
  int rows = 1, columns = 1, depth = 0;
  host::Factor factor = host::Factor::f16;
  bool f16_sums = false, adds = true;
  int least_sm = 80, most_sm = 1000;
  // Of a single operation.
  enum class Type { half, bfloat, single } in = Type::single, out = Type::single;
  std::uint32_t (*expected)(std::uint32_t a, std::uint32_t b, std::uint32_t c) = nullptr;
  std::string_view rule = {};  // in words

  bool is_product() const { return depth > 0; }
  int outputs() const { return rows * columns; }  // of an item
};
std::span<const Instruction> instructions();

// Words of operands of so many items: a [items, rows, depth], b [items, depth, columns], c [items, rows, columns]; of
// single operations [items] each.
struct OperandWords {
  int items = 0;
  std::vector<std::uint32_t> a, b, c;
};

// Runs instructions()[number]; [items, rows, columns].
std::vector<std::uint32_t> run_on_executor(std::size_t number, const OperandWords& operands);
// In builds with CUDA.
std::vector<std::uint32_t> run_on_gpu(std::size_t number, const OperandWords& operands, const Device& device);

// What the rule gives: of a product by `rule`, else by the instruction's own.
std::vector<std::uint32_t> expected_outputs(const Instruction& instruction, const OperandWords& operands,
                                            const host::ProductRule& rule);

}  // namespace danaus
