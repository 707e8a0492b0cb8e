// Included in front of every file of a build with drawn mutations (drawn.py). One program holds all faults. The
// environment variable DANAUS_MUTANT chooses one.
//
//   a + b   becomes   a + danaus_mutants::Operator<number, '+'>{} + b
//   8       becomes   danaus_mutants::constant<number>(8)
//
// Constant expressions keep their values. With DANAUS_REACHED=FILE the program appends the numbers of the mutants that
// it reached, when it ends.
#pragma once

#include <cstdlib>
#include <fstream>
#include <type_traits>

namespace danaus_mutants {

inline const int kActive = [] {
  const char* const number = std::getenv("DANAUS_MUTANT");
  return number ? std::atoi(number) : 0;
}();

struct Reached {
  static constexpr int kMost = 4096;
  bool by[kMost] = {};
  ~Reached() {
    const char* const path = std::getenv("DANAUS_REACHED");
    if (!path) return;
    std::ofstream file(path, std::ios::app);
    for (int number = 0; number < kMost; ++number)
      if (by[number]) file << number << '\n';
  }
};
inline Reached reached;

template <int number>
constexpr bool is_active() {
  static_assert(number < Reached::kMost);
  if (std::is_constant_evaluated()) return false;
  reached.by[number] = true;
  return kActive == number;
}

template <int number, class T>
constexpr T constant(T value) {
  return is_active<number>() ? static_cast<T>(value + 1) : value;
}

template <int number, char of>
struct Operator {};
template <class T, int number, char of>
struct Left {
  T value;
};

#define DANAUS_MUTATED(name, sign, other)                                                                   \
  template <class T, int number>                                                                            \
  constexpr auto operator sign(T left, Operator<number, name>) {                                            \
    return Left<T, number, name>{left};                                                                     \
  }                                                                                                         \
  template <class T, int number, class U>                                                                   \
  constexpr auto operator sign(Left<T, number, name> left, const U& right) {                                \
    if constexpr (requires { static_cast<decltype(left.value sign right)>(left.value other right); })       \
      if (is_active<number>()) return static_cast<decltype(left.value sign right)>(left.value other right); \
    return left.value sign right;                                                                           \
  }

DANAUS_MUTATED('+', +, -)
DANAUS_MUTATED('-', -, +)
DANAUS_MUTATED('*', *, +)
DANAUS_MUTATED('/', /, *)
DANAUS_MUTATED('%', %, +)
DANAUS_MUTATED('<', <, <=)
DANAUS_MUTATED('l', <=, <)
DANAUS_MUTATED('>', >, >=)
DANAUS_MUTATED('g', >=, >)
DANAUS_MUTATED('=', ==, !=)
DANAUS_MUTATED('!', !=, ==)
DANAUS_MUTATED('&', &, |)
DANAUS_MUTATED('|', |, &)
DANAUS_MUTATED('L', <<, >>)
DANAUS_MUTATED('R', >>, <<)

#undef DANAUS_MUTATED

}  // namespace danaus_mutants
