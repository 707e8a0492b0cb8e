#include "experiments/bench/work.hpp"

namespace danaus {
namespace {

double samples(const Convolution& p) {
  return static_cast<double>(p.batch) * static_cast<double>(p.channels) * static_cast<double>(p.length);
}

}  // namespace

double moved_bytes(const Convolution& p) {
  return static_cast<double>(bytes(p.dtype)) * samples(p) * (2 + p.pregate + p.postgate);
}

}  // namespace danaus
