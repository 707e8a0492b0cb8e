#include "reference/state/recurrence.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "reference/bounds.hpp"
#include "reference/half.hpp"
#include "reference/judge.hpp"
#include "reference/row_terms.hpp"

namespace danaus {
namespace {

using Complex = std::complex<double>;

Complex complex_at(const std::vector<double>& values, std::int64_t i) { return {values[2 * i], values[2 * i + 1]}; }
void set_complex(std::vector<double>& values, std::int64_t i, Complex value) {
  values[2 * i] = value.real(), values[2 * i + 1] = value.imag();
}

void check(const StateSpace& p, const StateInputs& inputs) {
  validate(p);
  for (const Array& array : arrays(p)) {
    if (array.role == Role::output) continue;
    const auto& values = array.name == "u"   ? inputs.u
                         : array.name == "a" ? inputs.a
                         : array.name == "b" ? inputs.b
                         : array.name == "c" ? inputs.c
                                             : inputs.x_initial;
    if (std::ssize(values) != array.size())
      fail("ssmconv: ", array.name, " has ", values.size(), " numbers, the case needs ", array.shape, " = ",
           array.size());
  }
}

// sqrt(sum_n |A|^2n), n < L.
double noise_gain(Complex a, std::int64_t length) {
  const double square = std::norm(a), n = static_cast<double>(length);
  const double rest = 1 - square;
  return std::sqrt(std::abs(rest) < 1e-12 ? n : -std::expm1(n * std::log(square)) / rest);
}

Complex power(Complex a, std::int64_t n);

// |sum_n A^2n|, n < L: as the square of noise_gain() where the phase stays, and little where it turns.
double coherent_gain(Complex a, std::int64_t length) {
  const Complex rest = 1. - a * a;
  return std::abs(rest) < 1e-12 ? static_cast<double>(length) : std::abs((1. - power(a, 2 * length)) / rest);
}

// A^n, by its logarithm.
Complex power(Complex a, std::int64_t n) {
  if (n == 0) return 1;
  if (a == 0.) return 0;
  const double times = static_cast<double>(n);
  return std::polar(std::exp(times * std::log(std::abs(a))), times * std::arg(a));
}

std::mt19937_64 random_of(const StateSpace& p, Poles poles, std::uint64_t seed) {
  const std::string word = text(token(p), int(poles));
  std::seed_seq mixed(word.begin(), word.end());
  return std::mt19937_64(std::mt19937_64(mixed)() + seed);
}

void fill_filters(const StateSpace& p, Poles poles, std::mt19937_64& random, StateInputs& inputs) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  for (auto* list : {&inputs.a, &inputs.b, &inputs.c}) list->resize(2 * p.channels * p.states);
  for (std::int64_t i = 0; i < p.channels * p.states; ++i) {
    const double decay = poles == Poles::unit ? 0 : std::pow(10., poles == Poles::slow ? -6. : -4 * uniform(random));
    const Complex a = std::polar(std::exp(-decay), std::numbers::pi * uniform(random));
    const Complex b(normal(random), normal(random)), c(normal(random), normal(random));
    const double gain = std::abs(b) * noise_gain(a, p.length) * std::sqrt(static_cast<double>(p.states));
    set_complex(inputs.a, i, a), set_complex(inputs.b, i, b), set_complex(inputs.c, i, c / gain);
  }
  for (auto* list : {&inputs.a, &inputs.b, &inputs.c})
    for (double& value : *list) value = round_to(arrays(p)[2].dtype, value);
}

}  // namespace

StateInputs make_filters(const StateSpace& p, Poles poles, std::uint64_t seed) {
  StateInputs inputs;
  std::mt19937_64 random = random_of(p, poles, seed);
  fill_filters(p, poles, random, inputs);
  return inputs;
}

