#include <cmath>

#include "kernels/families/exchange/family.hpp"
#include "kernels/families/gains.hpp"
#include "kernels/product/slots.hpp"
#include "kernels/tile/rows64_table.hpp"

namespace danaus::exchange {
namespace {

using Complex = std::complex<double>;

// Scales of the stages of one direction, powers of two: each keeps that of white noise within a factor of 2.
struct Scales {
  double eight = 0.5, sixteen = 0.25;  // DFT matrices
  double columns = 1;                  // the DFT over n3
  double inner = 1;                    // twiddle between the last two stages
  double first;                        // twiddle between the first two, which makes the product unitary
  double direction;                    // of all stages together
};

Scales scales(const Layout& l) {
  Scales s;
  double product = (l.rows16 ? s.sixteen : s.eight) * s.eight;
  s.columns = l.column_chunks >= 4 ? 0.5 : 1;
  if (l.columns16) {
    s.inner = l.slabs == 2 ? 1 : 0.5;
    product *= s.sixteen * s.eight * s.inner;
  } else {
    s.inner = l.column_chunks >= 2 ? 0.5 : 1;
    product *= s.columns * s.eight * s.inner;
  }
  s.first = std::exp2(-std::round(std::log2(product * std::sqrt(l.size))));
  s.direction = product * s.first;
  const double of_eight = std::sqrt(8) * s.eight, of_sixteen = 4 * s.sixteen;
  const double over_slabs = std::sqrt(l.columns16 ? l.slabs / 2 : l.slabs);
  const double of_columns = l.columns16 ? of_sixteen : std::sqrt(l.column_chunks) * s.columns;
  require_room(Family::name,
               {l.rows16 ? 1 : std::sqrt(l.radix), l.rows16 ? of_sixteen : of_eight, s.first, of_eight, over_slabs,
                of_columns, s.inner, of_eight},
               l.half ? 2 : 1);
  return s;
}

// k_hi at (kr, k1, k2).
int row_frequency(int r, int kr, int k1, int k2) { return kr + r * (k1 + 8 * k2); }

// The digit ks that step B leaves where slab `slab` was.
int slab_frequency(const Layout& l, int slab) { return l.columns16 ? slab / 2 + l.slabs / 2 * (slab % 2) : slab; }

}  // namespace

std::vector<std::uint32_t> Family::make_tables(const Layout& l) {
  const Scales s = scales(l);
  const int n = l.size, r = l.radix, columns = l.columns, slabs = l.slabs, row_chunks = l.column_chunks;
  const bool weighted = l.key.fold == Fold::right_angle, columns16 = l.columns16;
  const int top = l.rows16 || l.real_rows ? 8 * r : 8;  // points of the first stage of mma
  Table table(l.table_vectors);
  write_rows(table, l, s.eight, s.sixteen);
  // Where rows n_hi share a line of 128 bytes, the stage over n3 is block diagonal.
  table.matrix(l.eight_at + 1, [=](int in, int out) {
    return in / row_chunks == out / row_chunks ? s.columns * root(row_chunks, (out % row_chunks) * (in % row_chunks))
                                               : Complex(0);
  });
  table.list(l.slab_at, slabs, [=](int place) {
    const int ks = columns16 ? place / 2 : place, low = columns16 ? place % 2 : 0;
    return [=](int n3, int n4) { return root(64 * slabs, ks * (64 * low + 8 * n3 + n4)); };
  });
  const auto split = [=](int n4, int k_hi) {
    return root(n, std::int64_t{n4} * k_hi) * (weighted ? weight(n, n4) : Complex(1));
  };
  // A line's rows k1 are those of its group, with the split's part in the matrix, and which of them, with the twiddle.
  for (int line = 0; line < 8 * r; ++line) {
    const auto twiddle = [=](int low, int n4, int column) {
      const int k3 = column % row_chunks, k1 = column / row_chunks;
      const Complex inner = columns16 ? root(128, (2 * k3 + low) * n4) : root(8 * row_chunks, k3 * n4);
      return s.inner * inner * split(n4, row_frequency(r, line / 8, k1, line % 8));
    };
    const auto there = [=](int low) { return [=](int n4, int column) { return twiddle(low, n4, column); }; };
    const auto back = [=](int low) { return [=](int column, int n4) { return twiddle(low, n4, column); }; };
    const int at = l.line_at + line * l.line_vectors;
    if (columns16)
      table.pair(at, there(0), there(1)), table.pair(at + 1, back(0), back(1));
    else
      table.pair(at, there(0), back(0));
  }
  for (int group = 0; group < l.groups; ++group) {
    const int k1 = group * l.rows_per_line;
    const auto matrix = [=](int n4, int k4) {
      return s.eight * root(8, n4 * k4) * root(n, std::int64_t{n4} * row_frequency(r, 0, k1, 0));
    };
    table.matrix(l.group_at + 2 * group, [=](int in, int out) { return matrix(in, out); });
    table.matrix(l.group_at + 2 * group + 1, [=](int in, int out) { return matrix(out, in); });
  }
  // The split of a unit at its first sample: the factor in k2 goes with the matrix, the rest with the twiddle.
  for (int unit = 0; unit < l.units; ++unit) {
    const std::int64_t first = 8 * unit;
    const auto matrix = [=](int n2, int k2) {
      return s.eight * root(8, n2 * k2) * root(n, first * row_frequency(r, 0, 0, k2));
    };
    const auto twiddle = [=](int kr, int k1, int n2) {
      const int digit = top == 8 ? k1 : kr + r * k1;
      return s.first * root(8 * top, digit * n2) * root(n, first * row_frequency(r, kr, k1, 0)) *
             (weighted ? weight(n, first + std::int64_t{columns} * n2) : Complex(1));
    };
    const int there = l.unit_at + 2 * unit * l.unit_vectors, back = there + l.unit_vectors;
    table.matrix(there, [=](int in, int out) { return matrix(in, out); });
    table.list(there + 1, r, [=](int k) { return [=](int n2, int k1) { return twiddle(k, k1, n2); }; });
    table.matrix(back, [=](int in, int out) { return matrix(out, in); });
    table.list(back + 1, r, [=](int k) { return [=](int k1, int n2) { return twiddle(k, k1, n2); }; });
  }
  return table.take();
}

std::vector<std::int32_t> Family::spectrum_slots(const Layout& l) {
  std::vector<std::int32_t> slots(l.size);
  const int r = l.radix;
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < 2; ++e) {
      const int column = lane / 4, row = 2 * (lane % 4) + e;
      for (int line = 0; line < l.lines; ++line) {
        const int kr = line % (8 * r) / 8, k2 = line % 8,
                  k1 = line / (8 * r) * l.rows_per_line + column / l.column_chunks;
        const int k_hi = row_frequency(r, kr, k1, k2);
        for (int slab = 0; slab < l.slabs; ++slab) {
          const int k3 = column % l.column_chunks, k4 = row;
          const int k_lo = slab_frequency(l, slab) + l.slabs * (k3 + l.column_chunks * k4);
          slots[k_hi + 64 * r * k_lo] = spectrum_slot(line / 2 * l.slabs + slab, lane, line % 2, e);
        }
      }
    }
  return slots;
}

double Family::spectrum_scale(const Layout& l) {
  const double direction = scales(l).direction;
  return 1 / (l.size * direction * direction);
}

}  // namespace danaus::exchange
