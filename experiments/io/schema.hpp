// The form of result rows: a JSON Schema for each kind, experiments/results/schemas/KIND.schema.json, compiled into the
// program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/cli/environment.hpp"

namespace danaus {

// The kinds that have a schema.
std::vector<std::string> row_kinds();

// The first place where a row is not as the schema of its kind says, in words: verify.status is null, must be "passed",
// "failed" or "skipped". Nothing where it is. Throws std::invalid_argument for a kind without a schema.
//
// Understood is what the schemas use, and whatever else one has is an error: type, const, enum, minimum, properties,
// required, additionalProperties, items, minItems, anyOf, $ref to #/$defs.
std::optional<std::string> violation(const std::string& kind, const Json& row);

}  // namespace danaus
