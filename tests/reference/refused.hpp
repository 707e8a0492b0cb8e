// What is said to a token that no case has.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "reference/operation.hpp"

namespace danaus {

inline std::string refused(std::string_view token) {
  try {
    parse_case(token);
    return "none";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

}  // namespace danaus
