#include "experiments/convolve/stated_error.hpp"

#include "experiments/cli/table.hpp"
#include "experiments/verify/spot_check.hpp"
#include "reference/half.hpp"

namespace danaus {

StatedError stated_error(const Convolution& problem, const Inputs& inputs, Method method, const std::vector<double>& y,
                         bool nonfinite) {
  if (nonfinite)
    return {{{"status", "skipped"}, {"reason", "not finite"}}, "not stated: not all values are finite", "nothing"};
  const bool by_fftw = method == Method::direct;  // which is not judged by itself
  StatedError stated;
  Comparison in_double, as_written;
  if (by_fftw) {
    const std::vector<double> expected = convolve(problem, inputs, Method::fftw);
    std::vector<double> written = y;
    for (double& value : written) value = round_to(problem.dtype, value);
    in_double = compare(expected, y);
    as_written = compare(expected, written);
    stated.against = "FFTW, all samples";
  } else {
    const SpotCheck check = spot_check(problem, inputs, y);
    in_double = check.in_double;
    as_written = check.as_written;
    stated.plausible = check.plausible;
    stated.against =
        text("the direct sum, ", check.samples == check.of ? "all " : text(check.samples, " (drawn at random) of "),
             check.of, " samples");
  }
  stated.error = text("relative L2 ", scientific(as_written.rel_l2), " as written (", name(problem.dtype), "), ",
                      scientific(in_double.rel_l2), " in double");
  stated.verify = {{"status", "passed"},
                   {"truth", by_fftw ? "fftw" : "direct"},
                   {"rel_l2", as_written.rel_l2},
                   {"rel_l2_in_double", in_double.rel_l2},
                   {"against", stated.against}};
  return stated;
}

}  // namespace danaus
