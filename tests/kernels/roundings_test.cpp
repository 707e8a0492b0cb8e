// The roundings that each family counts from its layouts, against the errors that its kernels have.
#include <cmath>

#include "reference/half.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {
namespace {

// The mean square of what one rounding to f16 leaves of Gaussian numbers, over theirs.
double square_of_one() {
  const std::vector<double> numbers = make_inputs(parse_convolution("fftconv_f64_causal_l65536_b1_h1"), {}).u;
  double error = 0, all = 0;
  for (double x : numbers) error += std::pow(round_to(Dtype::f16, x) - x, 2), all += x * x;
  return error / all;
}

// Independent roundings add as squares do, so that an error says how many there were. Half of those counted are of
// constants, some of which are exact, 1 and i among them: errors of Gaussian data show 0.47 to 0.73 of the count. A
// count half as large, or twice, is beyond. bf16 samples, whose own rounding hides it, pass the same stages in f16.
constexpr double kLeastShown = 0.4, kMostShown = 0.85;

TEST(Roundings, AreAsManyAsErrorsSay) {
  const double one = square_of_one();
  for (const auto& v : variants()) {
    if (!v->compiled || !v->suits(0) || v->size == 0 || v->dtype != Dtype::f16) continue;
    const Convolution p = problem_for(*v, v->item_rows(), std::max(1, 8192 / v->size), v->size);
    const ExecutorOptions options;
    if (&choose(p, options.device) != v.get()) continue;
    const Inputs inputs = make_inputs(p, {});
    const double error = compare(convolve(p, inputs, Algorithm::fftw), execute_plan(p, inputs, options)).rel_l2;
    const double shown = (error * error / one - p.pregate - p.postgate) / v->roundings();
    EXPECT_GE(shown, kLeastShown) << v->name << " counts " << v->roundings();
    EXPECT_LE(shown, kMostShown) << v->name << " counts " << v->roundings();
  }
}

}  // namespace
}  // namespace danaus
