// The launches of a plan, part by part, so that each part can be timed alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/operations/subject.hpp"

namespace danaus {

// What is launched one after the other, and the output that it ends in:
//   "filter"           whatever is made of the filter
//   "y", "du", ...     the steps that write this output
//   "dk taps", ...     those launches of such a step that are of a family, where it has several
//   "du+dpregate ..."  those that write several outputs at once
struct Part {
  std::string name;
  std::vector<Launch> launches;
};

class Parts {
 public:
  // Of a case without a mask; all memory that the launches need is allocated. Throws where no kernel computes the case.
  Parts(const Case& asked, std::shared_ptr<const Machine> machine);

  const Machine& machine() const { return *machine_; }
  // Launches for these arrays, in the order in which a plan has them. Each reads what those before it left; but where a
  // step takes a few channels at a time, its families take turns: launched part by part they give times, no results.
  std::vector<Part> bound_to(const DeviceArrays& arrays) const;

 private:
  struct Bound {
    std::unique_ptr<Step> step;
    std::shared_ptr<void> constants;
    std::size_t words;
  };

  std::shared_ptr<const Machine> machine_;
  std::vector<Array> arrays_;
  std::int64_t batch_;
  std::vector<Bound> prepare_, execute_;
  std::shared_ptr<void> prepared_, workspace_;
};

}  // namespace danaus
