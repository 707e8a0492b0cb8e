#include <cmath>

#include "kernels/families/chain/family.hpp"
#include "kernels/families/gains.hpp"
#include "kernels/product/slots.hpp"
#include "kernels/tile/table.hpp"

namespace danaus::chain {
namespace {

using Complex = std::complex<double>;

// Scales of the stages of one direction, powers of two: each keeps that of white noise within a factor of 2.
struct Scales {
  double sixteen = 0.25;  // DFT16
  double first;           // inner twiddle, which makes the product unitary
  double direction;       // of all stages together
};

Scales scales(const Layout& l) {
  Scales s;
  const double product = s.sixteen * s.sixteen;
  s.first = std::exp2(-std::round(std::log2(product * std::sqrt(l.size))));
  s.direction = product * s.first;
  require_room(Family::name, {std::sqrt(l.radix), 4 * s.sixteen, s.first, 4 * s.sixteen});
  return s;
}

}  // namespace

std::vector<std::uint32_t> Family::make_tables(const Layout& l) {
  const Scales s = scales(l);
  const int n = l.size;
  Table table(l.table_vectors);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      table.matrix(l.matrix_at + 2 * i + j,
                   [=](int in, int out) { return s.sixteen * root(16, (8 * i + out) * (8 * j + in)); });
  // Of real rows, weight n = 16 n1 + n2 in two parts.
  const bool real_rows = l.real_rows;
  const auto inner = [=](int k1, int n2) {
    return s.first * root(256, k1 * n2) * (real_rows ? weight(n, n2) : Complex(1));
  };
  const auto weighted = [=](int k1, int n1) { return s.sixteen * root(16, k1 * n1) * weight(n, 16 * n1); };
  for (bool back : {false, true}) {
    if (back && !real_rows) break;
    table.list(back ? l.inner_back_at : l.inner_at, 4, [=](int number) {
      const int i = number / 2, j = number % 2;
      return [=](int row, int column) {
        return back ? inner(8 * j + row, 8 * i + column) : inner(8 * i + column, 8 * j + row);
      };
    });
    if (real_rows)
      table.list(l.real_at + back * l.real_vectors, 4, [=](int number) {
        const int i = number / 2, j = number % 2;
        return [=](int in, int out) {
          return back ? weighted(8 * j + in, 8 * i + out) : weighted(8 * i + out, 8 * j + in);
        };
      });
  }
  for (int kr = 0; l.outer_vectors > 0 && kr < l.radix; ++kr)
    for (int i = 0; i < 2; ++i) {
      const auto outer = [=, pair = l.pair](int j) {
        return [=](int n1, int n2) {
          const int m = 16 * (8 * i + n1) + 8 * j + n2;
          return root(n, std::int64_t{kr} * m) * (pair ? Complex(1) : weight(n, m));
        };
      };
      table.pair(l.outer_at + 2 * kr + i, outer(0), outer(1));
    }
  return table.take();
}

std::vector<std::int32_t> Family::spectrum_slots(const Layout& l) {
  std::vector<std::int32_t> slots(l.size);
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < 2; ++e) {
      const int column = lane / 4, row = 2 * (lane % 4) + e;
      for (int kr = 0; kr < l.radix; ++kr)
        for (int i = 0; i < 2; ++i)
          for (int j = 0; j < 2; ++j)
            slots[kr + l.radix * (8 * i + column + 16 * (8 * j + row))] = spectrum_slot(2 * kr + i, lane, j, e);
    }
  return slots;
}

double Family::spectrum_scale(const Layout& l) {
  const double direction = scales(l).direction;
  return 1 / (l.size * direction * direction);
}

}  // namespace danaus::chain
