// danaus factors: the matrices of a Monarch factorization, entry by entry, for a figure of their sparsity.
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
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

Json matrices_of(const Convolution& problem) {
  Json matrices = Json::array();
  for (const MonarchFactor& factor : monarch_factors(problem.factors))
    matrices.push_back({{"name", factor.name},
                        {"rows", factor.matrix.rows()},
                        {"columns", factor.matrix.cols()},
                        {"nonzeros", entries_of(factor.matrix)}});
  return matrices;
}

void print(std::ostream& out, const Json& row) {
  std::vector<std::vector<std::string>> cells;
  for (const Json& matrix : row.at("matrices")) {
    const double rows = matrix.at("rows"), columns = matrix.at("columns");
    const auto nonzeros = matrix.at("nonzeros").size();
    cells.push_back({matrix.at("name"), text(rows, " x ", columns), std::to_string(nonzeros),
                     fixed(100. * static_cast<double>(nonzeros) / (rows * columns), 2)});
  }
  out << row.at("case").get<std::string>() << '\n';
  using enum Column::Align;
  print_table(out, {{"matrix", 0, left}, {"size", 0, right}, {"nonzeros", 0, right}, {"filled, %", 0, right}}, cells);
  out << '\n';
}

}  // namespace

int run_factors(std::span<const std::string> words, Console& console) {
  Job job(console, "factors",
          "The matrices whose product is the DFT of a case: permutations, block-diagonal DFTs, twiddles.");
  std::vector<std::string> tokens;
  job.line.option("case", tokens, "TOKEN",
                  "a case with or without factors (default: N = 64 as 8x8 and as 4x4x4); may be repeated");
  if (!job.parse(words, "one row a case with all nonzeros [row, column, re, im]; - for stdout")) return kExitOk;
  if (tokens.empty()) tokens.assign(std::begin(kDefaultCases), std::end(kDefaultCases));

  std::vector<Convolution> problems;
  std::vector<Json> asked;
  for (const std::string& word : tokens) {
    problems.push_back(planned(parse_convolution(word)));
    const std::int64_t points = complex_points(problems.back());
    if (points > kMostPoints) fail("factors: ", word, " has N=", points, ", must be at most ", kMostPoints);
    asked.push_back({{"case", token(problems.back())}, {"order", problems.back().factors.size()}});
  }
  job.configure({{"cases", std::to_string(problems.size())}});
  job.make({.kind = "factors",
            .asked = asked,
            .make =
                [&](std::size_t i) {
                  return Json{{"matrices", matrices_of(problems[i])}};
                },
            .show = [&](std::size_t, const Json& row) { print(job.out(), row); }});
  return kExitOk;
}

}  // namespace danaus
