#include "kernels/families/outer/family.hpp"
#include "kernels/families/roundings.hpp"
#include "kernels/tile/rows64_table.hpp"

namespace danaus::outer {

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

std::vector<int> factors_of(const Layout& l) {
  return l.rows16 ? std::vector{16, 8} : l.radix == 1 ? std::vector{8, 8} : std::vector{l.radix, 8, 8};
}

int roundings_of_pass(const Layout& l) {
  int sum = 0;
  for (int factor : factors_of(l))
    sum += kTwiddleRoundings + (factor == 5 || factor == 7 ? factor : factor == 16 || factor == 3 ? 3 : 2);
  if (!l.pair && l.radix > 3) sum += kTwiddleRoundings;  // weights of the right angle over blocks
  constexpr int kOfBf16 = 64;                            // what one rounding to bf16 is in those to f16: squares add
  if (l.scaled) sum += kOfBf16;                          // of planes
  return sum;
}

std::vector<std::uint32_t> make_tables(const Layout& layout, int columns) {
  Table table(layout.table_vectors);
  write_rows(table, layout, layout.eight, layout.sixteen);
  const int r = layout.radix, size = layout.rows * columns;
  for (int kr = 0; kr < r; ++kr)
    table.list(layout.split_at + 4 * kr, 8, [=, pair = layout.pair](int column) {
      return [=](int k2, int k1) {
        const auto twiddle = root(size, std::int64_t{1} * column * (kr + r * (k1 + 8 * k2)));
        return pair ? twiddle : twiddle * weight(size, column);
      };
    });
  return table.take();
}

}  // namespace danaus::outer
