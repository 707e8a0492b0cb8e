// Which code a row is of: its field "code", and whether that is the code of today.
//
// A row of kernels has one digest of all that its plan launches for its case on its device: machine code, threads,
// blocks, shared memory, cluster and constants. Where the machine code is not known, since sources have changed after
// machine_code.py ran, it has that of the sources instead, "sources:" before it. A row of a baseline has the digest of
// the baseline's sources. A row of random cases has one digest of the kernels of its operation. A row of tests has one
// digest of all kernels.
#pragma once

#include <set>
#include <string>

#include "experiments/cli/environment.hpp"
#include "experiments/methods/method.hpp"

namespace danaus {

struct Code {
  std::string machine;  // empty: not known
  std::string sources;
  // Of what a compiler, as compiler_in_words() names it, makes of these sources.
  std::string words(std::string_view compiler) const;
  // Of this build, or where that has no CUDA, of the compiler that machine_code.py asked.
  std::string words() const;
};

Code code_of(const Method& method, const Case& asked, const Device& device);
// Of all kernels of these families, for an architecture.
Code code_of_families(const std::set<std::string>& families, int sm);
// The kernels that plans for an operation may run on a device.
Code code_of_operation(std::string_view word, const Device& device);
// Of whatever tests run on a device.
Code code_of_all_kernels(const Device& device);

// As far as its plans depend on it, of a row's field "device".
Device device_of(const Json& fields);

// Of what a row was timed, tested or counted with; nothing where it is of a kind that ages with the program alone.
std::optional<Code> code_of(const Json& row);

enum class Standing { current, stale, unknown };
// Whether what made a row is as it was: the kernels or the baseline, and what timed them where the row says it. It is
// not known where sources have changed, and nothing says of which machine code they are.
Standing standing_of(const Json& row, const Code& now);
std::optional<Standing> standing_of(const Json& row);  // nothing where there is no code_of() it

}  // namespace danaus
