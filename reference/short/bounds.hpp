// How far the outputs of short convolutions and of their gradients may be from the truth.
#pragma once

#include "reference/backward/bounds.hpp"
#include "reference/short/direct.hpp"

namespace danaus {

// On the relative L2 error of an output, y or a gradient, by a kernel of so many roundings; more below.
double bound_l2_of_short(const ShortConvolution& problem, std::string_view output, int roundings);

// Of y, by a kernel of so many roundings, gates aside: each of them rounds once more.
std::vector<OutputBound> bounds_of_short(const ShortConvolution& problem, const Values& values, int roundings);

// Of each gradient. dk and dbias are sums of exact products in fp32: what gates round, and 2^-13 for the additions of a
// part of a channel, of which each rounds, or truncates, its sum: 2^-24 for as many as 2048.
std::vector<OutputBound> bounds_of_short_gradients(const ShortConvolution& problem, const Values& values,
                                                   int roundings);

}  // namespace danaus
