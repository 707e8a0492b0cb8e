#include "experiments/convolve/stated_error.hpp"

#include "experiments/cli/table.hpp"
#include "experiments/verify/spot_check.hpp"
#include "reference/overflow.hpp"

namespace danaus {

// Relative L2 between two ways in double, beyond any that rounding has left: some 1e-16 times the stages of a
// transform, or of sums the root of their terms.
constexpr double kImplausible = 1e-11;

StatedError stated_error(const Convolution& problem, const Inputs& inputs, Algorithm method,
                         const std::vector<double>& y, bool nonfinite) {
  if (nonfinite)
    return {{{"status", "skipped"}, {"reason", "not finite"}}, "not stated: not all values are finite", "nothing"};
  // What is not judged by the direct sum: itself, and what a mask makes of a filter.
  const bool masked = !problem.mask.empty(), by_fftw = method == Algorithm::direct || masked;
  const Algorithm judge = masked && method == Algorithm::fftw ? Algorithm::monarch : Algorithm::fftw;
  StatedError stated;
  Comparison in_double, as_written;
  if (by_fftw) {
    const std::vector<double> expected = convolve(problem, inputs, judge);
    std::vector<double> written = y;
    for (double& value : written) value = round_to(problem.dtype, value);
    in_double = compare(expected, y);
    as_written = compare(expected, written);
    stated.plausible = in_double.rel_l2 < kImplausible;
    stated.against = judge == Algorithm::fftw ? "FFTW, all samples" : "the Monarch factors, all samples";
  } else {
    const SpotCheck check = spot_check(problem, inputs, y);
    in_double = check.in_double;
    as_written = check.as_written;
    stated.plausible = check.plausible;
    stated.against =
        text("the direct sum, ", check.samples == check.of ? "all " : text(check.samples, " (drawn at random) of "),
             check.of, " samples");
  }
  const std::int64_t overflowed = overflow_count(problem.dtype, y);
  const std::string of_written =
      overflowed == 0 ? text("relative L2 ", scientific(as_written.rel_l2), " as written (", name(problem.dtype), ")")
                      : text("not stated as written: ", overflowed, " of ", y.size(), " samples of y overflow ",
                             name(problem.dtype), ", rightly");
  stated.error =
      text(of_written, overflowed == 0 ? ", " : "; relative L2 ", scientific(in_double.rel_l2), " in double");
  stated.verify = {{"status", "passed"},
                   {"truth", by_fftw ? std::string(name(judge)) : "direct"},
                   {"rel_l2", as_written.rel_l2},
                   {"rel_l2_in_double", in_double.rel_l2},
                   {"against", stated.against}};
  if (overflowed > 0) stated.verify["reason"] = of_written;
  return stated;
}

}  // namespace danaus
