// What the rounding errors of a convolution's rows are relative to; gradients share it.
#pragma once

#include "reference/convolution/data.hpp"
#include "reference/row_terms.hpp"

namespace danaus {

// The arrays of a convolution out of those of a case; empty where the case has none.
Inputs inputs_of(const Values& values);
Values values_of(Inputs inputs);

// The terms of an output after * conv(before * rows, k) [B, H, L]. Errors of a row are relative to |before rows| |k|
// rms(after), since an FFT errs also where the row itself is small. k is what a mask leaves of it. Gates may be empty.
OutputTerms convolved_terms(const Convolution& problem, const Array& output, const std::vector<double>& rows,
                            const std::vector<double>& k, const std::vector<double>& before,
                            const std::vector<double>& after, double bound, const Promise& promise);

// The terms of dk [H, K]. Rows of the batch err independently: errors are relative to the root of the sum over the
// batch of |w u|^2 |v dy|^2. Of that, K taps see their share of all lags. Where a
// row has few products, as two spikes have one, they may see all errors of one.
OutputTerms correlated_terms(const Convolution& problem, const Array& output, const Inputs& inputs,
                             const std::vector<double>& dy, double bound, const Promise& promise);

// Of y, or of a gradient.
RowWork work_of(const Convolution& problem, std::string_view output);

// Bounds on the relative L2 errors of the truth itself, by FFTW and by the direct sum, and what the latter takes.
double fftw_bound(const Convolution& problem);
double direct_bound(const Convolution& problem);
double direct_multiplications(const Convolution& problem);

}  // namespace danaus
