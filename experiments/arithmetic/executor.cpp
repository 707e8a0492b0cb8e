#include <utility>

#include "experiments/arithmetic/instructions.hpp"
#include "experiments/arithmetic/order.hpp"

namespace danaus {
namespace {

template <auto instruction>
struct InstructionOnExecutor {
  static void function(const arithmetic::Operands& operands) { arithmetic::run<instruction>(operands); }
};
using RunOnExecutor = void (*)(const arithmetic::Operands&);

}  // namespace

std::vector<std::uint32_t> run_on_executor(std::size_t number, const OperandWords& operands) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(operands.items) * instructions()[number].outputs());
  host::Executor executor;
  const auto declare = [&](const char* name, const std::vector<std::uint32_t>& words, bool writable) {
    executor.declare(name, words.data(), 4 * words.size(), writable);
  };
  declare("a", operands.a, false), declare("b", operands.b, false), declare("c", operands.c, false);
  declare("out", out, true);
  const arithmetic::Operands of{operands.a.data(), operands.b.data(), operands.c.data(), out.data(), operands.items};
  executor.run({.threads = arithmetic::kThreads, .shared_bytes = arithmetic::kSharedBytes},
               [&] { arithmetic::kFunctions<InstructionOnExecutor, RunOnExecutor>.of[number](of); });
  return out;
}

}  // namespace danaus
