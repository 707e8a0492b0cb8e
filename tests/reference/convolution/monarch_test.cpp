#include "reference/convolution/monarch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/convolution/convolution.hpp"
#include "tests/sanitized.hpp"

namespace danaus {
namespace {

using Factors = std::vector<int>;

// Largest difference between the product of the matrices and the DFT, entry by entry. The product is formed sparsely
// from the right and becomes dense in its last DFT stage, so it costs N^2 and not N^3.
double product_error(const Factors& factors) {
  std::vector<Eigen::SparseMatrix<Complex>> matrices;
  for (MonarchFactor& factor : monarch_factors(factors)) matrices.push_back(std::move(factor.matrix));
  Eigen::SparseMatrix<Complex> right = matrices.front();
  for (std::size_t i = 1; i + 2 < matrices.size(); ++i) right = (matrices[i] * right).eval();
  const Eigen::MatrixXcd product = matrices[matrices.size() - 2] * right;
  const int n = static_cast<int>(right.rows());
  Eigen::VectorXcd root(n);
  for (int k = 0; k < n; ++k) root[k] = root_of_unity(k, n);
  const int* target = matrices.back().innerIndexPtr();  // the digit reversal moves `place` to target[place]
  std::vector<int> phase(n);                            // target[place] * column modulo n
  double largest = 0;
  for (int column = 0; column < n; ++column)
    for (int place = 0; place < n; ++place) {
      largest = std::max(largest, std::norm(product(place, column) - root[phase[place]]));
      phase[place] += phase[place] < n - target[place] ? target[place] : target[place] - n;
    }
  return std::sqrt(largest);
}

std::string in_words(const Factors& factors) {
  std::string joined;
  for (int factor : factors) joined.append(joined.empty() ? "" : "x").append(std::to_string(factor));
  return joined;
}

// All ordered factorizations of n into at most `order` factors of at least 2.
std::vector<Factors> ordered_factorizations(int n, int order) {
  std::vector<Factors> all = {{n}};
  if (order == 1) return all;
  for (int first = 2; first <= n / 2; ++first) {
    if (n % first != 0) continue;
    for (Factors rest : ordered_factorizations(n / first, order - 1)) {
      rest.insert(rest.begin(), first);
      all.push_back(std::move(rest));
    }
  }
  return all;
}

// Every N up to 1024, in as many stages as its prime factors allow up to the order. Primes have one.
constexpr int kStep = kSanitized ? 31 : 1;

class EveryLength : public testing::TestWithParam<int> {};

TEST_P(EveryLength, MultipliesToTheDft) {
  for (int n = 1; n <= 1024; n += kStep) {
    Factors factors = balanced_factors(n, GetParam());
    std::reverse(factors.begin(), factors.end());  // small factors first keep the partial products sparse
    const int stages = static_cast<int>(std::count_if(factors.begin(), factors.end(), [](int f) { return f > 1; }));
    // Those with fewer stages are met at a lower order; a single stage is the dense DFT, so only primes are worth it.
    if (stages < GetParam() || (GetParam() == 1 && balanced_factors(n, 2)[1] > 1)) continue;
    ASSERT_LT(product_error(factors), 1e-12) << in_words(factors);
  }
}

INSTANTIATE_TEST_SUITE_P(Order, EveryLength, testing::Values(1, 2, 3, 4, 5), testing::PrintToStringParamName());

TEST(Monarch, EveryOrderedFactorizationOfAFewLengths) {
  for (int n : {48, 60, 64, 96, 210})
    for (const Factors& factors : ordered_factorizations(n, 5))
      ASSERT_LT(product_error(factors), 1e-12) << in_words(factors);
}

TEST(Monarch, FactorsOfOneDoNoHarm) {
  for (const Factors& factors : {Factors{1}, {1, 1, 1}, {1, 6}, {6, 1}, {2, 1, 3, 1}})
    EXPECT_LT(product_error(factors), 1e-12) << in_words(factors);
}

TEST(Monarch, MatricesAreWhatTheirNamesSay) {
  const std::vector<MonarchFactor> matrices = monarch_factors(Factors{4, 2, 3});
  std::vector<std::string> names;
  for (const MonarchFactor& factor : matrices) names.push_back(factor.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"stride permutation, stage 1", "block-diagonal DFT, stage 1", "twiddle, stage 1",
                                      "stride permutation, stage 2", "block-diagonal DFT, stage 2", "twiddle, stage 2",
                                      "stride permutation, stage 3", "block-diagonal DFT, stage 3", "digit reversal"}));
  for (const MonarchFactor& factor : matrices) {
    int block = 1;  // entries lie in diagonal blocks of this size
    if (factor.name == "block-diagonal DFT, stage 1") block = 4;
    if (factor.name == "block-diagonal DFT, stage 2") block = 2;
    if (factor.name == "block-diagonal DFT, stage 3") block = 3;
    const bool permutes =
        factor.name.find("DFT") == std::string::npos && factor.name.find("twiddle") == std::string::npos;
    EXPECT_EQ(factor.matrix.nonZeros(), 24 * block) << factor.name;
    for (int column = 0; column < 24; ++column)
      for (Eigen::SparseMatrix<Complex>::InnerIterator entry(factor.matrix, column); entry; ++entry) {
        EXPECT_NEAR(std::abs(entry.value()), 1, 1e-15);
        if (permutes) {
          EXPECT_EQ(entry.value(), Complex(1)) << factor.name;
        } else {
          EXPECT_EQ(entry.row() / block, column / block) << factor.name;
        }
      }
  }
}

