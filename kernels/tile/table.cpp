#include "kernels/tile/table.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/device/halves.hpp"

namespace danaus {
namespace {

using Element = Table::Element;
using ComplexElement = Table::ComplexElement;

Element real(const ComplexElement& f) {
  return f ? Element([f](int s, int g) { return f(s, g).real(); }) : Element();
}
Element imaginary(const ComplexElement& f) {
  return f ? Element([f](int s, int g) { return f(s, g).imag(); }) : Element();
}

std::uint32_t pack(double low, double high) {
  return host::encode<Dtype::f16>(low) | (std::uint32_t{host::encode<Dtype::f16>(high)} << 16);
}

}  // namespace

std::complex<double> root(std::int64_t n, std::int64_t a) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(((a % n) + n) % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

std::complex<double> weight(std::int64_t size, std::int64_t n) { return root(4 * size, -n); }

void Table::vector(int at, const std::array<Element, 4>& words) {
  if (written_.at(at)) throw std::logic_error(text("table: vector ", at, " is written twice"));
  written_[at] = true;
  for (int lane = 0; lane < 32; ++lane)
    for (int word = 0; word < 4; ++word) {
      const int g = lane / 4, t = lane % 4;
      if (const Element& f = words[word]) words_[128 * at + 4 * lane + word] = pack(f(2 * t, g), f(2 * t + 1, g));
    }
}

void Table::pair(int at, const ComplexElement& first, const ComplexElement& second) {
  vector(at, {real(first), imaginary(first), real(second), imaginary(second)});
}

void Table::matrix(int at, const ComplexElement& m) {
  vector(at, {real(m), imaginary(m), [m](int s, int g) { return -m(s, g).imag(); }, real(m)});
}

void Table::list(int at, int count, const std::function<ComplexElement(int)>& f) {
  for (int i = 0; i < count; i += 2) pair(at + i / 2, f(i), i + 1 < count ? f(i + 1) : ComplexElement());
}

std::vector<std::uint32_t> Table::take() {
  const auto left_out = std::find(written_.begin(), written_.end(), false);
  if (left_out != written_.end())
    throw std::logic_error(text("table: vector ", left_out - written_.begin(), " is left out"));
  return std::move(words_);
}

}  // namespace danaus
