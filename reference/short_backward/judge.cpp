#include "reference/judge.hpp"

#include <algorithm>
#include <numeric>

#include "reference/convolution/convolve.hpp"
#include "reference/short/bounds.hpp"
#include "reference/short/direct.hpp"
#include "reference/short_backward/short_backward.hpp"

namespace danaus {
namespace {

class ShortBackwardJudge final : public Judge {
 public:
  explicit ShortBackwardJudge(const ShortBackward& asked) : Judge(asked), p_(asked.forward) {}

  double bound(std::string_view output, const Roundings& roundings) const override {
    return bound_l2_of_short(p_, output, roundings.forward);
  }
  std::optional<AdjointProduct> product(const Values& values) const override {
    const std::vector<double>& dy = array_in(values, "dy");
    const auto dot = [&](const std::vector<double>& y) {
      return std::inner_product(y.begin(), y.end(), dy.begin(), 0.);
    };
    AdjointProduct product{dot(short_convolution(p_, values))};
    if (p_.bias) {
      Values of_bias = values;
      std::ranges::fill(of_bias.find("u")->second, 0);
      product.of_bias = dot(short_convolution(p_, of_bias));
    }
    return product;
  }
  RowWork work(std::string_view output, const Values&) const override { return work_of(p_, output); }
  std::string_view truth() const override { return name(Algorithm::direct); }
  double bound_of_truth() const override { return bound_of_short_truth(p_); }

 private:
  std::vector<OutputTerms> row_terms(const Values& values, const Promise& promise) const override {
    const ShortGradients squares = summed_gradients(p_, values);
    std::vector<OutputTerms> all;
    const auto add = [&](std::string_view output, const std::vector<double>& of, const std::vector<double>& rows = {},
                         const std::vector<double>& gate = {}) {
      all.push_back(short_terms(array(output), of, bound(output, promise.roundings), rows, gate));
    };
    const std::vector<double>&dy = array_in(values, "dy"), &postgate = array_in(values, "postgate");
    add("du", squares.du, dy, postgate);
    if (p_.pregate) add("dpregate", squares.dpregate, dy, postgate);
    if (p_.postgate) add("dpostgate", squares.dpostgate, array_in(values, "u"), array_in(values, "pregate"));
    add("dk", squares.dk);
    all.back().frequencies = frequencies_of_sums(values);
    if (p_.bias) add("dbias", squares.dbias);
    return all;
  }

  // At how many frequencies dk errs. A factor that was rounded with its gate errs at the frequencies of the other one.
  std::vector<double> frequencies_of_sums(const Values& values) const {
    const std::vector<double>&u = array_in(values, "u"), &pregate = array_in(values, "pregate");
    const std::vector<double>&dy = array_in(values, "dy"), &postgate = array_in(values, "postgate");
    const RowOrder order = row_order(array("u"));
    const RowEnergies of_u = row_energies(order, u, pregate), of_dy = row_energies(order, dy, postgate);
    std::vector<double> sums(p_.channels), over(p_.channels);
    for (std::int64_t row = 0; row < order.rows(); ++row) {
      const double square = of_u.of(row) * of_dy.of(row);
      const double independent = std::min(independent_frequencies(gated_row(order, row, u, pregate)),
                                          independent_frequencies(gated_row(order, row, dy, postgate)));
      const std::int64_t h = row % p_.channels;
      sums[h] += square, over[h] += square * square / independent;
    }
    for (std::int64_t h = 0; h < p_.channels; ++h) sums[h] = over[h] > 0 ? sums[h] * sums[h] / over[h] : 1;
    return sums;
  }

  ShortConvolution p_;
};

}  // namespace

JudgeEntry short_backward_judge() { return judge_entry<ShortBackward, ShortBackwardJudge>("shortconvgrad"); }

}  // namespace danaus
