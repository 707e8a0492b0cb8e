#include "kernels/cpu/known_memory.hpp"

#include <algorithm>

namespace danaus {
namespace {

// Until the launch is over also: what its blocks wrote.
constexpr std::uint8_t kKnown = 0, kUnknown = 1, kWritten = 2, kWrittenUnknown = 3;

std::uintptr_t address_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

}  // namespace

void KnownMemory::add(const void* begin, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  memory_[address_of(begin)] = {bytes, {}};
}

void KnownMemory::remove(const void* begin) {
  const std::lock_guard lock(mutex_);
  memory_.erase(address_of(begin));
}

std::pair<const std::uintptr_t, KnownMemory::Memory>* KnownMemory::at(std::uintptr_t address) {
  auto next = memory_.upper_bound(address);
  if (next == memory_.begin()) return nullptr;
  --next;
  return address < next->first + static_cast<std::uintptr_t>(next->second.bytes) ? &*next : nullptr;
}

std::vector<bool> KnownMemory::known(const void* begin, std::int64_t count, int number_bytes) const {
  const std::lock_guard lock(mutex_);
  const auto* found = const_cast<KnownMemory*>(this)->at(address_of(begin));
  if (!found || found->second.unknown.empty()) return {};
  const auto* cell = found->second.unknown.data() + (address_of(begin) - found->first) / kCell;
  std::vector<bool> known(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i, cell += number_bytes / kCell)
    known[i] = std::all_of(cell, cell + number_bytes / kCell, [](std::uint8_t state) { return state == kKnown; });
  if (std::ranges::all_of(known, [](bool is_known) { return is_known; })) return {};
  return known;
}

std::unique_ptr<KnownMemory::Observer> KnownMemory::observe(const Launch& launch, bool is_whole) {
  const std::lock_guard lock(mutex_);
  const std::span regions(launch.regions.data(), static_cast<std::size_t>(launch.region_count));
  const auto has_unknown = [&](const Region& region) {
    const auto* found = at(address_of(region.data));
    return found && !found->second.unknown.empty();
  };
  if (is_whole && std::ranges::none_of(regions, has_unknown)) return nullptr;
  auto observer = std::make_unique<Observer>();
  for (const Region& region : regions) {
    auto* found = at(address_of(region.data));
    if (!found) continue;
    auto& [begin, memory] = *found;
    if (region.written && memory.unknown.empty())
      memory.unknown.assign(static_cast<std::size_t>((memory.bytes + kCell - 1) / kCell), kKnown);
    if (memory.unknown.empty()) continue;
    observer->memory_.emplace_back(begin, memory.unknown);
    if (!region.written || is_whole) continue;
    const std::size_t first = (address_of(region.data) - begin) / kCell;
    observer->left_.push_back(
        std::span(memory.unknown)
            .subspan(first, std::min(static_cast<std::size_t>(region.bytes / kCell), memory.unknown.size() - first)));
  }
  return observer;
}

std::span<std::uint8_t> KnownMemory::Observer::cells(std::uintptr_t address, std::size_t bytes) const {
  for (const auto& [begin, unknown] : memory_)
    if (address >= begin && address < begin + kCell * unknown.size())
      return unknown.subspan((address - begin) / kCell,
                             std::min(bytes / kCell, unknown.size() - (address - begin) / kCell));
  return {};
}

void KnownMemory::Observer::reads(std::uintptr_t address, std::size_t bytes) {
  if (has_read_unknown_) return;
  has_read_unknown_ = std::ranges::any_of(cells(address, bytes), [](std::uint8_t cell) { return cell % 2 == 1; });
}

void KnownMemory::Observer::writes(std::uintptr_t address, std::size_t bytes) {
  const auto written = cells(address, bytes);
  if (written.empty()) return;
  std::ranges::fill(written, kWritten);
  written_.push_back(written);
}

void KnownMemory::Observer::end_block() {
  if (has_read_unknown_)
    for (const auto& written : written_) std::ranges::fill(written, kWrittenUnknown);
  written_.clear();
  has_read_unknown_ = false;
}

void KnownMemory::Observer::end_launch() {
  for (const auto& region : left_)
    for (std::uint8_t& cell : region) cell = cell == kWritten ? kKnown : kUnknown;
  for (const auto& [begin, unknown] : memory_)
    for (std::uint8_t& cell : unknown) cell %= 2;
}

}  // namespace danaus
