// How far the outputs of short convolutions and of their gradients may be from the truth.
#pragma once

#include <string_view>

#include "reference/row_terms.hpp"
#include "reference/short/short.hpp"

namespace danaus {

// The bound on the relative L2 error of an output: y or a gradient. The kernel has so many roundings from u to y, gates
// aside. dk and dbias are sums of exact products in fp32. Their errors are what gates round, and 2^-13 for additions: a
// part of a channel has up to 2048 of them, and each errs by 2^-24.
double bound_l2_of_short(const ShortConvolution& problem, std::string_view output, int roundings);

RowWork work_of(const ShortConvolution& problem, std::string_view output);

// Of the truth itself.
double bound_of_short_truth(const ShortConvolution& problem);

// Terms of an output, by the squares of what was summed to its elements. Errors of rounded taps are at the frequencies
// of `rows`, times `gate`. Without rows nothing is known of their frequencies.
OutputTerms short_terms(const Array& output, const std::vector<double>& squares, double bound,
                        const std::vector<double>& rows = {}, const std::vector<double>& gate = {});

}  // namespace danaus
