#include "kernels/plan/spectral_axes.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/plan/other_variant.hpp"
#include "kernels/plan/spectral_passes.hpp"

namespace danaus::spectral {
namespace {

using layer::Stage;

// A layer of the last axis: an item for each point of the first one.
Spectral rows_of(const Spectral& p) {
  Spectral rows = p;
  rows.lengths = {p.lengths[1]}, rows.modes = {p.modes[1]};
  rows.batch = p.batch * p.lengths[0];
  return rows;
}

// Spectra of rows of planes of outputs, [C_out, B, X, M_y], which begin at a pair of frequencies each.
struct RowSpectra {
  const Spectral& p;
  std::int64_t batch;
  std::int64_t row() const { return in_pairs(kept(p, 1)); }
  std::int64_t plane() const { return p.lengths[0] * row(); }
  std::int64_t bytes() const { return p.outputs * batch * plane() * Workspace::number_bytes(p); }
  layer::Spectra by_rows(void* data) const { return {static_cast<std::uint32_t*>(data), row(), batch * plane(), true}; }
  layer::Rows by_columns() const { return {batch * plane(), plane(), 1, row()}; }
};

// How rows of a plane are shared out among blocks: where shared memory has room, into as many slices as run at once.
struct FilterCut {
  layer::Places columns, rows;
  int slices, blocks;  // that run at once
};

// Of a filter, of what makes samples of rows.
layer::Layout layout_of_rows(const layer::Layout& layout) { return {layer::rows_of(layout.key), layout.tuning}; }

std::optional<FilterCut> cut(const Spectral& p, const layer::Layout& layout, const Device& device) {
  const layer::Layout of_rows = layout_of_rows(layout);
  const int steps = layer::Layout::steps_of(layer::part_of(p.lengths[0]), layout.step);
  const int column_bytes = table_bytes(layout, p.lengths[0], layout.tiles_of(kept(p, 0))),
            row_bytes = table_bytes(layout, p.lengths[1], layout.tiles_of(kept(p, 1)));
  const auto made = [&](int slice) -> FilterCut {  // of steps of points, each of which are four rows
    const int rows = 4 * layout.step * slice, channels = 8 * layout.tiles_of(kept(p, 1));
    return {layout.places(kept(p, 1), channels, kept(p, 0), 1), of_rows.places(rows, rows, kept(p, 1), 1),
            static_cast<int>(ratio_up(steps, slice)), 0};
  };
  // Columns' spectra, rows' spectra; as far as there is room, sums of parts of the points, and tables.
  const auto placed = [&](FilterCut of, int blocks) -> std::optional<FilterCut> {
    int taken = of.columns.bytes + of.rows.bytes;
    const auto has_room = [&](int bytes) {
      return blocks * (taken + bytes + kReservedBytes) <= device.block_bytes + kReservedBytes;
    };
    if (!has_room(0)) return std::nullopt;
    of.rows.y_begin = of.columns.bytes;
    const auto add = [&](int& place, int bytes) {
      if (has_room(bytes)) place = taken, taken += bytes;
    };
    place_parts(of.columns, layout, of.columns.output_tiles * of.columns.frequency_groups, p.lengths[0], add);
    add(of.columns.forward_at, column_bytes), add(of.columns.inverse_at, column_bytes);
    add(of.rows.inverse_at, row_bytes);
    of.rows.bytes = taken;
    of.blocks = blocks * device.multiprocessors;
    return of;
  };
  for (int blocks = layout.tuning.blocks; blocks > 0; --blocks) {
    std::optional<FilterCut> best;
    for (int slice = steps; slice > 0; slice /= 2) {
      const FilterCut next = made(slice);
      if (best && p.batch * p.outputs * next.slices > blocks * device.multiprocessors) break;
      if (const auto fits = placed(next, blocks)) best = fits;
    }
    if (best) return best;
  }
  return std::nullopt;
}

// Of spectra of rows, what the transform along X keeps; their inverse along both axes.
class Filter {
 public:
  static std::optional<Filter> make(const Spectral& p, const Device& device, const std::string& description) {
    const layer::Choice choice = layer::choose(p, Stage::filter, layer::Product::none,
                                               {p.batch * p.outputs, kept(p, 1), p.lengths[0], kept(p, 0)});
    const auto made = cut(p, choice.layout(), device);
    if (!made) return std::nullopt;
    return Filter(p, choice, *made, description);
  }

  const std::vector<std::uint32_t>& words() const { return words_; }
  void fit(const Machine& machine) const { spectral::fit(machine, choice_); }

  Launch launch(const Machine& machine, const RowSpectra& of, void* spectra, const Field& field, void* y,
                std::span<const std::uint32_t> constants) const {
    const layer::Layout layout = choice_.layout();
    layer::Arguments a{};
    a.forward = constants.data(), a.inverse = constants.data() + rows_at_, a.scale = rows_scale_;
    give_axis(a, layout_of_rows(layout), problem_.lengths[1], kept(problem_, 1), cut_.rows.frequency_tiles);
    a.y = y, a.y_rows = {field.rows().channel, field.rows().item, problem_.lengths[1]};
    a.aligned = is_aligned(layout, a.length, {y});
    a.batch = static_cast<int>(of.batch * problem_.outputs), a.inner = static_cast<int>(of.batch);
    a.places = cut_.rows, a.neighbours = cut_.slices, a.units = a.batch * cut_.slices;

    layer::AxisArguments& columns = a.columns;
    columns = a;
    columns.inverse = constants.data() + inverse_at_, columns.scale = columns_scale_;
    give_axis(columns, layout, problem_.lengths[0], kept(problem_, 0), cut_.columns.frequency_tiles);
    columns.u = spectra, columns.u_rows = of.by_columns(), columns.inputs = kept(problem_, 1);
    columns.aligned = true;
    columns.places = cut_.columns;
    columns.point_groups = groups_of_points(layout, cut_.rows.output_tiles / 2);

    Launch launch = make_launch(machine, description_, id_of(choice_), Path::threads, std::min(a.units, cut_.blocks),
                                layout.threads, cut_.rows.bytes);
    launch.touches({"spectra of rows", spectra, of.bytes(), false, false});
    launch.touches({"y", y, field.bytes(), true, false});
    launch.touches({"tables", constants.data(), static_cast<std::int64_t>(constants.size_bytes()), false, true});
    launch.give(a);
    return launch;
  }

