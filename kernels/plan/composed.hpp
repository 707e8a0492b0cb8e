// Programs out of programs: one runs for another case, with arrays of its own.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/plan/arrays.hpp"
#include "kernels/plan/program.hpp"

namespace danaus {

// To where what stands beside begins.
constexpr std::int64_t aligned(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Memory between the programs of a composition, at the beginning of the workspace.
class Scratch {
 public:
  // A place for so many bytes, of each batch row or once; its number.
  int add(std::int64_t bytes, bool batched);
  std::int64_t bytes(std::int64_t batch) const { return begin(std::ssize(places_), batch); }
  std::int64_t begin(std::int64_t place, std::int64_t batch) const;
  void* at(int place, const Call& call) const {
    return static_cast<std::byte*>(call.workspace) + begin(place, call.batch);
  }

 private:
  struct Place {
    std::int64_t bytes;
    bool batched;
  };
  std::vector<Place> places_;
};

// Where an array of the inner case is: one of the outer case from a byte on, or a place of the scratch.
struct Source {
  std::string_view name;  // in the inner case
  int array = -1;         // of the outer case
  int place = -1;         // of the scratch
  std::int64_t skipped = 0;
};

// One step of the inner case, for a call of the outer one. What it prepares is `prepared` bytes into the outer case's.
std::unique_ptr<Step> make_inner(std::unique_ptr<Step> step, const Case& inner, std::span<const Source> sources,
                                 const Scratch& scratch, std::int64_t prepared);

// Adds a program's steps behind those that are there. Places of filters are of the scratch of what prepares, others of
// that of what executes.
void append(Program& to, Program&& program, const Case& inner, std::span<const Source> sources,
            const Scratch& preparing, const Scratch& executing);

}  // namespace danaus
