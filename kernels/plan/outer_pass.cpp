#include "kernels/plan/outer_pass.hpp"

#include <algorithm>

#include "kernels/plan/arrays.hpp"

namespace danaus {

OuterPass::OuterPass(Dtype dtype, Fold fold, std::size_t line, bool back, int columns, std::string description,
                     std::span<const int> rows)
    : layout_({dtype, fold, outer::kLines[line].radix, back, !rows.empty()}, outer::kLines[line].tuning),
      line_(line),
      columns_(columns),
      rows_(rows.empty() ? layout_.rows : static_cast<int>(rows.size())),
      description_(std::move(description)) {
  if (rows.empty()) return;
  slots_.assign(layout_.rows, ~0u);
  for (std::size_t i = 0; i < rows.size(); ++i) slots_[rows[i]] = static_cast<std::uint32_t>(i);
}

std::vector<std::uint32_t> OuterPass::constants() const {
  std::vector<std::uint32_t> words = outer::make_tables(layout_, columns_);
  words.insert(words.end(), slots_.begin(), slots_.end());
  return words;
}

KernelId OuterPass::kernel() const {
  const Instances<outer::Family> all = outer::Family::instances(line_);
  std::size_t number = 0;
  while (!(all.list.at(number).key == layout_.key)) ++number;
  return {outer::Family::name, line_, number};
}

void OuterPass::fit(const Machine& machine) {
  concurrent_ = machine.concurrent_blocks(kernel(), Path::threads, layout_.threads, layout_.shared_bytes);
}

Launch OuterPass::launch(const Rows& rows, const Machine& machine, std::span<const std::uint32_t> constants) const {
  const bool back = layout_.key.back;
  outer::Arguments a{};
  a.samples = rows.samples.data, a.samples_strides = rows.samples.strides;
  a.gate = rows.gate.data, a.gate_strides = rows.gate.strides;
  a.planes = rows.planes, a.tables = constants.data();
  a.batch = static_cast<int>(rows.batch), a.channels = static_cast<int>(rows.channels);
  a.length = static_cast<int>(rows.length);
  a.first_channel = static_cast<int>(rows.first), a.channel_count = static_cast<int>(rows.count);
  a.columns = columns_, a.rows = rows_;
  a.energies = rows.energies, a.items_of_channel = rows.items_of_channel;
  if (!slots_.empty()) a.slots = constants.last(slots_.size()).data();
  a.aligned = rows.length % 8 == 0 && are_aligned({rows.samples, rows.gate});
  const std::int64_t tiles = columns_ / layout_.tile_columns;
  const std::int64_t items = rows.count * ((rows.batch + layout_.item_rows - 1) / layout_.item_rows);
  const std::int64_t blocks = std::clamp<std::int64_t>(concurrent_ / tiles, 1, items) * tiles;
  Launch launch =
      make_launch(machine, description_, kernel(), Path::threads, blocks, layout_.threads, layout_.shared_bytes);
  const auto touch = [&](const char* name, const RowArray& array, bool written) {
    if (!array.data) return;
    const std::int64_t bytes = reach_of(array.strides, rows.batch, rows.channels, rows.length);
    launch.touches({name, array.data, bytes, written, false});
  };
  touch(rows.name, rows.samples, back), touch(rows.gate_name, rows.gate, false);
  const std::int64_t planes = plane_rows(layout_.key.fold, rows.batch) * rows.count;
  launch.touches({"planes", a.planes, planes * plane_bytes(std::int64_t{rows_} * columns_), !back, false});
  if (a.energies) {
    const std::int64_t last = (rows.count - 1) * rows.items_of_channel + items / rows.count;
    launch.touches({"energies", a.energies, 8 * last * (columns_ / 8), true, false});
  }
  launch.touches({"tables", a.tables, static_cast<std::int64_t>(constants.size_bytes()), false, true});
  launch.give(a);
  return launch;
}

}  // namespace danaus
