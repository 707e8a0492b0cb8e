// What the rounding errors of a convolution's rows are relative to; gradients share it.
#pragma once

#include "reference/convolution/data.hpp"
#include "reference/row_terms.hpp"

namespace danaus {

// The arrays of a convolution out of those of a case; empty where the case has none.
Inputs inputs_of(const Values& values);
Values values_of(Inputs inputs);

// Of an output [B, H, L], after * conv(before * rows, k): a row is relative to |before rows| |k| rms(after), where a
// convolution by FFT errs also where the row itself is small. k is what a mask leaves of it. Gates may be empty.
OutputTerms convolved_terms(const Convolution& problem, const Array& output, const std::vector<double>& rows,
                            const std::vector<double>& k, const std::vector<double>& before,
                            const std::vector<double>& after, double bound, const Promise& promise);

// Of dk [H, K], whose rows are relative to the root of the sum over the batch of |w u|^2 |v dy|^2, and to the share of
// all lags that K taps see. Rows of the batch err independently.
OutputTerms correlated_terms(const Convolution& problem, const Array& output, const Inputs& inputs,
                             const std::vector<double>& dy, double bound, const Promise& promise);

// Bounds on the relative L2 errors of the truth itself, by FFTW and by the direct sum, and what the latter takes.
double fftw_bound(const Convolution& problem);
double direct_bound(const Convolution& problem);
double direct_multiplications(const Convolution& problem);

}  // namespace danaus
