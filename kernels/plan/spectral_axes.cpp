#include "kernels/plan/spectral_axes.hpp"

#include <span>
#include <utility>
#include <vector>

#include "kernels/plan/other_variant.hpp"
#include "kernels/plan/spectral_passes.hpp"

namespace danaus::spectral {
namespace {

using mix::Stage;

// A layer of the last axis: an item for each point of the first one.
Spectral rows_of(const Spectral& p) {
  Spectral rows = p;
  rows.lengths = {p.lengths[1]}, rows.modes = {p.modes[1]};
  rows.batch = p.batch * p.lengths[0];
  return rows;
}

// The first axis of planes of outputs, whose channels are the points of the last one.
Spectral columns_of(const Spectral& p) {
  Spectral columns = p;
  columns.lengths = {p.lengths[0]}, columns.modes = {p.modes[0]};
  columns.batch = p.batch * p.outputs, columns.inputs = columns.outputs = p.lengths[1];
  return columns;
}

// A layer of rows, then what the first axis keeps of its columns, in place: weights that all frequencies share are as
// good before that as after it.
class LayerByAxes final : public LayerStep {
 public:
  LayerByAxes(const Case& asked, const Spectral& problem, int u, int y, Pass rows, Pass columns)
      : problem_(problem),
        u_(u),
        y_(y),
        rows_(std::move(rows)),
        columns_(std::move(columns)),
        variant_(KernelId{mix::Family::name, rows_.choice().line, rows_.choice().instance}, rows_.layout(),
                 rows_.choice().name() + "_byaxes", rows_.shared_bytes(), kRoundings),
        description_(text(asked.token(), ", ", variant_.name)) {}

  const Variant& variant() const override { return variant_; }
  const std::string& description() const override { return description_; }

  std::string_view name() const override { return "spectral layer"; }
  std::vector<std::uint32_t> constants() const override {
    std::vector<std::uint32_t> words = rows_.words();
    words.insert(words.end(), columns_.words().begin(), columns_.words().end());
    return words;
  }
  void fit(const Machine& machine) override { rows_.fit(machine), columns_.fit(machine); }

  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    const Spectral& p = problem_;
    const std::int64_t batch = batch_of(p, call.batch);
    const Field u{p, p.inputs, batch}, y{p, p.outputs, batch};
    mix::Arguments rows{};
    rows.u = call.arrays[u_], rows.u_rows = u.rows_of_planes();
    rows.y = call.arrays[y_], rows.y_rows = y.rows_of_planes();
    rows.inner = p.lengths[0], rows.batch = static_cast<int>(batch * p.lengths[0]);
    rows.weights = static_cast<std::uint32_t*>(call.prepared);
    to(rows_.launch(machine, rows, constants.first(rows_.words().size()),
                    {{"u", rows.u, u.bytes(), false, false},
                     {"weights", call.prepared, weight_bytes(p, rows_.layout()), false, false},
                     {"y", rows.y, y.bytes(), true, false}}));

    mix::Arguments columns{};
    columns.u = columns.y = rows.y;
    columns.u_rows = columns.y_rows = {0, y.plane(), 1, p.lengths[1]};
    columns.inner = kManyItems, columns.batch = static_cast<int>(batch * p.outputs);
    to(columns_.launch(machine, columns, constants.subspan(rows_.words().size()),
                       {{"y", columns.y, y.bytes(), true, false}}));
  }

 private:
  // A layer's of rows; then samples are stored, and there are a table and a product each way.
  static constexpr int kRoundings = mix::roundings(1) + 5;

  Spectral problem_;
  int u_, y_;
  Pass rows_, columns_;
  OtherVariant variant_;
  std::string description_;
};

}  // namespace

std::unique_ptr<LayerStep> make_layer_by_axes(const Case& asked, const Spectral& p, int u, int y,
                                              const Device& device) {
  if (p.lengths.size() != 2 || !p.shared || !p.complex) return nullptr;
  const std::int64_t planes = p.batch * p.outputs;
  const mix::Operands operands = mix::operands_of(p.dtype, p.tf32);
  if (planes * p.lengths[0] * p.lengths[1] > mix::few_samples(operands)) return nullptr;
  const std::string token = asked.token();
  const Spectral of_rows = rows_of(p), of_columns = columns_of(p);
  const int row = p.lengths[1];
  auto rows = Pass::make(of_rows,
                         {Stage::layer, Factor::weights, of_rows.batch, static_cast<int>(p.inputs),
                          static_cast<int>(p.outputs), kept(p, 1)},
                         device, token);
  auto columns = Pass::make(of_columns, {Stage::columns, Factor::none, planes, row, row, kept(p, 0)}, device, token);
  if (!rows || !columns) return nullptr;
  return std::make_unique<LayerByAxes>(asked, p, u, y, *std::move(rows), *std::move(columns));
}

}  // namespace danaus::spectral
