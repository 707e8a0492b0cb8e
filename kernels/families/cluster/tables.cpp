#include "kernels/device/halves.hpp"
#include "kernels/families/cluster/family.hpp"
#include "kernels/tile/rows64_table.hpp"

namespace danaus::cluster {
namespace {

using Complex = std::complex<double>;

std::uint32_t pack(double low, double high) {
  return host::encode<Dtype::f16>(low) | std::uint32_t{host::encode<Dtype::f16>(high)} << 16;
}
void append(std::vector<std::uint32_t>& words, Complex low, Complex high) {
  words.push_back(pack(low.real(), high.real()));
  words.push_back(pack(low.imag(), high.imag()));
}

}  // namespace

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

std::vector<std::uint32_t> make_tables(const Layout& l) {
  const int r = l.radix, top = l.rows16 || l.real_rows ? 8 * r : 8;
  const auto weight_of = [&](std::int64_t n) { return l.pair ? Complex(1) : weight(l.size, n); };
  Table table(l.table_vectors);
  write_rows(table, l, l.eight, l.sixteen);
  // Factor 0 is the matrix's, factor 1 + kr the twiddle's.
  for (bool back : {false, true})
    table.list(l.base_at + back * l.base_vectors, l.factors_of_unit, [=, &l](int factor) {
      return [=, &l](int s, int g) -> Complex {
        const int n2 = back ? g : s, k = back ? s : g;
        if (factor == 0) return l.eight * root(8, n2 * k);
        const int digit = top == 8 ? k : factor - 1 + r * k;
        const Complex of_row = l.pair ? Complex(1) : weight(l.size, std::int64_t{l.columns} * n2);
        return l.first * root(8 * top, digit * n2) * of_row;
      };
    });
  std::vector<std::uint32_t> words = table.take();
  const auto of_unit = [&](int unit, int factor, int k) {
    const std::int64_t column = 8 * unit;
    return factor == 0 ? root(l.size, column * 8 * r * k)
                       : root(l.size, column * (factor - 1 + r * k)) * weight_of(column);
  };
  for (int unit = 0; unit < l.units; ++unit)
    for (int factor = 0; factor < l.factors_of_unit; ++factor)
      for (int g = 0; g < 8; ++g) append(words, of_unit(unit, factor, g), of_unit(unit, factor, g));
  for (int unit = 0; unit < l.units; ++unit)
    for (int factor = 0; factor < l.factors_of_unit; ++factor)
      for (int t = 0; t < 4; ++t) append(words, of_unit(unit, factor, 2 * t), of_unit(unit, factor, 2 * t + 1));
  const auto turn = [&](int line, int column) {
    return root(l.size, std::int64_t{column} * (line / 8 + 8 * r * (line % 8))) * weight_of(column);
  };
  for (int line = 0; line < l.lines; ++line)
    for (int t = 0; t < 4; ++t) append(words, turn(line, 2 * t), turn(line, 2 * t + 1));
  for (int line = 0; line < l.lines; ++line)
    for (int g = 0; g < 8; ++g) append(words, turn(line, g), turn(line, g));
  if (std::ssize(words) != l.chain_at) throw std::logic_error("cluster: the chain's constants are elsewhere");
  return words;
}

}  // namespace danaus::cluster
