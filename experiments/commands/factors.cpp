// danaus factors: the matrices of a Monarch factorization, entry by entry, for a figure of their sparsity.
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/io/result_file.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/convolution/monarch.hpp"

namespace danaus {
namespace {

constexpr std::int64_t kMostPoints = 1024;  // N x N entries: beyond, neither file nor picture is of use
constexpr const char* kDefaultCases[] = {"fftconv_f64_circular_l64_b1_h1_plain_r8x8",
                                         "fftconv_f64_circular_l64_b1_h1_plain_r4x4x4"};

Json entries_of(const Eigen::SparseMatrix<Complex>& matrix) {
  Json entries = Json::array();
  for (int column = 0; column < matrix.outerSize(); ++column)
    for (Eigen::SparseMatrix<Complex>::InnerIterator it(matrix, column); it; ++it)
      entries.push_back(Json::array({it.row(), it.col(), it.value().real(), it.value().imag()}));
  return entries;
}

}  // namespace

int run_factors(std::span<const std::string> words, Console& console) {
  std::vector<std::string> tokens;
  std::string json;
  CommandLine line("factors",
                   "The matrices whose product is the DFT of a case: permutations, block-diagonal DFTs, twiddles.");
  line.option("case", tokens, "TOKEN",
              "a case with or without factors (default: N = 64 as 8x8 and as 4x4x4); may be repeated");
  line.option("json", json, "FILE", "one row a case with all nonzeros [row, column, re, im]; - for stdout");
  if (!line.parse(words, console)) return kExitOk;
  if (tokens.empty()) tokens.assign(std::begin(kDefaultCases), std::end(kDefaultCases));

  std::vector<Convolution> problems;
  std::set<std::string> identities;
  for (const std::string& word : tokens) {
    problems.push_back(planned(parse_convolution(word)));
    const std::int64_t points = complex_points(problems.back());
    if (points > kMostPoints) fail("factors: ", word, " has N=", points, ", must be at most ", kMostPoints);
    identities.insert(identity({{"case", token(problems.back())}}));
  }
  print_configuration(
      console, "factors",
      {{"cases", std::to_string(problems.size())}, {"rows kept", json.empty() ? "no (--json FILE keeps them)" : json}});

  ResultFile results(console, json, "factors", identities);
  for (const Convolution& problem : problems) {
    const std::vector<MonarchFactor> factors = monarch_factors(problem.factors);
    std::vector<std::vector<std::string>> cells;
    Json matrices = Json::array();
    for (const MonarchFactor& factor : factors) {
      const auto rows = factor.matrix.rows(), columns = factor.matrix.cols();
      cells.push_back(
          {factor.name, std::to_string(rows) + " x " + std::to_string(columns),
           std::to_string(factor.matrix.nonZeros()),
           fixed(100. * static_cast<double>(factor.matrix.nonZeros()) / static_cast<double>(rows * columns), 2)});
      matrices.push_back(
          {{"name", factor.name}, {"rows", rows}, {"columns", columns}, {"nonzeros", entries_of(factor.matrix)}});
    }
    if (json != "-") {
      console.out << token(problem) << '\n';
      using enum Column::Align;
      print_table(console.out,
                  {{"matrix", 0, left}, {"size", 0, right}, {"nonzeros", 0, right}, {"filled, %", 0, right}}, cells);
      console.out << '\n';
    }
    const Json row = {{"case", token(problem)}, {"order", problem.factors.size()}, {"matrices", matrices}};
    if (!results.standing(identity(row))) results.append(row);
  }
  return kExitOk;
}

}  // namespace danaus
