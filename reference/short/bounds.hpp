// How far the outputs of short convolutions and of their gradients may be from the truth.
#pragma once

#include <string_view>

#include "reference/row_terms.hpp"
#include "reference/short/short.hpp"

namespace danaus {

// On the relative L2 error of an output, y or a gradient, by a kernel of so many roundings from u to y, gates aside. dk
// and dbias are sums of exact products in fp32: what gates round, and 2^-13 for the additions of a part of a channel,
// of which each rounds, or truncates, its sum: 2^-24 for as many as 2048.
double bound_l2_of_short(const ShortConvolution& problem, std::string_view output, int roundings);

// Of the truth itself.
double bound_of_short_truth(const ShortConvolution& problem);

// Terms of an output whose elements have these squares of what was summed to them. Errors of rounded taps are at the
// frequencies of the rows that the taps meet, which a gate may have multiplied; without rows nothing is known of that.
OutputTerms short_terms(const Array& output, const std::vector<double>& squares, double bound,
                        const std::vector<double>& rows = {}, const std::vector<double>& gate = {});

}  // namespace danaus
