// Who wrote and who read memory last, two bytes at a time: what comes next must have seen it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/executor/clocks.hpp"

namespace danaus::host {

class History {
 public:
  // What keeps an access from being ordered.
  struct Conflict {
    enum class With { nothing_written, write, read } with;
    std::size_t at;  // byte
    Stamp earlier;
    int block = -1;  // that made it and is over; of its threads nothing is known
  };
  using Verdict = std::optional<Conflict>;

  // Forgets all. `blank`: what nobody wrote may be read. Writes of threads from `first_local` on and before
  // `end_local`, whose block's memory it is, are performed there in order: those that the block has read, or copied
  // over, are over.
  void reset(std::size_t bytes, bool blank, Who first_local = 0, Who end_local = 0);

  // The access `mine` to `bytes` from `begin` on, as `thread` makes it or begins it.
  Verdict read(const Thread& thread, const Stamp& mine, std::size_t begin, std::size_t bytes);
  Verdict write(const Thread& thread, const Stamp& mine, std::size_t begin, std::size_t bytes);

  // An asynchronous access of `from` is now one at the time `to`.
  void complete_read(const Stamp& from, const Stamp& to, std::size_t begin, std::size_t bytes);
  void complete_write(const Stamp& from, const Stamp& to, std::size_t begin, std::size_t bytes);

  const Stamp& writer(std::size_t at) const { return written_[at / 2]; }

  // The first access that the thread has not seen, of those by whom `concerns` says.
  template <class Concerns>
  std::optional<Stamp> first_unseen(const Thread& thread, Concerns concerns) const {
    const auto unseen = [&](const Stamp& access, bool read) {
      return access.who != kNobody && access.who != kSeveral && concerns(access.who) &&
             !(read ? thread.has_seen_read(access) : thread.has_seen(access));
    };
    for (std::size_t cell = 0; cell < written_.size(); ++cell) {
      if (unseen(written_[cell], false)) return written_[cell];
      if (unseen(read_[cell], true)) return read_[cell];
    }
    for (const auto& list : lists_)
      for (const Stamp& access : list)
        if (unseen(access, true)) return access;
    return std::nullopt;
  }

 private:
  static constexpr Who kSeveral = 0xfffe;  // readers that have not seen each other: lists_[clock]

  void add_reader(const Thread& thread, const Stamp& mine, Stamp& readers);
  std::optional<Stamp> unseen_reader(const Thread& thread, const Stamp& readers) const;
  void forget(Stamp& readers);

  std::vector<Stamp> written_, read_;
  std::vector<std::vector<Stamp>> lists_;
  std::vector<Clock> free_lists_;
  bool blank_ = false;
  Who first_local_ = 0, end_local_ = 0;
};

}  // namespace danaus::host
