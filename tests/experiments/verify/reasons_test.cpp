// danaus verify says why: of methods that are left out, rows that are skipped, samples that overflow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "experiments/cli/environment.hpp"
#include "experiments/methods/method.hpp"
#include "kernels/cuda/machine.hpp"
#include "reference/half.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

std::vector<double> right_in_half(const Convolution& problem, const Inputs& inputs) {
  std::vector<double> y = convolve(problem, inputs, Algorithm::fftw);
  for (double& value : y) value = round_to(Dtype::f16, value);
  return y;
}
std::vector<double> infinite(const Convolution&, const Inputs& inputs) {
  return std::vector<double>(inputs.u.size(), std::numeric_limits<double>::infinity());
}

Ran verify_by(std::vector<double> (*compute)(const Convolution&, const Inputs&),
              const std::vector<std::string>& words) {
  const auto bound = [](const Convolution& planned) { return unit_roundoff(planned.dtype); };
  const std::vector<Method> table = {{.name = "method", .compute = compute, .bound = bound}};
  std::ostringstream out, err;
  Console console{out, err, false, {"danaus", "verify"}};
  const int code = verify(words, console, table);
  return {code, out.str(), err.str()};
}

TEST(VerifySaysWhy, AMethodIsLeftOut) {
  const Ran in_f32 = run({"verify", "--case", "fftconv_f32_circular_l64_b1_h1"});
  EXPECT_THAT(in_f32.err, HasSubstr("kernel: plan: dtype f32 has no kernel"));
  const Ran of_layer = run({"verify", "--case", "spectral_f32_tf32_b1_c2x2_l16_m4"});
  EXPECT_THAT(of_layer.err, HasSubstr("fftw: computes convolutions alone"));
  EXPECT_EQ(cuda_device_count() == 0, of_layer.err.find("gpu: there is no GPU") != std::string::npos);
  const Ran asked = run({"verify", "--case", "fftconv_f32_circular_l64_b1_h1", "--method", "fftw"});
  EXPECT_THAT(asked.err, testing::Not(HasSubstr("left out")));
}

TEST(VerifySaysWhy, ARowIsSkipped) {
  const Folder folder;
  for (const bool summary : {false, true}) {
    std::vector<std::string> words = {"verify",    "--case",      "fftconv_f64_causal_l8_b1_h1",
                                      "--method",  "fftw",        "--data",
                                      "recording", "--recording", folder / ""};
    if (summary) words.push_back("--summary");
    EXPECT_THAT(run(words).out, HasSubstr("1 skipped, fftw: no recording: " + (folder / "") + " has no .wav file"));
  }
}

TEST(VerifySaysWhy, ASampleIsInfinite) {
  const std::vector<std::string> words = {"--case",  "fftconv_f16_causal_l256_b1_h1", "--scale", "60000", "--data",
                                          "constant"};
  const Ran right = verify_by(right_in_half, words);
  EXPECT_EQ(right.code, 0) << right.out;
  EXPECT_THAT(right.out, HasSubstr("1 passed, method: 158 of 256 samples are not finite; of 158 the truth is too large "
                                   "for f16"));
  const Ran wrong = verify_by(infinite, words);
  EXPECT_EQ(wrong.code, 1) << wrong.out;
  EXPECT_THAT(wrong.out, HasSubstr("  256 of 256 samples are not finite; of 158 the truth is too large for f16"));
}

}  // namespace
}  // namespace danaus
