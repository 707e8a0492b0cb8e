// Operations, and a case of any of them as one value.
//
// An operation is a folder here: a struct of what is asked, its token, its arrays (operation.cpp), and the truth in
// double (truth.cpp, by truth.hpp). It is found by the first word of a token. CMake lists the folders; nothing else
// knows them by name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/basics.hpp"

namespace danaus {

enum class Role {
  input,   // comes with every call
  filter,  // is prepared once and serves many calls: a filter's taps, a layer's weights
  output,
};

// An array that a case reads or writes: contiguous, the last extent fastest.
struct Array {
  std::string_view name;
  Role role;
  Dtype dtype;
  std::vector<std::int64_t> extents;
  bool batched;            // its first extent is the batch
  std::string_view shape;  // the extents' names, as messages have them: B*H*L
  std::int64_t size() const {
    std::int64_t product = 1;
    for (std::int64_t extent : extents) product *= extent;
    return product;
  }
  // Of a number, which complex ones have as a last extent: they lie together.
  int parts() const { return shape.ends_with("*2") ? 2 : 1; }
};

namespace detail {

struct AnyAsked {
  virtual ~AnyAsked() = default;
  virtual std::string get_token() const = 0;
  virtual std::vector<Array> get_arrays() const = 0;
  virtual double get_flops() const = 0;
};
template <class Asked>
struct AskedOf final : AnyAsked {
  explicit AskedOf(Asked asked) : value(std::move(asked)) {}
  std::string get_token() const override { return token(value); }
  std::vector<Array> get_arrays() const override { return arrays(value); }
  double get_flops() const override { return useful_flops(value); }
  Asked value;
};

}  // namespace detail

// A struct of an operation, whichever it is. For a struct Asked these are found by its namespace:
//   std::string token(const Asked&)            the case as one word
//   std::vector<Array> arrays(const Asked&)    what it reads and writes
//   double useful_flops(const Asked&)          by FFTW's convention
class Case {
 public:
  template <class Asked>
  requires(!std::is_same_v<std::remove_cvref_t<Asked>, Case>) Case(Asked asked)
      : asked_(std::make_shared<detail::AskedOf<Asked>>(std::move(asked))) {}

  // Null where the case is of another operation.
  template <class Asked>
  const Asked* as() const {
    const auto* of = dynamic_cast<const detail::AskedOf<Asked>*>(asked_.get());
    return of ? &of->value : nullptr;
  }

  std::string token() const { return asked_->get_token(); }
  std::vector<Array> arrays() const { return asked_->get_arrays(); }
  double useful_flops() const { return asked_->get_flops(); }

 private:
  std::shared_ptr<const detail::AnyAsked> asked_;
};

struct Operation {
  std::string_view word;  // that its tokens begin with
  std::string_view summary;
  Case (*parse)(std::string_view token);
};

std::span<const Operation> operations();

// A case of the operation that the token names. Throws std::invalid_argument, and lists the operations where it names
// none of them.
Case parse_case(std::string_view token);

}  // namespace danaus
