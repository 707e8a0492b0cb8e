#include "kernels/geometry.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>

#include "kernels/executor/halves.hpp"

namespace danaus {
namespace {

using Complex = std::complex<double>;

// exp(-2 pi i a / n), the phase reduced in integers.
Complex root(std::int64_t n, std::int64_t a) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(((a % n) + n) % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

// Weight of sample n in the right-angle fold: exp(i pi n / 2N) = root of order 4N to the power -n.
Complex weight(std::int64_t size, std::int64_t n) { return root(4 * size, -n); }

// Names of kernels/exchange/shape.hpp.
struct Shape {
  int slabs, row_chunks;   // 16-byte chunks of a row in a slab
  int rows_per_line;       // of 128 bytes
  bool rows16, columns16;  // whether a digit of 16 is part of n_hi, of n_lo
  explicit Shape(const Geometry& g)
      : slabs(std::max(g.columns / 64, 1)),
        row_chunks(std::min(g.columns, 64) / 8),
        rows_per_line(8 / row_chunks),
        rows16(g.radix == 2),
        columns16(slabs % 2 == 0) {}
};

// Scales of the stages of one direction, powers of two: each keeps that of white noise within a factor of 2.
struct Scales {
  double eight = 0.5, sixteen = 0.25;  // DFT matrices
  double columns = 1;                  // exchange: the DFT over n3
  double inner = 1;                    // twiddle between the last two stages
  double first;                        // twiddle between the first two, which makes the product unitary
  double direction;                    // of all stages together
};

Scales scales(const Geometry& g) {
  Scales s;
  double product;
  if (g.algorithm == Algorithm::chain) {
    product = s.sixteen * s.sixteen;
  } else {
    const Shape shape(g);
    product = (shape.rows16 ? s.sixteen : s.eight) * s.eight;
    s.columns = shape.row_chunks >= 4 ? 0.5 : 1;
    if (shape.columns16) {
      s.inner = shape.slabs == 2 ? 1 : 0.5;
      product *= s.sixteen * s.eight * s.inner;
    } else {
      s.inner = shape.row_chunks >= 2 ? 0.5 : 1;
      product *= s.columns * s.eight * s.inner;
    }
  }
  s.first = std::exp2(-std::round(std::log2(product * std::sqrt(g.size()))));
  s.direction = product * s.first;
  return s;
}

// Appends words lane by lane, four a vector.
class Table {
 public:
  explicit Table(Dtype dtype) : dtype_(dtype) {}

  // One register of a lane: f(2t + e, g) for e = 0, 1.
  using Element = std::function<double(int, int)>;
  using ComplexElement = std::function<Complex(int, int)>;

  void vector(const std::array<Element, 4>& words) {
    for (int lane = 0; lane < 32; ++lane)
      for (const Element& word : words) {
        const int g = lane / 4, t = lane % 4;
        words_.push_back(word ? pack(word(2 * t, g), word(2 * t + 1, g)) : 0);
      }
  }
  void pair(const ComplexElement& first, const ComplexElement& second) {
    vector({real(first), imaginary(first), real(second), imaginary(second)});
  }
  // Matrix element [out = g][in = 2t + e] as the A registers re, im, -im, re.
  void matrix(const ComplexElement& m) {
    vector({real(m), imaginary(m), [m](int s, int g) { return -m(s, g).imag(); }, real(m)});
  }
  // f(0), f(1), ... f(count - 1), two a vector.
  void list(int count, const std::function<ComplexElement(int)>& f) {
    for (int i = 0; i < count; i += 2) pair(f(i), i + 1 < count ? f(i + 1) : ComplexElement());
  }
  std::vector<std::uint32_t> take() { return std::move(words_); }

 private:
  static Element real(const ComplexElement& f) {
    return f ? Element([f](int s, int g) { return f(s, g).real(); }) : Element();
  }
  static Element imaginary(const ComplexElement& f) {
    return f ? Element([f](int s, int g) { return f(s, g).imag(); }) : Element();
  }
  std::uint32_t pack(double low, double high) const {
    const auto half = [this](double x) {
      return dtype_ == Dtype::f16 ? host::encode<Dtype::f16>(x) : host::encode<Dtype::bf16>(x);
    };
    return half(low) | (std::uint32_t{half(high)} << 16);
  }
  Dtype dtype_;
  std::vector<std::uint32_t> words_;
};

std::vector<std::uint32_t> chain_tables(const Geometry& g) {
  const Scales s = scales(g);
  const int n = g.size(), r = g.radix;
  const bool pair = g.fold == Fold::pair;
  Table table(g.dtype);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      table.matrix([=](int in, int out) { return s.sixteen * root(16, (8 * i + out) * (8 * j + in)); });
  // Of one block of the right angle, weight n = 16 n1 + n2 in two parts.
  const bool real_rows = !pair && r == 1;
  const auto inner = [=](int k1, int n2) {
    return s.first * root(256, k1 * n2) * (real_rows ? weight(n, n2) : Complex(1));
  };
  for (bool back : {false, true}) {
    if (back && !real_rows) break;
    table.list(4, [=](int number) {
      const int i = number / 2, j = number % 2;
      return [=](int row, int column) {
        return back ? inner(8 * j + row, 8 * i + column) : inner(8 * i + column, 8 * j + row);
      };
    });
  }
  if (real_rows) {
    const auto weighted = [=](int k1, int n1) { return s.sixteen * root(16, k1 * n1) * weight(n, 16 * n1); };
    for (bool back : {false, true})
      table.list(4, [=](int number) {
        const int i = number / 2, j = number % 2;
        return [=](int in, int out) {
          return back ? weighted(8 * j + in, 8 * i + out) : weighted(8 * i + out, 8 * j + in);
        };
      });
    return table.take();
  }
  for (int kr = 0; kr < r; ++kr)
    for (int i = 0; i < 2; ++i) {
      const auto outer = [=](int j) {
        return [=](int n1, int n2) {
          const int m = 16 * (8 * i + n1) + 8 * j + n2;
          return root(n, std::int64_t{kr} * m) * (pair ? Complex(1) : weight(n, m));
        };
      };
      table.pair(outer(0), outer(1));
    }
  return table.take();
}

// k_hi at (kr, k1, k2).
int row_frequency(int r, int kr, int k1, int k2) { return kr + r * (k1 + 8 * k2); }

// The digit ks that step B leaves where slab `slab` was.
int slab_frequency(const Shape& shape, int slab) {
  return shape.columns16 ? slab / 2 + shape.slabs / 2 * (slab % 2) : slab;
}

std::vector<std::uint32_t> exchange_tables(const Geometry& g) {
  const Scales s = scales(g);
  const int n = g.size(), r = g.radix, columns = g.columns;
  const auto [slabs, row_chunks, rows_per_line, rows16, columns16] = Shape(g);
  const bool pair = g.fold == Fold::pair;
  const bool real_rows = !pair && r <= 3;
  const int top = rows16 || real_rows ? 8 * r : 8;  // points of the first stage of mma
  Table table(g.dtype);
  table.matrix([=](int in, int out) { return s.eight * root(8, out * in); });
  // Where rows n_hi share a line of 128 bytes, the stage over n3 is block diagonal.
  table.matrix([=](int in, int out) {
    return in / row_chunks == out / row_chunks ? s.columns * root(row_chunks, (out % row_chunks) * (in % row_chunks))
                                               : Complex(0);
  });
  table.matrix([=](int in, int out) { return s.sixteen * root(8, out * in); });
  table.matrix([=](int in, int out) { return s.sixteen * root(16, (2 * out + 1) * in); });
  table.matrix([=](int in, int out) { return s.sixteen * root(16, (2 * in + 1) * out); });
  table.list(6, [=](int k) { return [=](int n1, int n2) { return root(64 * r, k * (8 * n1 + n2)); }; });
  table.list(8, [=](int place) {
    const int ks = columns16 ? place / 2 : place, low = columns16 ? place % 2 : 0;
    return [=](int n3, int n4) { return root(64 * slabs, ks * (64 * low + 8 * n3 + n4)); };
  });
  // Right angle: the first matrix, weighted by a^(8 columns n1), there and transposed. Where nr and n1 are one digit,
  // k = kr + r k1, it is r x r blocks, re and im of two of them a vector.
  const auto weighted = [=](int k1, int n1) {
    return (rows16 ? s.sixteen : s.eight) * root(top, k1 * n1) * weight(n, std::int64_t{8} * columns * n1);
  };
  for (bool back : {false, true}) {
    if (real_rows)
      table.list(r * r, [=](int number) {
        const int i = number / r, j = number % r;
        return [=](int in, int out) {
          return back ? weighted(j + r * in, 8 * i + out) : weighted(i + r * out, 8 * j + in);
        };
      });
    else
      table.matrix([=](int in, int out) { return back ? weighted(in, out) : weighted(out, in); });
  }
  const auto split = [=](int n4, int k_hi) {
    return root(n, std::int64_t{n4} * k_hi) * (pair ? Complex(1) : weight(n, n4));
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
    if (columns16)
      table.pair(there(0), there(1)), table.pair(back(0), back(1));
    else
      table.pair(there(0), back(0));
  }
  for (int k1 = 0; k1 < 8; k1 += rows_per_line) {
    const auto matrix = [=](int n4, int k4) {
      return s.eight * root(8, n4 * k4) * root(n, std::int64_t{n4} * row_frequency(r, 0, k1, 0));
    };
    table.matrix([=](int in, int out) { return matrix(in, out); });
    table.matrix([=](int in, int out) { return matrix(out, in); });
  }
  // The split of a unit at its first sample: the factor in k2 goes with the matrix, the rest with the twiddle.
  for (int unit = 0; unit < columns / 8; ++unit) {
    const std::int64_t first = 8 * unit;
    const auto matrix = [=](int n2, int k2) {
      return s.eight * root(8, n2 * k2) * root(n, first * row_frequency(r, 0, 0, k2));
    };
    const auto twiddle = [=](int kr, int k1, int n2) {
      const int digit = top == 8 ? k1 : kr + r * k1;
      return s.first * root(8 * top, digit * n2) * root(n, first * row_frequency(r, kr, k1, 0)) *
             (pair ? Complex(1) : weight(n, first + std::int64_t{columns} * n2));
    };
    table.matrix([=](int in, int out) { return matrix(in, out); });
    table.list(r, [=](int k) { return [=](int n2, int k1) { return twiddle(k, k1, n2); }; });
    table.matrix([=](int in, int out) { return matrix(out, in); });
    table.list(r, [=](int k) { return [=](int k1, int n2) { return twiddle(k, k1, n2); }; });
  }
  return table.take();
}

}  // namespace

std::string_view name(Algorithm algorithm) { return algorithm == Algorithm::chain ? "chain" : "exchange"; }

std::vector<int> factors(const Geometry& g) {
  if (g.algorithm == Algorithm::chain) return g.radix > 1 ? std::vector{g.radix, 16, 16} : std::vector{16, 16};
  const Shape shape(g);
  std::vector<int> list = shape.rows16   ? std::vector{16, 8}
                          : g.radix == 1 ? std::vector{8, 8}
                                         : std::vector{g.radix, 8, 8};
  const std::vector<int> columns =
      shape.columns16 ? std::vector{shape.slabs / 2, 16, 8} : std::vector{shape.slabs, shape.row_chunks, 8};
  for (int factor : columns)
    if (factor > 1) list.push_back(factor);
  return list;
}

std::vector<std::uint32_t> make_tables(const Geometry& geometry) {
  return geometry.algorithm == Algorithm::chain ? chain_tables(geometry) : exchange_tables(geometry);
}

std::vector<std::int32_t> spectrum_slots(const Geometry& g) {
  std::vector<std::int32_t> slots(g.size());
  const auto slot = [](int vector, int lane, int half, int e) { return ((vector * 32 + lane) * 2 + half) * 2 + e; };
  const int r = g.radix;
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < 2; ++e) {
      const int column = lane / 4, row = 2 * (lane % 4) + e;
      if (g.algorithm == Algorithm::chain) {
        for (int kr = 0; kr < r; ++kr)
          for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 2; ++j)
              slots[kr + r * (8 * i + column + 16 * (8 * j + row))] = slot(2 * kr + i, lane, j, e);
        continue;
      }
      const Shape shape(g);
      const int slabs = shape.slabs, row_chunks = shape.row_chunks, lines = g.size() / slabs / 64;
      for (int line = 0; line < lines; ++line) {
        const int kr = line % (8 * r) / 8, k2 = line % 8,
                  k1 = line / (8 * r) * shape.rows_per_line + column / row_chunks;
        const int k_hi = row_frequency(r, kr, k1, k2);
        for (int slab = 0; slab < slabs; ++slab) {
          const int k3 = column % row_chunks, k4 = row;
          const int k_lo = slab_frequency(shape, slab) + slabs * (k3 + row_chunks * k4);
          slots[k_hi + 64 * r * k_lo] = slot(line / 2 * slabs + slab, lane, line % 2, e);
        }
      }
    }
  return slots;
}

double spectrum_scale(const Geometry& g) {
  const double direction = scales(g).direction;
  return 1 / (g.size() * direction * direction);
}

TensorShape tensor_shape(const Geometry& g, int batch, int channels, int length) {
  const auto l = std::uint64_t(length), h = std::uint64_t(channels), b = std::uint64_t(batch);
  const std::uint32_t rows = g.fold == Fold::pair ? 2 : 1;
  if (g.algorithm == Algorithm::chain)
    return {{64, l / 64, 1, h, b}, {1, 64, l, l, h * l}, {64, std::uint32_t(g.size() / 64), 1, 1, rows}};
  const auto columns = std::uint64_t(g.columns);
  const std::uint32_t top = std::uint32_t(8 * g.radix);
  if (columns < 64)
    return {{64, l / (8 * columns), columns / 8, h, b},
            {1, 8 * columns, 64, l, h * l},
            {64, top, std::uint32_t(columns / 8), 1, rows}};
  return {{columns, l / (8 * columns), 8, h, b}, {1, 8 * columns, columns, l, h * l}, {64, top, 8, 1, rows}};
}

int tensor_grain(const Geometry& g) { return g.algorithm == Algorithm::chain ? 64 : std::max(8 * g.columns, 64); }

}  // namespace danaus
