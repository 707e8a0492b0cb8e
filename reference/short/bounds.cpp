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

// A gradient's kernel may be another one than du's, whose roundings are told: toeplitz, with two. It has the gate
// before it and, of gates' gradients, u or dy behind it.
double bound_l2_of_short(const ShortConvolution& p, std::string_view output, int roundings) {
  if (output == "dk" || output == "dbias") return bound_l2_of_roundings(p.dtype, gates_of(p)) + 0x1p-13;
  const bool of_gate = output == "dpregate" || output == "dpostgate";
  return bound_l2_of_roundings(p.dtype, of_gate ? std::max(roundings, 2) + 2 : roundings + gates_of(p));
}

std::vector<OutputBound> bounds_of_short(const ShortConvolution& p, const Values& values, int roundings) {
  return {{"y", bound_l2_of_short(p, "y", roundings), summed(p, values)}};
}

std::vector<OutputBound> bounds_of_short_gradients(const ShortConvolution& p, const Values& values, int roundings) {
  const ShortGradients squares = summed_gradients(p, values);
  std::vector<OutputBound> bounds;
  const auto add = [&](std::string_view output, const std::vector<double>& of) {
    bounds.push_back({output, bound_l2_of_short(p, output, roundings), root_of_sum(of)});
  };
  add("du", squares.du);
  if (p.pregate) add("dpregate", squares.dpregate);
  if (p.postgate) add("dpostgate", squares.dpostgate);
  add("dk", squares.dk);
  if (p.bias) add("dbias", squares.dbias);
  return bounds;
}

}  // namespace danaus