StateInputs make_inputs(const StateSpace& p, Poles poles, std::uint64_t seed) {
  std::mt19937_64 random = random_of(p, poles, seed);
  std::normal_distribution<double> normal;
  StateInputs inputs;
  inputs.u.resize(p.batch * p.channels * p.length);
  for (double& value : inputs.u) value = round_to(p.dtype, normal(random));
  fill_filters(p, poles, random, inputs);
  if (p.initial) {
    inputs.x_initial.resize(2 * p.batch * p.channels * p.states);
    const std::vector<double> sizes = state_sizes(p, inputs);
    for (std::size_t i = 0; i < inputs.x_initial.size(); ++i)
      inputs.x_initial[i] = round_to(arrays(p)[2].dtype, sizes[i / 2 % sizes.size()] * normal(random));
  }
  return inputs;
}

StateOutputs by_recurrence(const StateSpace& p, const StateInputs& inputs) {
  check(p, inputs);
  StateOutputs outputs;
  outputs.y.resize(inputs.u.size());
  if (p.final) outputs.x_final.resize(2 * p.batch * p.channels * p.states);
  std::vector<Complex> x(p.states), a(p.states), b(p.states), c(p.states);
  for (std::int64_t row = 0; row < p.batch * p.channels; ++row) {
    const std::int64_t first = row % p.channels * p.states;
    for (int s = 0; s < p.states; ++s) {
      a[s] = complex_at(inputs.a, first + s), b[s] = complex_at(inputs.b, first + s);
      c[s] = complex_at(inputs.c, first + s);
      x[s] = p.initial ? complex_at(inputs.x_initial, row * p.states + s) : 0;
    }
    for (std::int64_t n = 0; n < p.length; ++n) {
      double sum = 0;
      for (int s = 0; s < p.states; ++s) {
        x[s] = a[s] * x[s] + b[s] * inputs.u[row * p.length + n];
        sum += c[s].real() * x[s].real() - c[s].imag() * x[s].imag();
      }
      outputs.y[row * p.length + n] = sum;
    }
    if (p.final)
      for (int s = 0; s < p.states; ++s) set_complex(outputs.x_final, row * p.states + s, x[s]);
  }
  return outputs;
}

std::vector<double> filter_of(const StateSpace& p, const StateInputs& inputs) {
  std::vector<double> k(p.channels * p.length);
  for (std::int64_t h = 0; h < p.channels; ++h)
    for (std::int64_t n = 0; n < p.length; ++n)
      for (std::int64_t i = h * p.states; i < (h + 1) * p.states; ++i)
        k[h * p.length + n] +=
            std::real(complex_at(inputs.c, i) * power(complex_at(inputs.a, i), n) * complex_at(inputs.b, i));
  return k;
}

StateOutputs by_sum(const StateSpace& p, const StateInputs& inputs) {
  check(p, inputs);
  const std::vector<double> k = filter_of(p, inputs);
  StateOutputs outputs;
  outputs.y.resize(inputs.u.size());
  if (p.final) outputs.x_final.resize(2 * p.batch * p.channels * p.states);
  for (std::int64_t row = 0; row < p.batch * p.channels; ++row) {
    const std::int64_t h = row % p.channels;
    for (std::int64_t n = 0; n < p.length; ++n) {
      double& y = outputs.y[row * p.length + n];
      for (std::int64_t m = 0; m <= n; ++m) y += k[h * p.length + n - m] * inputs.u[row * p.length + m];
      for (int s = 0; p.initial && s < p.states; ++s)
        y += std::real(complex_at(inputs.c, h * p.states + s) * power(complex_at(inputs.a, h * p.states + s), n + 1) *
                       complex_at(inputs.x_initial, row * p.states + s));
    }
    for (int s = 0; p.final && s < p.states; ++s) {
      const Complex a = complex_at(inputs.a, h * p.states + s), b = complex_at(inputs.b, h * p.states + s);
      Complex x = p.initial ? power(a, p.length) * complex_at(inputs.x_initial, row * p.states + s) : 0;
      for (std::int64_t n = 0; n < p.length; ++n) x += power(a, p.length - 1 - n) * b * inputs.u[row * p.length + n];
      set_complex(outputs.x_final, row * p.states + s, x);
    }
  }
  return outputs;
}

