#include "reference/dft.hpp"

#include <fftw3.h>

#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <utility>

#include "reference/basics.hpp"

namespace danaus {
namespace {

enum class Kind { forward, inverse, real, inverse_real };

using Plan = std::unique_ptr<fftw_plan_s, decltype(&fftw_destroy_plan)>;

fftw_complex* raw(Complex* x) { return reinterpret_cast<fftw_complex*>(x); }

Plan make_plan(Kind kind, std::int64_t n) {
  // FFTW_ESTIMATE leaves the arrays alone; FFTW_UNALIGNED lets the plan run on any others.
  constexpr unsigned kFlags = FFTW_ESTIMATE | FFTW_UNALIGNED;
  const int size = static_cast<int>(n);
  std::vector<Complex> a(n), b(n);
  const auto plan = [&]() -> fftw_plan {
    switch (kind) {
      case Kind::forward: return fftw_plan_dft_1d(size, raw(a.data()), raw(b.data()), FFTW_FORWARD, kFlags);
      case Kind::inverse: return fftw_plan_dft_1d(size, raw(a.data()), raw(b.data()), FFTW_BACKWARD, kFlags);
      case Kind::real: return fftw_plan_dft_r2c_1d(size, reinterpret_cast<double*>(a.data()), raw(b.data()), kFlags);
      case Kind::inverse_real:
        return fftw_plan_dft_c2r_1d(size, raw(a.data()), reinterpret_cast<double*>(b.data()),
                                    kFlags | FFTW_DESTROY_INPUT);
    }
    return nullptr;
  }();
  if (plan == nullptr) fail("dft: FFTW has no plan for n=", n);
  return Plan(plan, &fftw_destroy_plan);
}

// FFTW's planner is not re-entrant, running a plan is: plans are made under a lock and kept.
fftw_plan cached_plan(Kind kind, std::int64_t n) {
  if (n < 1 || n > (std::int64_t{1} << 30)) fail("dft: n=", n, ", must be from 1 to 2^30");
  static std::mutex mutex;
  static std::map<std::pair<Kind, std::int64_t>, Plan> plans;
  const std::lock_guard lock(mutex);
  const auto found = plans.find({kind, n});
  if (found != plans.end()) return found->second.get();
  return plans.emplace(std::pair{kind, n}, make_plan(kind, n)).first->second.get();
}

std::vector<Complex> transform(Kind kind, std::span<const Complex> x) {
  std::vector<Complex> in(x.begin(), x.end()), out(x.size());
  fftw_execute_dft(cached_plan(kind, std::ssize(x)), raw(in.data()), raw(out.data()));
  return out;
}

}  // namespace

Complex root_of_unity(std::int64_t numerator, std::int64_t denominator) {
  std::int64_t phase = numerator % denominator;
  if (phase < 0) phase += denominator;
  // phase = quarter * denominator / 4 + rest / 4 with |rest| <= denominator / 2.
  const std::int64_t quarter = (8 * phase + denominator) / (2 * denominator);
  const std::int64_t rest = 4 * phase - quarter * denominator;
  const double angle = std::numbers::pi / 2 * (static_cast<double>(rest) / static_cast<double>(denominator));
  const double c = std::cos(angle), s = std::sin(angle);
  switch (quarter % 4) {
    case 0: return {c, -s};
    case 1: return {-s, -c};
    case 2: return {-c, s};
    default: return {s, c};
  }
}

Eigen::MatrixXcd dense_dft(int n) {
  if (n < 1) fail("dense_dft: n=", n, ", must be at least 1");
  Eigen::VectorXcd root(n);
  for (int k = 0; k < n; ++k) root[k] = root_of_unity(k, n);
  Eigen::MatrixXcd matrix(n, n);
  for (int column = 0; column < n; ++column) {
    int phase = 0;  // row * column modulo n
    for (int row = 0; row < n; ++row) {
      matrix(row, column) = root[phase];
      phase = phase < n - column ? phase + column : phase + column - n;
    }
  }
  return matrix;
}

std::vector<Complex> dft(std::span<const Complex> x) { return transform(Kind::forward, x); }

std::vector<Complex> inverse_dft(std::span<const Complex> spectrum) {
  std::vector<Complex> x = transform(Kind::inverse, spectrum);
  for (Complex& value : x) value /= static_cast<double>(x.size());
  return x;
}

std::vector<Complex> real_dft(std::span<const double> x) {
  std::vector<double> in(x.begin(), x.end());
  std::vector<Complex> out(x.size() / 2 + 1);
  fftw_execute_dft_r2c(cached_plan(Kind::real, std::ssize(x)), in.data(), raw(out.data()));
  return out;
}

std::vector<double> inverse_real_dft(std::span<const Complex> half_spectrum, std::int64_t n) {
  if (std::ssize(half_spectrum) != n / 2 + 1)
    fail("inverse_real_dft: ", half_spectrum.size(), " frequencies, must be n/2 + 1 = ", n / 2 + 1);
  std::vector<Complex> in(half_spectrum.begin(), half_spectrum.end());
  std::vector<double> out(n);
  fftw_execute_dft_c2r(cached_plan(Kind::inverse_real, n), raw(in.data()), out.data());
  for (double& value : out) value /= static_cast<double>(n);
  return out;
}

std::int64_t next_smooth(std::int64_t n) {
  for (;; ++n) {
    std::int64_t rest = n;
    for (int prime : {2, 3, 5, 7})
      while (rest % prime == 0) rest /= prime;
    if (rest == 1) return n;
  }
}

}  // namespace danaus