 private:
  Filter(const Spectral& p, const layer::Choice& choice, const FilterCut& cut, const std::string& description)
      : problem_(p), choice_(choice), cut_(cut), description_(text(description, ", ", choice.name())) {
    const layer::Layout layout = choice.layout();
    layer::Tables columns = layer::make_tables(layout, p.lengths[0], kept_on_axis(p, 0), cut.columns.frequency_tiles);
    words_ = std::move(columns.words), inverse_at_ = columns.inverse_at;
    columns_scale_ = static_cast<float>(columns.scale);
    const layer::Tables rows =
        layer::make_tables(layout_of_rows(layout), p.lengths[1], kept_on_axis(p, 1), cut.rows.frequency_tiles);
    rows_at_ = std::ssize(words_), rows_scale_ = static_cast<float>(rows.scale);
    words_.insert(words_.end(), rows.words.begin() + rows.inverse_at, rows.words.end());
  }

  Spectral problem_;
  layer::Choice choice_;
  FilterCut cut_;
  std::string description_;
  std::vector<std::uint32_t> words_;  // tables of columns, there and back, and of rows, back
  std::int64_t inverse_at_ = 0, rows_at_ = 0;
  float columns_scale_ = 1, rows_scale_ = 1;
};

// Rows to spectra of outputs, and the filter: weights that all frequencies share are as good before the transform along
// X as after it.
class LayerByAxes final : public LayerStep {
 public:
  LayerByAxes(const Case& asked, const Spectral& problem, int u, int y, Pass rows, Filter filter)
      : problem_(problem),
        u_(u),
        y_(y),
        rows_(std::move(rows)),
        filter_(std::move(filter)),
        variant_(id_of(rows_.choice()), rows_.layout(), rows_.choice().name() + "_byaxes", rows_.shared_bytes(),
                 kRoundings),
        description_(text(asked.token(), ", ", variant_.name)) {}

  const Variant& variant() const override { return variant_; }
  const std::string& description() const override { return description_; }

  std::string_view name() const override { return "spectral layer"; }
  std::vector<std::uint32_t> constants() const override {
    std::vector<std::uint32_t> words = rows_.words();
    words.insert(words.end(), filter_.words().begin(), filter_.words().end());
    return words;
  }
  void fit(const Machine& machine) override { rows_.fit(machine), filter_.fit(machine); }
  std::int64_t workspace_bytes(std::int64_t batch) const override {
    return RowSpectra{problem_, batch_of(problem_, batch)}.bytes();
  }

  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    const Spectral& p = problem_;
    const std::int64_t batch = batch_of(p, call.batch);
    const Field u{p, p.inputs, batch}, y{p, p.outputs, batch};
    const RowSpectra spectra{p, batch};
    layer::Arguments rows{};
    rows.u = call.arrays[u_], rows.u_rows = u.rows_of_planes();
    rows.to = spectra.by_rows(call.workspace);
    rows.inner = p.lengths[0], rows.batch = static_cast<int>(batch * p.lengths[0]);
    rows.weights = static_cast<std::uint32_t*>(call.prepared);
    to(rows_.launch(machine, rows, constants.first(rows_.words().size()),
                    {{"u", rows.u, u.bytes(), false, false},
                     {"weights", call.prepared, weight_bytes(p, rows_.layout()), false, false},
                     {"spectra of rows", call.workspace, spectra.bytes(), true, false}}));
    to(filter_.launch(machine, spectra, call.workspace, y, call.arrays[y_], constants.subspan(rows_.words().size())));
  }

 private:
  static constexpr int kRoundings = layer::roundings(2) + 1;  // and spectra of rows as they are folded

  Spectral problem_;
  int u_, y_;
  Pass rows_;
  Filter filter_;
  OtherVariant variant_;
  std::string description_;
};

}  // namespace

std::unique_ptr<LayerStep> make_layer_by_axes(const Case& asked, const Spectral& p, int u, int y,
                                              const Device& device) {
  if (p.lengths.size() != 2 || !p.shared || !p.complex || p.lengths[0] % 4 != 0) return nullptr;
  const std::int64_t planes = p.batch * p.outputs;
  if (planes * p.lengths[0] * p.lengths[1] > layer::few_samples(layer::operands_of(p.dtype, p.tf32))) return nullptr;
  const std::string token = asked.token();
  const Spectral of_rows = rows_of(p);
  auto rows = Pass::make(of_rows,
                         {Stage::there, Factor::weights, of_rows.batch, static_cast<int>(p.inputs),
                          static_cast<int>(p.outputs), kept(p, 1)},
                         device, token);
  auto filter = Filter::make(p, device, token);
  if (!rows || !filter) return nullptr;
  return std::make_unique<LayerByAxes>(asked, p, u, y, *std::move(rows), *std::move(filter));
}

}  // namespace danaus::spectral