std::vector<double> state_sizes(const StateSpace& p, const StateInputs& inputs) {
  std::vector<double> sizes(p.channels * p.states);
  for (std::int64_t i = 0; i < std::ssize(sizes); ++i)
    sizes[i] = std::abs(complex_at(inputs.b, i)) * noise_gain(complex_at(inputs.a, i), p.length);
  return sizes;
}

std::vector<double> over_sizes(const StateSpace& p, const StateInputs& inputs, std::vector<double> x) {
  const std::vector<double> sizes = state_sizes(p, inputs);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (const double size = sizes[i / 2 % sizes.size()]; size > 0) x[i] /= size;
  return x;
}

StateInputs state_inputs_of(const Values& values) {
  return {array_in(values, "u"), array_in(values, "a"), array_in(values, "b"), array_in(values, "c"),
          array_in(values, "x_initial")};
}

Values values_of(StateInputs inputs) {
  Values values = {
      {"u", std::move(inputs.u)}, {"a", std::move(inputs.a)}, {"b", std::move(inputs.b)}, {"c", std::move(inputs.c)}};
  if (!inputs.x_initial.empty()) values.emplace("x_initial", std::move(inputs.x_initial));
  return values;
}

namespace {

// Calls visit(square, |x|^2) before every chunk, and after the last, of a state x that begins with zeros. A kernel has
// one matrix for all chunks. So an error of one of its numbers meets the sum of all samples a chunk apart, as they have
// decayed. `square` is the sum of the squares of these products. A constant row and a pole that turns m times in a
// chunk make it far larger than noise does.
template <class Visit>
void for_each_chunk(Complex a, Complex b, std::span<const double> u, std::int64_t chunk, Visit visit) {
  std::vector<Complex> sums(chunk), factors(chunk);  // of a chunk's samples, the last one last
  for (std::int64_t i = 0; i < chunk; ++i) factors[i] = b * power(a, chunk - 1 - i);
  double square = 0;
  Complex x = 0;
  for (std::int64_t first = 0, length = std::ssize(u); first < length; first += chunk) {
    visit(square, std::norm(x));
    const std::int64_t count = std::min(chunk, length - first);
    const Complex decay = power(a, count);
    square = 0, x = 0;
    for (std::int64_t i = 0; i < chunk; ++i) {
      const std::int64_t n = first + i - (chunk - count);
      sums[i] = decay * sums[i] + (n >= first && std::isfinite(u[n]) ? u[n] : 0);
      square += std::norm(factors[i] * sums[i]), x += factors[i] * sums[i];
    }
  }
  visit(square, std::norm(x));
}

// The sum of the squares of the real parts of A^n, n < L, in any phase. It is half of |A|^2n where the phase turns, and
// all of it where the phase stays: at L = 1, or of a pole at 1.
double real_gain(Complex a, std::int64_t length) {
  return (std::pow(noise_gain(a, length), 2) + coherent_gain(a, length)) / 2;
}

// In how many samples |A|^n has its energy, n < L.
double decaying_samples(Complex a, std::int64_t length) {
  return std::pow(noise_gain(a, length), 4) / std::pow(noise_gain(a * a, length), 2);
}

std::span<const double> row_of(const StateSpace& p, const StateInputs& inputs, std::int64_t row) {
  return std::span(inputs.u).subspan(row * p.length, p.length);
}

double energy(std::span<const double> u) {
  double sum = 0;
  for (double value : u)
    if (std::isfinite(value)) sum += value * value;
  return sum;
}

}  // namespace

