// The Monarch factorization of the DFT, for any list of factors N = N1 N2 ... Np (outermost stage first).
//
//   time       n = ((n1 N2 + n2) N3 + n3) ... Np + np          n1 is the most significant digit
//   frequency  k = d1 + N1 (d2 + N2 (d3 + ... + N(p-1) dp))    d1 is the least significant digit
//
// Stage s turns digit ns into digit ds. Before it the digits stand in memory as (ns, ..., np, d1, ..., d(s-1)), slowest
// first; after it as (n(s+1), ..., np, d1, ..., ds). Every stage therefore does the same three things:
//
//   stride permutation   the slowest digit becomes the fastest
//   block-diagonal DFT   I (x) F_Ns: a DFT of Ns points on every run of Ns
//   twiddle              diagonal, exp(-2 pi i ds (n(s+1), ..., np) / (Ns ... Np)); none after the last stage
//
// and a digit reversal at the end puts (d1, ..., dp) into the order of k. Leaving it out leaves the spectrum in Monarch
// order, the order in which kernels keep it.
#pragma once

#include <Eigen/SparseCore>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/dft.hpp"

namespace danaus {

// One matrix of the factorization, N x N, with its name, for example "block-diagonal DFT, stage 1".
struct MonarchFactor {
  std::string name;
  Eigen::SparseMatrix<Complex> matrix;
};

// The matrices in the order in which they are applied; the product last * ... * first is dense_dft(N). Costs N * sum Ns
// stored numbers.
std::vector<MonarchFactor> monarch_factors(std::span<const int> factors);

using RowMatrix = Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// What a stage multiplies by. A row of `twiddle` belongs to the time digits that are left, a column to this stage's
// frequency digit; the last stage's is all ones.
struct MonarchStage {
  int factor;           // Ns
  std::int64_t before;  // N1 ... N(s-1)
  std::int64_t after;   // N(s+1) ... Np
  RowMatrix dft;        // [Ns, Ns], symmetric
  RowMatrix twiddle;    // [after, Ns]
};

std::vector<MonarchStage> monarch_stages(std::span<const int> factors);

// The transform, applied stage by stage. Its tables take little more than N complex numbers; nothing is N x N.
class Monarch {
 public:
  // Throws when there is no factor or one is below 1 or above 4096 (its DFT matrix is dense).
  explicit Monarch(std::span<const int> factors);

  std::int64_t size() const { return size_; }
  std::vector<Complex> forward(std::span<const Complex> x) const;         // frequencies in natural order
  std::vector<Complex> inverse(std::span<const Complex> spectrum) const;  // divides by N

 private:
  std::int64_t size_;
  std::vector<MonarchStage> stages_;
  std::vector<std::int64_t> frequency_;
};

// Frequency k at each place of the Monarch order (d1, ..., dp), d1 slowest.
std::vector<std::int64_t> monarch_order(std::span<const int> factors);

// n as a product of `order` factors, as equal as its prime factors allow, largest first; 1 where they run out.
std::vector<int> balanced_factors(std::int64_t n, int order);

}  // namespace danaus
