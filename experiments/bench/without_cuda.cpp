#include "experiments/bench/bencher.hpp"

namespace danaus {

std::unique_ptr<Bencher> make_bencher(const Device& device, const Protocol&) {
  fail("bench: ", device.name, " is asked for, but this build has no CUDA");
}

}  // namespace danaus