// The real part of c A^n x, over all n of a row. Errors of parts that cancel are within the larger one.
SummedRows summed_rows(const StateSpace& p, const StateInputs& inputs, std::span<const int> chunks) {
  SummedRows rows;
  for (std::int64_t row = 0; row < p.batch * p.channels; ++row) {
    const std::span<const double> u = row_of(p, inputs, row);
    double filter = 0, of_initial = 0, concentration = 0;
    std::vector<double> of_matrices(chunks.size()), of_states(chunks.size());
    for (int s = 0; s < p.states; ++s) {
      const std::int64_t i = row % p.channels * p.states + s;
      const Complex a = complex_at(inputs.a, i), b = complex_at(inputs.b, i), c = complex_at(inputs.c, i);
      filter += std::norm(c * b) * real_gain(a, p.length);
      for (std::size_t k = 0; k < chunks.size(); ++k) {
        const double gain = std::norm(c * a) * real_gain(a, chunks[k]);
        for_each_chunk(a, b, u, chunks[k], [&](double square, double size) {
          of_matrices[k] += gain * square, of_states[k] += gain * size;
        });
      }
      if (!p.initial) continue;
      const double of_x = std::norm(c * a * complex_at(inputs.x_initial, row * p.states + s)) * real_gain(a, p.length);
      if (!std::isfinite(of_x)) continue;
      of_initial += of_x, concentration += of_x / std::sqrt(decaying_samples(a, p.length));
    }
    const double of_noise = filter * rounded_square(p.dtype, energy(u), static_cast<double>(p.length));
    double of_row = of_noise;
    for (const auto& of_chunks : {of_matrices, of_states})
      for (double square : of_chunks) of_row = std::max(of_row, square);
    const double all = of_initial + of_row;
    const double concentrated = std::pow(concentration, 2) + of_row * of_row / static_cast<double>(p.length);
    rows.squares.push_back(all);
    rows.samples.push_back(all > 0 ? all * all / concentrated : static_cast<double>(p.length));
  }
  return rows;
}

std::vector<double> summed_squares_of_states(const StateSpace& p, const StateInputs& inputs,
                                             std::span<const int> chunks) {
  std::vector<double> squares(p.batch * p.channels * p.states);
  const std::vector<double> before = p.initial ? over_sizes(p, inputs, inputs.x_initial) : std::vector<double>(),
                            sizes = state_sizes(p, inputs);
  for (std::int64_t row = 0; row < p.batch * p.channels; ++row) {
    const std::span<const double> u = row_of(p, inputs, row);
    const double of_noise = energy(u) / static_cast<double>(p.length);
    for (int s = 0; s < p.states; ++s) {
      const std::int64_t at = row * p.states + s, i = row % p.channels * p.states + s;
      const Complex a = complex_at(inputs.a, i), b = complex_at(inputs.b, i);
      squares[at] = of_noise;
      for (int chunk : chunks) {
        double last = 0;
        if (sizes[i] > 0)
          for_each_chunk(a, b, u, chunk, [&](double square, double) { last = square / (sizes[i] * sizes[i]); });
        squares[at] = std::max(squares[at], last);
      }
      if (!p.initial) continue;
      const double of_x = std::norm(complex_at(before, at)) * std::pow(std::abs(a), 2. * static_cast<double>(p.length));
      if (std::isfinite(of_x)) squares[at] += of_x;
    }
  }
  return squares;
}

double remembered_samples(const StateSpace& p, const StateInputs& inputs, std::int64_t channel) {
  const auto length = static_cast<double>(p.length);
  double most = 1;
  for (std::int64_t i = channel * p.states; i < (channel + 1) * p.states; ++i)
    if (const double decay = 1 - std::abs(complex_at(inputs.a, i)); decay * length > 1)
      most = std::max(most, 1 / decay);
    else
      return length;
  return most;
}

double bound_l2(const StateSpace& p, double remembered, int chunk, int roundings) {
  const double chunks = std::ceil(remembered / chunk);
  return std::hypot(bound_l2_of_roundings(p.dtype, roundings), chunks * 0x1p-24, std::sqrt(chunks) * 0x1p-23);
}

}  // namespace danaus
