#include "experiments/bench/work.hpp"

#include <cmath>

namespace danaus {
namespace {

double samples(const Convolution& p) {
  return static_cast<double>(p.batch) * static_cast<double>(p.channels) * static_cast<double>(p.length);
}

}  // namespace

double moved_bytes(const Convolution& p) {
  return static_cast<double>(bytes(p.dtype)) * samples(p) * (2 + p.pregate + p.postgate);
}

double useful_flops(const Convolution& p) {
  const double points = static_cast<double>(p.length) * (p.mode == Mode::causal ? 2 : 1);
  const double rows = static_cast<double>(p.batch) * static_cast<double>(p.channels);
  return rows * (5 * points * std::log2(points) + 3 * points) + samples(p) * (p.pregate + p.postgate);
}

}  // namespace danaus
