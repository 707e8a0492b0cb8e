#include "reference/short/direct.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "reference/half.hpp"

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
  // conv(w * u, k) + bias; `of` is what is made of each term.
  std::vector<double> sums(const std::function<double(double)>& of) const {
    std::vector<double> sum(u.size());
    for_each_row([&](std::int64_t b, std::int64_t h) {
      for (std::int64_t n = 0; n < p.length; ++n) sum[index_of(p, b, h, n)] = of(bias[h]);
      for_each_product(
          b, h, [&](std::int64_t y, std::int64_t tap, std::int64_t x) { sum[y] += of(k[tap] * pregate[x] * u[x]); });
    });
    return sum;
  }

  const ShortConvolution& p;
  const std::vector<double>&u, &k;
  const Optional bias, pregate, postgate;
};

double itself(double x) { return x; }
double squared(double x) { return x * x; }

ShortGradients gradients(const ShortConvolution& p, const Values& values, double (*of)(double)) {
  const Operands o(p, values);
  const std::vector<double>& dy = values.at("dy");
  std::vector<double> sent(o.u.size());  // to w * u
  ShortGradients g{.du = sent,
                   .dk = std::vector<double>(o.k.size()),
                   .dbias = std::vector<double>(p.channels),
                   .dpregate = sent,
                   .dpostgate = o.sums(of)};
  o.for_each_row([&](std::int64_t b, std::int64_t h) {
    o.for_each_product(b, h, [&](std::int64_t y, std::int64_t tap, std::int64_t x) {
      const double arriving = o.postgate[y] * dy[y];
      sent[x] += of(o.k[tap] * arriving);
      g.dk[tap] += of(arriving * o.pregate[x] * o.u[x]);
    });
    for (std::int64_t n = 0; n < p.length; ++n) {
      const std::int64_t i = index_of(p, b, h, n);
      g.dbias[h] += of(o.postgate[i] * dy[i]);
      g.du[i] = of(o.pregate[i]) * sent[i], g.dpregate[i] = of(o.u[i]) * sent[i], g.dpostgate[i] *= of(dy[i]);
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
  const Operands o(p, values);
  std::vector<double> y = o.sums(itself);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] *= o.postgate[static_cast<std::int64_t>(i)];
  return y;
}

std::vector<double> summed_squares(const ShortConvolution& p, const Values& values) {
  const Operands o(p, values);
  std::vector<double> squares = o.sums(squared);
  for (std::size_t i = 0; i < squares.size(); ++i) squares[i] *= squared(o.postgate[static_cast<std::int64_t>(i)]);
  return squares;
}

ShortGradients short_gradients(const ShortConvolution& p, const Values& values) { return gradients(p, values, itself); }

ShortGradients summed_gradients(const ShortConvolution& p, const Values& values) {
  return gradients(p, values, squared);
}

}  // namespace danaus
