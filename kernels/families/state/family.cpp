#include "kernels/families/state/family.hpp"

#include <algorithm>
#include <optional>

namespace danaus::state {
namespace {

constexpr std::string_view kWords[] = {"chunks", "ends", "carry", "prepare", "step"};

}  // namespace

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

std::string Choice::name() const {
  const Layout l = layout();
  const std::string sizes =
      l.key.states == 0 ? "" : text("_s", l.key.states, "_t", l.tuning.chunk, "_rows", l.warp_rows);
  return text("state_", kWords[static_cast<int>(l.key.work)], '_', danaus::name(l.key.dtype), sizes,
              l.key.group ? "_group_w" : "_w", l.tuning.warps, "_x", l.tuning.blocks);
}

Choice choose(const StateSpace& p, const Device& device, Work work, std::int64_t rows) {
  if (p.dtype != Dtype::f16 && p.dtype != Dtype::bf16)
    fail("ssmconv: no kernel has ", name(p.dtype), " samples; f16 and bf16 have some");
  const bool by_group = device.sm == 90 && DANAUS_GROUPS && fills_groups(p.batch);
  const auto is_for = [&](const Line& line) { return line.states >= p.states && (by_group || !line.group); };
  std::string chunks;
  for (std::size_t line = 0; line < kLines.size(); ++line) {
    const auto all = Family::instances(line);
    std::optional<Choice> chosen;
    for (int i = 0; i < all.count; ++i) {
      const Key& key = all.list[i].key;
      if (key.dtype != p.dtype || key.work != work) continue;
      const Choice choice{line, static_cast<std::size_t>(i)};
      if (!is_product(work)) return choice;
      // A wide kernel, of ends, is for as many rows as a block of it has.
      if (!chosen || rows >= choice.layout().block_rows) chosen = choice;
    }
    // The first line that has room for the states says how many a kernel is to have.
    if (!chosen || !is_for(kLines[line]) || kLines[line].states != std::ranges::find_if(kLines, is_for)->states)
      continue;
    if (p.chunk == 0 || p.chunk == kLines[line].tuning.chunk) return *chosen;
    chunks.append(chunks.empty() ? "" : ", ").append(std::to_string(kLines[line].tuning.chunk));
  }
  fail("ssmconv: no kernel for S=", p.states, " has chunks of ", p.chunk, " samples; there are chunks of ", chunks);
}

int roundings(Work work) { return work == Work::step ? 1 : 4; }

}  // namespace danaus::state
