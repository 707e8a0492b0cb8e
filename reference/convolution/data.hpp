// Inputs for a case: reproducible, and already rounded to what a kernel would read.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/convolution/convolution.hpp"
#include "reference/names.hpp"

namespace danaus {

// Samples of u before scaling.
enum class DataKind { gaussian, uniform, impulse, constant, heavy_tailed, recording };

inline constexpr std::array kDataKinds = {
    Named{DataKind::gaussian, "gaussian", "zero mean, unit variance"},
    Named{DataKind::uniform, "uniform", "from -1 to 1"},
    Named{DataKind::impulse, "impulse", "a single 1 in each row, at a random place"},
    Named{DataKind::constant, "constant", "1 everywhere"},
    Named{DataKind::heavy_tailed, "heavy_tailed", "the cube of a Gaussian, unit variance: kurtosis 46"},
    Named{DataKind::recording, "recording", "a recording, one row after the other; it begins again where it ends"},
};

// Filters, each of unit L2 norm (random: on average), so that the convolution of white noise keeps its scale.
enum class FilterKind { random, s4d, hyena, last_tap };

inline constexpr std::array kFilterKinds = {
    Named{FilterKind::random, "random", "Gaussian"},
    Named{FilterKind::s4d, "s4d", "decaying sinusoids: S4D-Lin (Gu et al. 2022), 16 modes, a time step per channel"},
    Named{FilterKind::hyena, "hyena", "sines of positions under a window of exponential decay (Poli et al. 2023)"},
    Named{FilterKind::last_tap, "last_tap", "1 at the last sample that counts: a causal case keeps one sample of u"},
};

std::string_view name(DataKind kind);
std::string_view name(FilterKind kind);

struct DataSpec {
  DataKind data = DataKind::gaussian;
  double scale = 1;  // multiplies u, and nothing else
  FilterKind filter = FilterKind::random;
  std::uint64_t seed = 0;         // another seed gives other data for the same case
  std::vector<double> recording;  // for DataKind::recording
};

struct Inputs {
  std::vector<double> u;         // [B, H, L], rounded to the case's dtype
  std::vector<double> k;         // [H, K], rounded to filter_dtype()
  std::vector<double> pregate;   // [B, H, L], rounded like u; empty without this gate
  std::vector<double> postgate;  // likewise
};

// Inputs of the case; gates are Gaussian. A value depends on data_seed(), on which array it is in and on its index, not
// on what was drawn before it. Throws when a recording is asked for and there is none.
Inputs make_inputs(const Convolution& problem, const DataSpec& spec);

// Seed of everything that make_inputs() draws: a hash of the case's token, the two kinds and DataSpec::seed. The scale
// does not enter, so that a sweep over scales sees the same data.
std::uint64_t data_seed(const Convolution& problem, const DataSpec& spec);

// Throws unless the arrays have the sizes that the case says.
void check_inputs(const Convolution& problem, const Inputs& inputs);

}  // namespace danaus
