#include "kernels/executor/history.hpp"

#include <algorithm>

namespace danaus::host {

void History::reset(std::size_t bytes, bool blank, Who first_local, Who end_local) {
  blank_ = blank;
  first_local_ = first_local, end_local_ = end_local;
  written_.assign((bytes + 1) / 2, Stamp{});
  read_.assign((bytes + 1) / 2, Stamp{});
  lists_.clear();
  free_lists_.clear();
}

// Neighbouring cells mostly have the same past, and then the same future.
History::Verdict History::read(const Thread& thread, const Stamp& mine, std::size_t begin, std::size_t bytes) {
  const std::size_t end = (begin + bytes) / 2;
  for (std::size_t cell = begin / 2; cell < end;) {
    const Stamp written = written_[cell], before = read_[cell];
    if (written.who == kNobody ? !blank_ : !thread.has_seen(written))
      return Conflict{written.who == kNobody ? Conflict::With::nothing_written : Conflict::With::write, 2 * cell,
                      written};
    add_reader(thread, mine, read_[cell]);
    const Stamp after = read_[cell];
    const bool shared = after.who != kSeveral;
    while (++cell < end && shared && written_[cell] == written && read_[cell] == before) read_[cell] = after;
  }
  return std::nullopt;
}

History::Verdict History::write(const Thread& thread, const Stamp& mine, std::size_t begin, std::size_t bytes) {
  const std::size_t end = (begin + bytes) / 2;
  for (std::size_t cell = begin / 2; cell < end;) {
    const Stamp written = written_[cell], readers = read_[cell];
    const bool performed = written.who >= first_local_ && written.who < end_local_;
    if (written.who != kNobody && !thread.has_seen_overwritten(written, performed))
      return Conflict{Conflict::With::write, 2 * cell, written};
    if (const auto reader = unseen_reader(thread, readers)) return Conflict{Conflict::With::read, 2 * cell, *reader};
    forget(read_[cell]);
    written_[cell] = mine;
    while (++cell < end && readers.who != kSeveral && written_[cell] == written && read_[cell] == readers)
      written_[cell] = mine, read_[cell] = Stamp{};
  }
  return std::nullopt;
}

void History::add_reader(const Thread& thread, const Stamp& mine, Stamp& readers) {
  if (readers.who == kNobody) {
    readers = mine;
    return;
  }
  if (readers.who != kSeveral) {
    if (thread.has_seen_read(readers)) {
      readers = mine;
      return;
    }
    if (free_lists_.empty()) {
      free_lists_.push_back(Clock(lists_.size()));
      lists_.emplace_back();
    }
    const Clock list = free_lists_.back();
    free_lists_.pop_back();
    lists_[list] = {readers, mine};
    readers = {list, kSeveral, 0};
    return;
  }
  auto& list = lists_[readers.clock];
  // All of them or few: after a barrier of the block the list is over, before it nobody has seen another.
  if (thread.has_seen_read(list.front()) && !unseen_reader(thread, readers)) {
    forget(readers);
    readers = mine;
    return;
  }
  const auto same =
      std::find_if(list.begin(), list.end(), [&](const Stamp& s) { return s.who == mine.who && s.clock != kInFlight; });
  if (same == list.end())
    list.push_back(mine);
  else
    *same = mine;
}

std::optional<Stamp> History::unseen_reader(const Thread& thread, const Stamp& readers) const {
  if (readers.who == kNobody) return std::nullopt;
  if (readers.who != kSeveral) return thread.has_seen_read(readers) ? std::nullopt : std::optional(readers);
  for (const Stamp& reader : lists_[readers.clock])
    if (!thread.has_seen_read(reader)) return reader;
  return std::nullopt;
}

void History::forget(Stamp& readers) {
  if (readers.who == kSeveral) {
    lists_[readers.clock].clear();
    free_lists_.push_back(readers.clock);
  }
  readers = Stamp{};
}

void History::complete_read(const Stamp& from, const Stamp& to, std::size_t begin, std::size_t bytes) {
  for (std::size_t cell = begin / 2; cell < (begin + bytes) / 2; ++cell) {
    if (read_[cell] == from) read_[cell] = to;
    if (read_[cell].who == kSeveral) std::ranges::replace(lists_[read_[cell].clock], from, to);
  }
}

void History::complete_write(const Stamp& from, const Stamp& to, std::size_t begin, std::size_t bytes) {
  std::replace(written_.begin() + begin / 2, written_.begin() + (begin + bytes) / 2, from, to);
}

}  // namespace danaus::host
