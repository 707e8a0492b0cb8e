#include "kernels/executor/global_history.hpp"

#include <utility>

namespace danaus::host {

void GlobalHistory::retire_histories() {
  for (Page* page : touched_) free_.push_back(std::move(page->history));
  touched_.clear();
}

void GlobalHistory::begin_launch() {
  retire_histories();
  pages_.clear();
  touches_.assign(1, {});
  numbers_.clear();
  recent_ = {};
  run_ = 0;
}

void GlobalHistory::begin_run() {
  retire_histories();
  ++run_;
}

GlobalHistory::Page& GlobalHistory::page_at(std::uintptr_t address) {
  Page& page = pages_[address / kPageBytes];
  if (page.history) return page;
  if (free_.empty()) free_.push_back(std::make_unique<History>());
  page.history = std::move(free_.back());
  free_.pop_back();
  page.history->reset(kPageBytes, true);
  touched_.push_back(&page);
  return page;
}

GlobalHistory::TouchNumber GlobalHistory::number_of(int block, std::uint16_t site) {
  const std::pair key(block, site);
  if (recent_.second != 0 && recent_.first == key) return recent_.second;
  const auto [found, added] = numbers_.try_emplace(key, TouchNumber(touches_.size()));
  if (added) touches_.push_back({run_, block, site});
  recent_ = *found;
  return found->second;
}

History::Verdict GlobalHistory::other_run(const std::vector<TouchNumber>& touches, History::Conflict::With with,
                                          std::size_t begin, std::size_t bytes) const {
  if (touches.empty()) return std::nullopt;
  for (std::size_t cell = begin / 2; cell < (begin + bytes) / 2; ++cell)
    if (const Touch& touch = touches_[touches[cell]]; touches[cell] != 0 && touch.run != run_)
      return History::Conflict{with, 2 * cell, {0, kNobody, touch.site}, touch.block};
  return std::nullopt;
}

History::Verdict GlobalHistory::read(const Thread& thread, const Stamp& mine, int block, std::uintptr_t begin,
                                     std::size_t bytes) {
  Page& page = page_at(begin);
  const std::size_t in_page = begin % kPageBytes;
  auto conflict = other_run(page.writers, History::Conflict::With::write, in_page, bytes);
  if (!conflict) conflict = page.history->read(thread, mine, in_page, bytes);
  if (conflict) {
    conflict->at += begin - in_page;
    return conflict;
  }
  if (page.readers.empty()) page.readers.resize(kPageBytes / 2);
  const TouchNumber number = number_of(block, mine.site);
  for (std::size_t cell = in_page / 2; cell < (in_page + bytes) / 2; ++cell)
    if (page.readers[cell] == 0) page.readers[cell] = number;  // a run that writes conflicts with the first as with all
  return std::nullopt;
}

History::Verdict GlobalHistory::write(const Thread& thread, const Stamp& mine, int block, std::uintptr_t begin,
                                      std::size_t bytes) {
  Page& page = page_at(begin);
  const std::size_t in_page = begin % kPageBytes;
  auto conflict = other_run(page.writers, History::Conflict::With::write, in_page, bytes);
  if (!conflict) conflict = other_run(page.readers, History::Conflict::With::read, in_page, bytes);
  if (!conflict) conflict = page.history->write(thread, mine, in_page, bytes);
  if (conflict) {
    conflict->at += begin - in_page;
    return conflict;
  }
  if (page.writers.empty()) page.writers.resize(kPageBytes / 2);
  const TouchNumber number = number_of(block, mine.site);
  for (std::size_t cell = in_page / 2; cell < (in_page + bytes) / 2; ++cell) page.writers[cell] = number;
  return std::nullopt;
}

void GlobalHistory::complete_write(const Stamp& from, const Stamp& to, std::uintptr_t begin, std::size_t bytes) {
  page_at(begin).history->complete_write(from, to, begin % kPageBytes, bytes);
}

Stamp GlobalHistory::writer(std::uintptr_t at) const {
  const auto page = pages_.find(at / kPageBytes);
  return page == pages_.end() || !page->second.history ? Stamp{} : page->second.history->writer(at % kPageBytes);
}

}  // namespace danaus::host
