// A caller of the C interfaces: what it sees of a case, in memory that ends where the library may not go on.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "python/native/study.h"

namespace danaus {

inline std::string last_error() { return danaus_last_error(); }

// A struct of the size that its header says, and nothing behind it.
template <class Struct>
Struct sized() {
  Struct made{};
  made.size = sizeof(Struct);
  return made;
}

inline std::vector<danaus_array_info> arrays_of(const std::string& token) {
  std::vector<danaus_array_info> list;
  for (;;) {
    const auto info = std::make_unique<danaus_array_info>(sized<danaus_array_info>());
    if (danaus_case_array(token.c_str(), static_cast<int>(list.size()), info.get()) != DANAUS_OK) return list;
    list.push_back(*info);
  }
}

inline std::size_t bytes_of(const char* dtype) {
  const std::string name = dtype;
  return name == "f64" ? 8 : name == "f32" ? 4 : 2;
}
inline std::size_t numbers_of(const danaus_array_info& info) {
  std::size_t count = 1;
  for (int i = 0; i < info.rank; ++i) count *= static_cast<std::size_t>(info.extents[i]);
  return count;
}

// All arrays of a case, each in memory of its own: of the case's types, or of double.
class CallArrays {
 public:
  CallArrays(const std::string& token, bool in_double) : infos_(arrays_of(token)) {
    for (const danaus_array_info& info : infos_) {
      const std::size_t bytes = numbers_of(info) * (in_double ? 8 : bytes_of(info.dtype));
      // new[] of char is aligned to 16 bytes, and ends with the array.
      memory_.push_back(std::make_unique<unsigned char[]>(bytes));
      all_.push_back({info.name, memory_.back().get(), bytes});
    }
  }
  // Those of the roles, in the case's order.
  std::vector<danaus_array> of(std::initializer_list<danaus_role> roles) const {
    std::vector<danaus_array> list;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (std::find(roles.begin(), roles.end(), infos_[i].role) != roles.end()) list.push_back(all_[i]);
    return list;
  }
  const std::vector<danaus_array>& all() const { return all_; }
  std::vector<danaus_array> filters() const { return of({DANAUS_FILTER}); }
  std::vector<danaus_array> others() const { return of({DANAUS_INPUT, DANAUS_OUTPUT}); }

 private:
  std::vector<danaus_array_info> infos_;
  std::vector<std::unique_ptr<unsigned char[]>> memory_;
  std::vector<danaus_array> all_;
};

inline danaus_plan* plan_on_executor(const std::string& token) {
  danaus_plan* plan = nullptr;
  danaus_plan_create_on_executor(token.c_str(), &plan);
  return plan;
}

inline std::string taken(danaus_text* text) {
  const std::string words = danaus_text_data(text);
  danaus_text_destroy(text);
  return words;
}

// The rows of a command, as one text.
inline std::string run(const std::vector<const char*>& words) {
  danaus_text* rows = nullptr;
  EXPECT_EQ(danaus_run(words.data(), words.size(), nullptr, &rows), DANAUS_OK) << last_error();
  return taken(rows);
}

}  // namespace danaus
