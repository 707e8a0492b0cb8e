// How an operation is studied: which of its cases are drawn at random, verified and timed by default. Each kind of
// operation has a file here, and a line in study.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/operations/subject.hpp"
#include "reference/operation.hpp"

namespace danaus {

// How far cases go.
struct Domain {
  bool wide;
  std::int64_t longest = wide ? std::int64_t{1} << 19 : 32768;  // rows of convolutions
  std::int64_t samples = std::int64_t{1} << (wide ? 20 : 17);
  std::int64_t products = std::int64_t{1} << (wide ? 24 : 21);  // of taps, or steps of states
};

class Draw {
 public:
  Draw(std::uint64_t seed, const Domain& of) : domain(of), random_(seed) {}
  const Domain domain;
  std::int64_t from(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  // As many small ones as large ones.
  std::int64_t of_any_scale(std::int64_t most) {
    const double bits = std::log2(static_cast<double>(most)) * static_cast<double>(random_() >> 11) * 0x1p-53;
    return std::clamp<std::int64_t>(std::llround(std::exp2(bits)), 1, most);
  }
  // One end of 1 to `most`, or both, and as often what is between: evenly, or of any scale.
  std::int64_t with_ends(std::int64_t most) {
    switch (from(0, 5)) {
      case 0: return 1;
      case 1: return most;
      case 2: return std::max<std::int64_t>(most - from(0, 9), 1);
      case 3: return from(1, most);
      default: return of_any_scale(most);
    }
  }
  template <class T>
  T one_of(std::initializer_list<T> options) {
    return options.begin()[from(0, std::ssize(options) - 1)];
  }

 private:
  std::mt19937_64 random_;
};

struct StudiedOperation {
  std::string_view word;
  Case (*draw)(Draw& draw);
  std::set<std::string> (*families)();  // of the kernels that a plan may run, those that prepare among them
  bool of_layers = false;               // whose arrays share an offset
};

// Cases that danaus verify judges by default, and what they are there to vary.
struct TrialGroup {
  std::string_view name;
  std::string pattern;  // expanded()
};

// Cases that danaus bench times by --sweep.
struct CaseSweep {
  std::string_view name;
  std::string_view question;
  std::function<std::vector<Case>()> cases;
};

struct Study {
  std::unique_ptr<const Subject> (*subject)(const Case& asked);  // null where the case is of another operation
  std::vector<StudiedOperation> operations;                      // the default first
  std::vector<TrialGroup> trials;
  std::vector<CaseSweep> sweeps;  // of convolutions in bench/sweeps.cpp
};

const std::vector<Study>& studies();
const std::vector<StudiedOperation>& studied_operations();              // of all of them
const StudiedOperation* find_studied_operation(std::string_view word);  // null where there is none

// Tokens of which braces give the choices: "l{8,16}_b{1,2}" is l8_b1, l8_b2, l16_b1, l16_b2.
std::vector<std::string> expanded(std::string_view pattern);
// The cases of such patterns.
std::function<std::vector<Case>()> cases_of(std::vector<std::string> patterns);

// What study.cpp lists.
Study convolution_study();
Study layer_study();
Study short_study();
Study state_study();

}  // namespace danaus
