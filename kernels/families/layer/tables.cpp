#include <bit>
#include <cmath>
#include <complex>

#include "kernels/device/halves.hpp"
#include "kernels/families/layer/family.hpp"
#include "kernels/tile/table.hpp"

namespace danaus::layer {
namespace {

// Numbers of a fragment as the kernel reads them.
class Writer {
 public:
  explicit Writer(const Layout& layout) : layout_(layout) {}
  std::uint32_t word(double first, double second) const {
    return layout_.key.dtype == Dtype::f16 ? pair<Dtype::f16>(first, second) : pair<Dtype::bf16>(first, second);
  }
  std::uint32_t word(double value) const {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return layout_.split ? bits : (bits + 0x1000u) & ~0x1fffu;
  }
  // Of lane t of a group, the two words of the column of a B fragment: at(i), i the place among those contracted.
  // `apart`: between halves of the fragment, in 16 bits.
  template <class At>
  void column(int t, bool lanes_points, At at, std::uint32_t* words) const {
    for (int half = 0; half < 2; ++half)
      if (!layout_.halves) {
        words[half] = word(at(lanes_points ? 2 * t + half : t + 4 * half));
      } else {
        const int first = lanes_points ? 4 * t + 2 * half : 2 * t + 8 * half;
        words[half] = word(at(first), at(first + 1));
      }
  }

