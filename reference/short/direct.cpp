#include "reference/short/direct.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "reference/half.hpp"
#include "reference/row_terms.hpp"

namespace danaus {
namespace {

// An optional array: `otherwise` where the case has none.
class Optional {
 public:
  Optional(const Values& values, std::string_view name, double otherwise) : otherwise_(otherwise) {
    if (const auto found = values.find(name); found != values.end()) values_ = &found->second;
  }
  double operator[](std::int64_t i) const { return values_ ? (*values_)[i] : otherwise_; }

 private:
  const std::vector<double>* values_ = nullptr;
  double otherwise_;
};

// What is summed: terms themselves, or their squares. In f16 a square counts with what is lost where a kernel rounds
// the number before it is multiplied.
struct Terms {
  bool squares;
  Dtype dtype;
  double of(double x) const { return squares ? x * x : x; }
  double rounded(double x, bool is_rounded) const { return squares && is_rounded ? rounded_square(dtype, x) : x; }
};

struct Operands {
  Operands(const ShortConvolution& p, const Values& values)
      : p(p),
        u(values.at("u")),
        k(values.at("k")),
        bias(values, "bias", 0),
        pregate(values, "pregate", 1),
        postgate(values, "postgate", 1) {}

  // Every product of a tap and a sample that the definition has: visit(index in y, in k, in u).
  void for_each_product(std::int64_t b, std::int64_t h,
                        const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit) const {
    for (std::int64_t n = 0; n < p.length; ++n)
      for (std::int64_t m = 0; m < p.taps; ++m)
        if (const std::int64_t from = n + ahead(p) - m; from >= 0 && from < p.length)
          visit(index_of(p, b, h, n), h * p.taps + m, index_of(p, b, h, from));
  }
  template <class Visit>
  void for_each_row(Visit visit) const {
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t h = 0; h < p.channels; ++h) visit(b, h);
  }
  // conv(w * u, k) + bias.
  std::vector<double> sums(const Terms& terms) const {
    std::vector<double> sum(u.size());
    for_each_row([&](std::int64_t b, std::int64_t h) {
      for (std::int64_t n = 0; n < p.length; ++n) sum[index_of(p, b, h, n)] = terms.of(bias[h]);
      for_each_product(b, h, [&](std::int64_t y, std::int64_t tap, std::int64_t x) {
        sum[y] += terms.rounded(terms.of(k[tap]), p.filter != p.dtype) * gated(terms, x);
      });
    });
    return sum;
  }
  double gated(const Terms& terms, std::int64_t i) const {
    return terms.rounded(terms.of(pregate[i] * u[i]), p.pregate);
  }

  const ShortConvolution& p;
  const std::vector<double>&u, &k;
  const Optional bias, pregate, postgate;
};

std::vector<double> outputs(const ShortConvolution& p, const Values& values, const Terms& terms) {
  const Operands o(p, values);
  std::vector<double> y = o.sums(terms);
  for (std::int64_t i = 0; i < std::ssize(y); ++i) y[i] = terms.rounded(y[i], p.postgate) * terms.of(o.postgate[i]);
  return y;
}

ShortGradients gradients(const ShortConvolution& p, const Values& values, const Terms& terms) {
  const Operands o(p, values);
  const std::vector<double>& dy = values.at("dy");
  std::vector<double> sent(o.u.size());  // to w * u
  ShortGradients g{.du = sent,
                   .dk = std::vector<double>(o.k.size()),
                   .dbias = std::vector<double>(p.channels),
                   .dpregate = sent,
                   .dpostgate = o.sums(terms)};
  const auto arriving = [&](std::int64_t i) { return terms.rounded(terms.of(o.postgate[i] * dy[i]), p.postgate); };
  o.for_each_row([&](std::int64_t b, std::int64_t h) {
    o.for_each_product(b, h, [&](std::int64_t y, std::int64_t tap, std::int64_t x) {
      sent[x] += terms.rounded(terms.of(o.k[tap]), p.filter != p.dtype) * arriving(y);
      g.dk[tap] += arriving(y) * o.gated(terms, x);
    });
    for (std::int64_t n = 0; n < p.length; ++n) {
      const std::int64_t i = index_of(p, b, h, n);
      const double sum = terms.rounded(sent[i], p.pregate);
      g.dbias[h] += arriving(i);
      g.du[i] = terms.of(o.pregate[i]) * sum, g.dpregate[i] = terms.of(o.u[i]) * sum;
      g.dpostgate[i] = terms.rounded(g.dpostgate[i], true) * terms.of(dy[i]);
    }
  });
  return g;
}

}  // namespace

Values make_inputs(const ShortConvolution& p, std::uint64_t seed) {
  std::mt19937_64 random(std::hash<std::string>()(token(p)) + seed);
  std::normal_distribution<double> gaussian;
  Values values;
  for (const Array& array : arrays(p)) {
    if (array.role == Role::output) continue;
    const double scale = array.name == "k" ? 1 / std::sqrt(static_cast<double>(p.taps)) : 1;
    std::vector<double>& list = values[std::string(array.name)];
    for (std::int64_t i = 0; i < array.size(); ++i) list.push_back(round_to(array.dtype, scale * gaussian(random)));
  }
  return values;
}

std::vector<double> short_convolution(const ShortConvolution& p, const Values& values) {
  return outputs(p, values, {false, p.dtype});
}

std::vector<double> summed_squares(const ShortConvolution& p, const Values& values) {
  return outputs(p, values, {true, p.dtype});
}

ShortGradients short_gradients(const ShortConvolution& p, const Values& values) {
  return gradients(p, values, {false, p.dtype});
}

ShortGradients summed_gradients(const ShortConvolution& p, const Values& values) {
  return gradients(p, values, {true, p.dtype});
}

}  // namespace danaus
