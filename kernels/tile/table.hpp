// Tables of f16 constants for kernels, written on the host: vectors of four words a lane, as tiles need them
// (tile.hpp).
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <vector>

#include "reference/basics.hpp"

namespace danaus {

// exp(-2 pi i a / n), the phase reduced in integers.
std::complex<double> root(std::int64_t n, std::int64_t a);

// Weight of sample n in the right-angle fold: exp(i pi n / 2N) = root of order 4N to the power -n.
std::complex<double> weight(std::int64_t size, std::int64_t n);

// Each vector is written once, at its number in the kernel's layout.
class Table {
 public:
  // One register of a lane: f(2t + e, g) for e = 0, 1.
  using Element = std::function<double(int, int)>;
  using ComplexElement = std::function<std::complex<double>(int, int)>;

  explicit Table(int vectors) : words_(128 * vectors), written_(vectors) {}

  void vector(int at, const std::array<Element, 4>& words);
  // re and im of two elements.
  void pair(int at, const ComplexElement& first, const ComplexElement& second);
  // Matrix element [out = g][in = 2t + e] as the A registers re, im, -im, re.
  void matrix(int at, const ComplexElement& m);
  // f(0), f(1), ... f(count - 1), two a vector.
  void list(int at, int count, const std::function<ComplexElement(int)>& f);

  // Throws std::logic_error where a vector was left out.
  std::vector<std::uint32_t> take();

 private:
  std::vector<std::uint32_t> words_;
  std::vector<bool> written_;
};

}  // namespace danaus
