#include "kernels/geometry.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>

#include "kernels/host/halves.hpp"

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

int half_log2(int n) { return static_cast<int>(std::lround(std::log2(n) / 2)); }

// Powers of two in the stages of one direction, so that each keeps the scale of white noise within sqrt 2.
struct Scales {
  double matrix[4];      // DFT8 n1, DFT8 n2, DFT n3, DFT8 n4; chain: [0] is the DFT16 of both stages
  double twiddle[2];     // inside step A, inside step B; chain: [0]
  double split = 1;      // exchange: between the steps
  double direction() const { return matrix[0] * matrix[1] * matrix[2] * matrix[3] * twiddle[0] * twiddle[1] * split; }
};

Scales scales(const Geometry& g) {
  const double radix = std::ldexp(1.0, -half_log2(g.radix));
  if (g.algorithm == Algorithm::chain) return {{0.25, 0.25, 1, 1}, {radix, 1}};
  const int row_chunks = std::min(g.columns, 64) / 8;  // points of the n3 stage
  return {{0.5, 0.5, row_chunks >= 4 ? 0.5 : 1, 0.5},
          {0.5 * radix, row_chunks >= 2 ? 0.5 : 1},
          std::ldexp(1.0, -half_log2(std::max(g.columns / 64, 1)))};
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
  void matrix(const ComplexElement& m) { vector({real(m), imaginary(m), [m](int s, int g) { return -m(s, g).imag(); }, real(m)}); }
  void broadcast(Complex z) {
    words_.push_back(pack(z.real(), z.real()));
    words_.push_back(pack(z.imag(), z.imag()));
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
      table.matrix([=](int in, int out) { return s.matrix[0] * root(16, (8 * i + out) * (8 * j + in)); });
  for (int i = 0; i < 2; ++i) {
    const auto inner = [=](int j) {
      return [=](int n2, int k1) { return s.twiddle[0] * root(256, (8 * i + k1) * (8 * j + n2)); };
    };
    table.pair(inner(0), inner(1));
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
  for (int nr = 0; nr < r; ++nr) table.broadcast(weight(n, 256 * nr));
  return table.take();
}

std::vector<std::uint32_t> exchange_tables(const Geometry& g) {
  const Scales s = scales(g);
  const int n = g.size(), r = g.radix, columns = g.columns;
  const int slabs = std::max(columns / 64, 1), row_chunks = std::min(columns, 64) / 8;
  const bool pair = g.fold == Fold::pair;
  Table table(g.dtype);
  table.matrix([=](int in, int out) { return s.matrix[0] * root(8, out * in); });
  table.matrix([=](int in, int out) { return s.matrix[1] * root(8, out * in); });
  // Where rows n_hi share a line of 128 bytes, the stage over n3 is block diagonal.
  table.matrix([=](int in, int out) {
    return in / row_chunks == out / row_chunks ? s.matrix[2] * root(row_chunks, (out % row_chunks) * (in % row_chunks)) : Complex(0);
  });
  table.matrix([=](int in, int out) { return s.matrix[3] * root(8, out * in); });
  table.pair([=](int n2, int k1) { return s.twiddle[0] * root(64, n2 * k1); },
             [=](int n4, int k3) { return s.twiddle[1] * root(8 * row_chunks, n4 * (k3 % row_chunks)); });
  for (int kr = 0; kr < r; kr += 2) {
    const auto outer = [=](int k) -> Table::ComplexElement {
      if (k >= r) return {};
      return [=](int n1, int n2) { return root(64 * r, k * (8 * n1 + n2)); };
    };
    table.pair(outer(kr), outer(kr + 1));
  }
  for (int ks = 0; ks < slabs; ks += 2) {
    const auto slab = [=](int k) -> Table::ComplexElement {
      if (k >= slabs) return {};
      return [=](int n3, int n4) { return root(64 * slabs, k * (8 * n3 + n4)); };
    };
    table.pair(slab(ks), slab(ks + 1));
  }
  table.pair([=](int n1, int n2) { return weight(n, columns * (8 * n1 + n2)); },
             [=](int k3, int n4) { return s.twiddle[1] * root(8 * row_chunks, n4 * (k3 % row_chunks)); });
  for (int unit = 0; unit < columns / 8; ++unit)
    for (int kr = 0; kr < r; ++kr)
      for (int n4 = 0; n4 < 8; n4 += 2) {
        const auto split = [=](int low) {
          return [=](int k2, int k1) {
            const std::int64_t n_lo = 8 * unit + low, k_hi = kr + r * (k1 + 8 * k2);
            return s.split * root(n, n_lo * k_hi) * (pair ? Complex(1) : weight(n, n_lo));
          };
        };
        table.pair(split(n4), split(n4 + 1));
      }
  for (int nr = 0; nr < r; ++nr) table.broadcast(weight(n, std::int64_t{64} * columns * nr));
  return table.take();
}

}  // namespace

std::string_view name(Algorithm algorithm) { return algorithm == Algorithm::chain ? "chain" : "exchange"; }

std::vector<int> factors(const Geometry& g) {
  std::vector<int> list;
  const auto add = [&list](int factor) {
    if (factor > 1) list.push_back(factor);
  };
  add(g.radix);
  if (g.algorithm == Algorithm::chain) {
    add(16), add(16);
  } else {
    add(8), add(8), add(g.columns / 64), add(std::min(g.columns, 64) / 8), add(8);
  }
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
      const int slabs = std::max(g.columns / 64, 1), row_chunks = std::min(g.columns, 64) / 8;
      const int rows_per_line = 8 / row_chunks, lines = g.size() / slabs / 64;
      for (int line = 0; line < lines; ++line)
        for (int ks = 0; ks < slabs; ++ks) {
          const int kr = line % (8 * r) / 8, k2 = line % 8;
          const int k1 = line / (8 * r) * rows_per_line + column / row_chunks, k3 = column % row_chunks, k4 = row;
          const int k = kr + r * (k1 + 8 * k2) + 64 * r * (ks + slabs * (k3 + row_chunks * k4));
          slots[k] = slot(line / 2 * slabs + ks, lane, line % 2, e);
        }
    }
  return slots;
}

double spectrum_scale(const Geometry& g) {
  const double direction = scales(g).direction();
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
    return {{64, l / (8 * columns), columns / 8, h, b}, {1, 8 * columns, 64, l, h * l}, {64, top, std::uint32_t(columns / 8), 1, rows}};
  return {{columns, l / (8 * columns), 8, h, b}, {1, 8 * columns, columns, l, h * l}, {64, top, 8, 1, rows}};
}

int tensor_grain(const Geometry& g) { return g.algorithm == Algorithm::chain ? 64 : std::max(8 * g.columns, 64); }

}  // namespace danaus
