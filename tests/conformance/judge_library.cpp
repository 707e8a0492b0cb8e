// The judge for doors that are not of C++: a library that the tests in Python call by ctypes. Every function returns
// words that stay until the thread's next call; an error is words that begin with "error: ".
#include <cstdint>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "reference/convolution/mask.hpp"
#include "reference/half.hpp"
#include "reference/operation.hpp"
#include "tests/conformance/judge.hpp"

using namespace danaus;
using namespace danaus::conformance;

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

template <class Action>
const char* words_of(Action action) {
  static thread_local std::string words;
  try {
    words = action();
  } catch (const std::exception& error) {
    words = text("error: ", error.what());
  }
  return words.c_str();
}

std::string_view name_of(Role role) {
  return role == Role::input ? "input" : role == Role::filter ? "filter" : "output";
}

}  // namespace

// {"operations": [{"word", "summary"}]}
EXPORTED const char* conformance_operations() {
  return words_of([] {
    nlohmann::json list = nlohmann::json::array();
    for (const Operation& operation : operations())
      list.push_back({{"word", operation.word}, {"summary", operation.summary}});
    return list.dump();
  });
}

// [{"name", "role", "dtype", "extents", "batched"}]
EXPORTED const char* conformance_arrays(const char* token) {
  return words_of([&] {
    nlohmann::json list = nlohmann::json::array();
    for (const Array& array : parse_case(token).arrays())
      list.push_back({{"name", array.name},
                      {"role", name_of(array.role)},
                      {"dtype", name(array.dtype)},
                      {"extents", array.extents},
                      {"batched", array.batched}});
    return list.dump();
  });
}

// The values of an input or filter, as many as the array has.
EXPORTED const char* conformance_values(const char* token, const char* array, double* values) {
  return words_of([&] {
    std::ranges::copy(make_values(parse_case(token)).at(array), values);
    return std::string();
  });
}

// complaint() of outputs, by name. arithmetic: kernel, or tensor where gradients are rounded to the types of inputs;
// double; samples for PyTorch's own functions.
EXPORTED const char* conformance_complaint(const char* token, const char* arithmetic, const char* const* names,
                                           const double* const* values, int count) {
  return words_of([&] {
    const Case asked = parse_case(token);
    const Values inputs = make_values(asked);
    Values outputs;
    for (const Array& array : asked.arrays())
      for (int i = 0; i < count; ++i)
        if (array.name == names[i]) outputs[names[i]] = {values[i], values[i] + static_cast<std::size_t>(array.size())};
    const std::string_view by = arithmetic;
    if (by == "double") return complaint(asked, inputs, outputs, in_double(asked));
    Arithmetic arithmetic = by == "samples" ? in_samples_type(asked) : by_kernel(asked);
    if (by != "kernel") arithmetic = rounded_as_inputs(asked, arithmetic);
    return complaint(asked, inputs, outputs, arithmetic);
  });
}
