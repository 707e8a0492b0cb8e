// What a token asks for, as fields of a row.
#pragma once

#include <string_view>

#include "experiments/cli/environment.hpp"
#include "reference/grammar.hpp"

namespace danaus {

// The token's fields by the names of its operation's grammar (danaus help tokens): {"operation": "fftconv", "dtype":
// "f16", "mode": "causal", "l": 1024, "b": 64, "h": 768, "r": [8, 128], "pregate": true}. Fields that the token leaves
// out are missing. `token` is a case's, or the beginning of one.
Json asked_fields(std::string_view token);

// A field as rows have it: "type_of_k", and "word", "one_of", "number", "list" or "other".
std::string name_in_rows(const TokenField& field);
std::string_view kind_in_rows(const TokenField& field);

}  // namespace danaus
