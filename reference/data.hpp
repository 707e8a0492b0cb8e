// Inputs for a case: reproducible, and already rounded to what a kernel would read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/problem.hpp"

namespace danaus {

// Samples of u before scaling.
//   gaussian      zero mean, unit variance
//   uniform       from -1 to 1
//   impulse       a single 1 in each row, at a random place
//   constant      1 everywhere
//   heavy_tailed  the cube of a Gaussian, unit variance: kurtosis 46
//   recording     DataSpec::recording, one row after the other; it begins again where it ends
enum class DataKind { gaussian, uniform, impulse, constant, heavy_tailed, recording };

// Filters, each of unit L2 norm (random: on average), so that the convolution of white noise keeps its scale.
//   random  Gaussian
//   s4d     a sum of decaying sinusoids: S4D-Lin (Gu et al. 2022), 16 modes, a time step per channel
//   hyena   a network of sines over positions under a window of exponential decay (Poli et al. 2023)
enum class FilterKind { random, s4d, hyena };

std::string_view name(DataKind kind);
std::string_view name(FilterKind kind);
DataKind parse_data_kind(std::string_view word);      // throws std::invalid_argument and lists the names
FilterKind parse_filter_kind(std::string_view word);  // likewise

struct DataSpec {
  DataKind data = DataKind::gaussian;
  double scale = 1;  // multiplies u, and nothing else
  FilterKind filter = FilterKind::random;
  std::uint64_t seed = 0;         // another seed gives other data for the same case
  std::vector<double> recording;  // for DataKind::recording
};

struct Inputs {
  std::vector<double> u;         // [B, H, L], rounded to the case's dtype
  std::vector<double> k;         // [H, K], rounded to fp32 (to fp64 in an f64 case)
  std::vector<double> pregate;   // [B, H, L], rounded like u; empty without this gate
  std::vector<double> postgate;  // likewise
};

// Inputs of the case; gates are Gaussian. A value depends on data_seed(), on which array it is in and on its index, not
// on what was drawn before it. Throws when a recording is asked for and there is none.
Inputs make_inputs(const Problem& problem, const DataSpec& spec);

// Seed of everything that make_inputs() draws: a hash of the case's token, the two kinds and DataSpec::seed. The scale
// does not enter, so that a sweep over scales sees the same data.
std::uint64_t data_seed(const Problem& problem, const DataSpec& spec);

// Throws unless the arrays have the sizes that the case says.
void check_inputs(const Problem& problem, const Inputs& inputs);

}  // namespace danaus
