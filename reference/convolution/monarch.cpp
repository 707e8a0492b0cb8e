#include "reference/convolution/monarch.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unsupported/Eigen/KroneckerProduct>

#include "reference/convolution/convolution.hpp"

namespace danaus {
namespace {

using Sparse = Eigen::SparseMatrix<Complex>;

constexpr int kLargestFactor = 4096;

std::int64_t product(std::span<const int> factors) {
  if (factors.empty()) fail("monarch: 0 factors, needs at least 1");
  std::int64_t n = 1;
  for (int factor : factors) {
    if (factor < 1 || factor > kLargestFactor)
      fail("monarch: factor ", factor, ", must be from 1 to ", kLargestFactor, " (its DFT matrix is dense)");
    if (n > std::numeric_limits<int>::max() / factor)
      fail("monarch: the factors multiply to more than 2^31 - 1, the most that one transform holds");
    n *= factor;
  }
  return n;
}

// One 1 a column: the value at place `column` moves to place target(column).
template <class Target>
Sparse permutation(std::int64_t n, Target target) {
  Sparse matrix(n, n);
  matrix.reserve(Eigen::VectorXi::Ones(n));
  for (std::int64_t column = 0; column < n; ++column) matrix.insert(target(column), column) = 1;
  matrix.makeCompressed();
  return matrix;
}

Sparse diagonal(const Eigen::VectorXcd& values) {
  Sparse matrix(values.size(), values.size());
  matrix.reserve(Eigen::VectorXi::Ones(values.size()));
  for (std::int64_t i = 0; i < values.size(); ++i) matrix.insert(i, i) = values[i];
  matrix.makeCompressed();
  return matrix;
}

Sparse identity(std::int64_t n) {
  Sparse matrix(n, n);
  matrix.setIdentity();
  return matrix;
}

}  // namespace

std::vector<MonarchStage> monarch_stages(std::span<const int> factors) {
  std::vector<MonarchStage> stages;
  std::int64_t before = 1, rest = product(factors);
  for (int factor : factors) {
    const std::int64_t after = rest / factor;
    RowMatrix twiddle(after, factor);
    for (std::int64_t row = 0; row < after; ++row)
      for (int digit = 0; digit < factor; ++digit) twiddle(row, digit) = root_of_unity(row * digit, rest);
    stages.push_back({factor, before, after, dense_dft(factor), std::move(twiddle)});
    before *= factor;
    rest = after;
  }
  return stages;
}

std::vector<std::int64_t> monarch_order(std::span<const int> factors) {
  std::vector<std::int64_t> order = {0};
  std::int64_t weight = 1;
  product(factors);  // judges them
  for (int factor : factors) {
    std::vector<std::int64_t> longer;
    longer.reserve(order.size() * factor);
    for (std::int64_t frequency : order)
      for (int digit = 0; digit < factor; ++digit) longer.push_back(frequency + weight * digit);
    order = std::move(longer);
    weight *= factor;
  }
  return order;
}

std::vector<MonarchFactor> monarch_factors(std::span<const int> factors) {
  const std::int64_t n = product(factors);
  std::vector<MonarchFactor> matrices;
  const std::vector<MonarchStage> stages = monarch_stages(factors);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const MonarchStage& stage = stages[s];
    const std::string suffix = ", stage " + std::to_string(s + 1);
    const std::int64_t runs = n / stage.factor;
    matrices.push_back({"stride permutation" + suffix, permutation(n, [&](std::int64_t place) {
                          return place % runs * stage.factor + place / runs;
                        })});
    matrices.push_back({"block-diagonal DFT" + suffix, Eigen::kroneckerProduct(identity(runs), stage.dft)});
    if (s + 1 == stages.size()) break;
    Eigen::VectorXcd twiddle(n);
    for (std::int64_t run = 0; run < runs; ++run)
      twiddle.segment(run * stage.factor, stage.factor) = stage.twiddle.row(run / stage.before).transpose();
    matrices.push_back({"twiddle" + suffix, diagonal(twiddle)});
  }
  const std::vector<std::int64_t> order = monarch_order(factors);
  matrices.push_back({"digit reversal", permutation(n, [&](std::int64_t place) { return order[place]; })});
  return matrices;
}

Monarch::Monarch(std::span<const int> factors)
    : size_(product(factors)), stages_(monarch_stages(factors)), frequency_(monarch_order(factors)) {}

std::vector<Complex> Monarch::forward(std::span<const Complex> x) const {
  if (std::ssize(x) != size_) fail("monarch: ", x.size(), " points, must be ", size_);
  RowMatrix data = Eigen::Map<const RowMatrix>(x.data(), 1, size_);
  for (const MonarchStage& stage : stages_) {
    const std::int64_t runs = size_ / stage.factor;
    // [Ns, runs] -> [runs, Ns]: the transposition is the stride permutation.
    data = (Eigen::Map<const RowMatrix>(data.data(), stage.factor, runs).transpose() * stage.dft).eval();
    for (std::int64_t run = 0; run < runs; ++run)
      data.row(run) = data.row(run).cwiseProduct(stage.twiddle.row(run / stage.before));
  }
  std::vector<Complex> spectrum(size_);
  for (std::int64_t place = 0; place < size_; ++place) spectrum[frequency_[place]] = data.data()[place];
  return spectrum;
}

std::vector<Complex> Monarch::inverse(std::span<const Complex> spectrum) const {
  if (std::ssize(spectrum) != size_) fail("monarch: ", spectrum.size(), " frequencies, must be ", size_);
  RowMatrix data(1, size_);
  for (std::int64_t place = 0; place < size_; ++place) data.data()[place] = spectrum[frequency_[place]];
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    const std::int64_t runs = size_ / stage->factor;
    data.resize(runs, stage->factor);
    for (std::int64_t run = 0; run < runs; ++run)
      data.row(run) = data.row(run).cwiseProduct(stage->twiddle.row(run / stage->before).conjugate());
    data = (stage->dft.conjugate() * data.transpose()).eval();  // [runs, Ns] -> [Ns, runs]
  }
  std::vector<Complex> x(data.data(), data.data() + size_);
  for (Complex& value : x) value /= static_cast<double>(size_);
  return x;
}

std::vector<int> balanced_factors(std::int64_t n, int order) {
  if (n < 1 || n > std::numeric_limits<int>::max()) fail("balanced_factors: n=", n, ", must be from 1 to 2^31 - 1");
  if (order < 1) fail("balanced_factors: order ", order, ", must be at least 1");
  std::vector<int> primes;
  for (std::int64_t prime = 2; n > 1; ++prime) {
    if (prime * prime > n) prime = n;
    for (; n % prime == 0; n /= prime) primes.push_back(static_cast<int>(prime));
  }
  std::vector<int> factors(order, 1);
  for (auto prime = primes.rbegin(); prime != primes.rend(); ++prime)
    *std::min_element(factors.begin(), factors.end()) *= *prime;
  std::sort(factors.begin(), factors.end(), std::greater());
  return factors;
}

}  // namespace danaus
