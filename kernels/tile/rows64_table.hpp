// The constants of a DFT down columns (rows64.hpp), written on the host.
#pragma once

#include "kernels/tile/table.hpp"

namespace danaus {

// `l` is a layout as rows64.hpp asks for one; `eight` and `sixteen` are the scales of matrices of 8 and 16 points.
template <class Layout>
void write_rows(Table& table, const Layout& l, double eight, double sixteen) {
  using Complex = std::complex<double>;
  const int r = l.radix, top = l.rows16 || l.real_rows ? 8 * r : 8;  // points of the first stage of mma
  const bool rows16 = l.rows16, weighted = l.key.fold == Fold::right_angle;
  table.matrix(l.eight_at, [=](int in, int out) { return eight * root(8, out * in); });
  table.matrix(l.sixteen_at, [=](int in, int out) { return sixteen * root(8, out * in); });
  table.matrix(l.sixteen_at + 1, [=](int in, int out) { return sixteen * root(16, (2 * out + 1) * in); });
  table.matrix(l.sixteen_at + 2, [=](int in, int out) { return sixteen * root(16, (2 * in + 1) * out); });
  table.list(l.outer_at, r, [=](int k) { return [=](int n1, int n2) { return root(64 * r, k * (8 * n1 + n2)); }; });
  // Real data: the first matrix, of the right angle weighted by a^(8 n1 rows), there and transposed. Where nr and n1
  // are one digit, k = kr + r k1, it is r x r blocks, re and im of two of them a vector.
  const auto first = [=](int k1, int n1) -> Complex {
    return (rows16 ? sixteen : eight) * root(top, k1 * n1) * (weighted ? weight(64 * r, 8 * n1) : Complex(1));
  };
  for (bool back : {false, true}) {
    if (l.pair) break;
    const int at = l.weighted_at + back * l.weighted_vectors;
    if (l.real_rows)
      table.list(at, r * r, [=](int number) {
        const int i = number / r, j = number % r;
        return [=](int in, int out) { return back ? first(j + r * in, 8 * i + out) : first(i + r * out, 8 * j + in); };
      });
    else
      table.matrix(at, [=](int in, int out) { return back ? first(in, out) : first(out, in); });
  }
}

}  // namespace danaus