TEST(Monarch, OrderIsDigitReversal) {
  // (d1, d2) of 2 x 3, d1 slowest; k = d1 + 2 d2.
  EXPECT_EQ(monarch_order(Factors{2, 3}), (std::vector<std::int64_t>{0, 2, 4, 1, 3, 5}));
}

TEST(Monarch, IsAppliedToLongSequencesWithoutBeingFormed) {
  for (const Factors& factors : {Factors{1021}, {3, 5, 7, 11, 13}, {16, 32, 32}, {8, 8, 8, 8, 8}, {64, 32, 32, 16}}) {
    const Monarch monarch(factors);
    std::vector<Complex> x(monarch.size());
    for (std::int64_t j = 0; j < monarch.size(); ++j) x[j] = {std::sin(0.7 * j * j + 1), std::cos(1.3 * j * j)};
    const std::vector<Complex> expected = dft(x), spectrum = monarch.forward(x), back = monarch.inverse(spectrum);
    double error = 0, back_error = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      error = std::max(error, std::abs(spectrum[j] - expected[j]));
      back_error = std::max(back_error, std::abs(back[j] - x[j]));
    }
    // Results have size sqrt(N); the largest error of a million is some five times the rms of a few roundings.
    EXPECT_LT(error, 1e-14 * std::sqrt(static_cast<double>(x.size()))) << in_words(factors);
    EXPECT_LT(back_error, 1e-14) << in_words(factors);
  }
}

TEST(Monarch, RefusesWhatItCannotDo) {
  EXPECT_THROW(Monarch(Factors{}), std::invalid_argument);
  EXPECT_THROW(Monarch(Factors{4, 0}), std::invalid_argument);
  EXPECT_THROW(Monarch(Factors{5000}), std::invalid_argument);
  EXPECT_THROW(monarch_order(Factors{4096, 4096, 4096}), std::invalid_argument);
  EXPECT_THROW(Monarch(Factors{4, 4}).forward(std::vector<Complex>(15)), std::invalid_argument);
  EXPECT_THROW(Monarch(Factors{4, 4}).inverse(std::vector<Complex>(17)), std::invalid_argument);
}

TEST(BalancedFactors, AreAsEqualAsThePrimesAllow) {
  EXPECT_EQ(balanced_factors(4096, 3), (Factors{16, 16, 16}));
  EXPECT_EQ(balanced_factors(8192, 3), (Factors{32, 16, 16}));
  EXPECT_EQ(balanced_factors(1500, 2), (Factors{50, 30}));
  EXPECT_EQ(balanced_factors(13, 2), (Factors{13, 1}));
  EXPECT_EQ(balanced_factors(1, 1), (Factors{1}));
  EXPECT_THROW(balanced_factors(0, 2), std::invalid_argument);
  EXPECT_THROW(balanced_factors(8, 0), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