 private:
  template <Dtype T>
  static std::uint32_t pair(double first, double second) {
    return host::encode<T>(first) | std::uint32_t{host::encode<T>(second)} << 16;
  }
  const Layout& layout_;
};

}  // namespace

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

std::string Choice::name() const {
  constexpr const char* kStages[] = {"", "_there", "_middle", "_back", "_filter", "_arrange"};
  constexpr const char* kProducts[] = {"", "_shared", ""};
  const Layout l = layout();
  return text("layer_", danaus::name(l.key.dtype), l.key.tf32 ? "_tf32" : "", l.key.complex ? "_complex" : "_real",
              kStages[static_cast<int>(l.key.stage)], kProducts[static_cast<int>(l.key.product)], "_w", l.tuning.warps,
              "_tiles", l.tuning.tiles, "x", l.tuning.mixed, "_x", l.tuning.blocks,
              l.in_teams ? text("_teams", l.tuning.teams) : "", l.in_cluster ? "_cluster" : "");
}

namespace {

// A warp has its results in registers: of 16 channels all frequencies, or, where inputs come in chunks, one product.
bool suits_teams(const Layout& layout, const Size& size) {
  const Places places = layout.places(1, static_cast<int>(size.outputs), static_cast<int>(size.frequencies), 1);
  return layout.in_chunks ? places.output_tiles * places.mixed_groups <= layout.team_warps : places.mixed_groups == 1;
}

}  // namespace

Choice choose(const Spectral& p, Stage stage, Product product, const Size& size, bool in_cluster) {
  const bool samples = stage != Stage::middle && stage != Stage::arrange;
  const Key key{p.dtype, p.tf32, samples && p.complex, stage, product};
  const auto takes = [&](const Line& line, const Layout& layout) {
    return line.takes(key) && size.items <= line.items && size.inputs <= line.inputs && size.outputs <= line.outputs &&
           p.lengths.back() <= line.points && size.frequencies <= line.frequencies &&
           (!layout.in_teams || suits_teams(layout, size)) && (in_cluster || !layout.in_cluster);
  };
  for (std::size_t line = 0; line < kLines.size(); ++line) {
    const std::size_t maker = Family::maker_of(line);
    const auto all = Family::instances(maker);
    for (int i = 0; i < all.count; ++i)
      if (all.list[i].key == key && takes(kLines[line], Layout(key, all.list[i].tuning)))
        return {maker, static_cast<std::size_t>(i)};
  }
  fail("spectral: no kernel has ", name(p.dtype), " samples; f16, bf16 and f32 have some");
}

double scale_of(int length) { return std::exp2(std::round(-0.5 * std::log2(length))); }

// Phases are of points n + 1/2: exp(-2 pi i k (n + 1/2) / X). A point in the middle of a row, or of a half, is its own
// mirror image, which the kernel adds to it.
Tables make_tables(const Layout& layout, int length, std::span<const int> frequencies, int tiles) {
  const Writer writer(layout);
  const int part = part_of(length), count = static_cast<int>(frequencies.size());
  const int steps = Layout::steps_of(part, layout.step), point_tiles = Layout::tiles_of_points(part, layout.step);
  const int frequency_steps = 8 * tiles / layout.step;
  const double scale = scale_of(length);
  const int middle = is_folded_twice(length) ? length / 2 : length;  // 2 n + 1 of a point that is its own image
  const auto phase = [&](int place, int n) -> std::complex<double> {
    const int i = frequency_at(place, layout.step);
    if (i >= count || n >= part) return 0;
    const std::complex<double> z = root(2 * length, std::int64_t{frequencies[i]} * (2 * n + 1));
    if (2 * n + 1 != middle) return z;
    // exp(-i pi k), or exp(-i pi k / 2)
    const bool real = middle == length || frequencies[i] % 2 == 0;
    return real ? std::complex<double>(z.real()) : std::complex<double>(0, z.imag());
  };
  const auto share = [&](int n) { return 2 * n + 1 == middle ? scale / 2 : scale; };
  const auto cosine = [&](int place, int n) { return share(n) * phase(place, n).real(); };
  const auto sine = [&](int place, int n) { return -share(n) * phase(place, n).imag(); };
  const auto weight = [&](int place) {
    const int i = frequency_at(place, layout.step);
    return !layout.key.complex && i < count && frequencies[i] > 0 && 2 * frequencies[i] < length ? 2. : 1.;
  };

  Tables tables{std::vector<std::uint32_t>(128 * (steps * tiles + point_tiles * frequency_steps)),
                std::int64_t{128} * steps * tiles, 1 / (scale * length)};
  std::uint32_t* words = tables.words.data();
  for (int step = 0; step < steps; ++step)
    for (int tile = 0; tile < tiles; ++tile)
      for (int lane = 0; lane < 32; ++lane, words += 4) {
        const int i = 8 * tile + lane / 4, n = layout.step * step;
        writer.column(
            lane % 4, true, [&](int at) { return cosine(i, n + at); }, words);
        writer.column(
            lane % 4, true, [&](int at) { return sine(i, n + at); }, words + 2);
      }
  const bool of_sums = layout.in_teams && !layout.halves;  // as a lane has them of a product
  for (int tile = 0; tile < point_tiles; ++tile)
    for (int step = 0; step < frequency_steps; ++step)
      for (int lane = 0; lane < 32; ++lane, words += 4) {
        const int g = lane / 4, first = layout.step * step;
        const int n = layout.halves ? 16 * (tile / 2) + 4 * (g / 2) + 2 * (tile % 2) + g % 2 : 8 * tile + g;
        writer.column(
            lane % 4, of_sums, [&](int at) { return weight(first + at) * phase(first + at, n).real(); }, words);
        writer.column(
            lane % 4, of_sums, [&](int at) { return -weight(first + at) * phase(first + at, n).imag(); }, words + 2);
      }
  return tables;
}

std::vector<std::uint32_t> arrange(const Layout& layout, int outputs, int inputs, const Matrix& matrix) {
  const Writer writer(layout);
  const int tiles = (outputs + 15) / 16, steps = (inputs + 15) / 16 * layout.steps_of_tile;
  std::vector<std::uint32_t> words;
  words.reserve(256 * tiles * steps);
  for (int tile = 0; tile < tiles; ++tile)
    for (int step = 0; step < steps; ++step)
      for (int part = 0; part < 2; ++part)
        for (int lane = 0; lane < 32; ++lane)
          for (int i = 0; i < 4; ++i) {
            const int output = 16 * tile + lane / 4 + 8 * (i % 2);
            const auto number = [&](int input) {
              if (output >= outputs || input >= inputs) return 0.;
              const std::complex<double> z = matrix(output, input);
              return part == 0 ? z.real() : z.imag();
            };
            const int unit = 16 * step + 2 * (lane % 4) + i / 2;
            words.push_back(layout.halves
                                ? writer.word(number(unit), number(unit + 8))
                                : writer.word(number(16 * (step / 2) + 4 * (step % 2) + lane % 4 + 8 * (i / 2))));
          }
  return words;
}

}  // namespace danaus::layer
