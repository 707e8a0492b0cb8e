// Fields such as neural operators work on, and what a spectral layer that mixes nothing leaves of them: their truncated
// spectra.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "experiments/cli/environment.hpp"
#include "reference/spectral/spectral.hpp"

namespace danaus {

// Real samples on a periodic grid, the last axis fastest; the same at every call.
struct Field {
  std::string name;          // one word, or the path of a file
  std::string what, digest;  // the latter of a file's samples
  std::vector<int> lengths;
  std::vector<double> samples;
};

// A smooth random field of two axes, and a signal of one whose slopes have become fronts.
std::vector<Field> example_fields();

// A user's own, .npy [X] or [X, Y], rounded to fp32. Throws std::invalid_argument, by name, for other shapes, axes that
// no layer has, values that are not finite or all zero.
Field read_field(const std::string& path, std::ostream& notices);

// The energies of its frequencies in decibels below the largest, all of the first axis if there are two, half of the
// last: [X, Y/2 + 1].
std::vector<double> spectrum_db(const Field& field);

// The layer that keeps so many modes of each axis, with one channel, whose weight is 1.
Spectral truncating_layer(const Field& field, int modes);

// The fields of a result row (schema field) that say which, and the others: of each number of modes what is left by the
// truth, and by the layer's kernel on the executor, where this build has one.
Json describe(const Field& field);
Json truncated(const Field& field);

}  // namespace danaus
