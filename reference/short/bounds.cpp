#include "reference/short/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/bounds.hpp"

namespace danaus {
namespace {

int gates_of(const ShortConvolution& p) { return p.pregate + p.postgate; }

double root_of_sum(const std::vector<double>& squares) {
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.));
}

}  // namespace

std::vector<OutputBound> bounds_of_short(const ShortConvolution& p, const Values& values, int roundings) {
  return {{"y", bound_l2_of_roundings(p.dtype, roundings + gates_of(p)), summed(p, values)}};
}

// A gradient's kernel may be another one than du's, whose roundings are told: toeplitz, with two. It has the gate
// before it and, of gates' gradients, u or dy behind it.
std::vector<OutputBound> bounds_of_short_gradients(const ShortConvolution& p, const Values& values, int roundings) {
  const ShortGradients squares = summed_gradients(p, values);
  const double du = bound_l2_of_roundings(p.dtype, roundings + gates_of(p));
  const double of_gates = bound_l2_of_roundings(p.dtype, std::max(roundings, 2) + 2);
  const double of_sums = bound_l2_of_roundings(p.dtype, gates_of(p)) + 0x1p-13;
  std::vector<OutputBound> bounds = {{"du", du, root_of_sum(squares.du)}};
  if (p.pregate) bounds.push_back({"dpregate", of_gates, root_of_sum(squares.dpregate)});
  if (p.postgate) bounds.push_back({"dpostgate", of_gates, root_of_sum(squares.dpostgate)});
  bounds.push_back({"dk", of_sums, root_of_sum(squares.dk)});
  if (p.bias) bounds.push_back({"dbias", of_sums, root_of_sum(squares.dbias)});
  return bounds;
}

}  // namespace danaus
