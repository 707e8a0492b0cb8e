// Which accesses a thread has seen: vector clocks (Mattern 1988), with the last access of each place as in FastTrack
// (Flanagan and Freund 2009).
//
// Whoever accesses memory has a number: the threads that run at the same time, and then the mbarriers, which stand for
// the asynchronous copies that complete on them. A thread's clock ticks when it makes known what it did, at a barrier
// or a release; a barrier's clock counts its phases. A thread has seen an access if it knows that number's clock to be
// as late: because it took part in a barrier, or acquired what another released.
#pragma once

#include <algorithm>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <limits>
#include <vector>

namespace danaus::host {

using Clock = std::int32_t;
using Who = std::uint16_t;

constexpr Who kNobody = 0xffff;
constexpr int kMostNumbers = 0xfff0;                            // of threads and barriers together
constexpr Clock kInFlight = std::numeric_limits<Clock>::max();  // of a copy that its thread has not waited for

// One access: who, when, and from which place in the source (Sites).
struct Stamp {
  Clock clock = 0;
  Who who = kNobody;
  std::uint16_t site = 0;
  bool operator==(const Stamp&) const = default;
};

// The clocks that a thread knows of all others. Shared by those that know the same, so that it is copied to be changed.
struct Clocks : boost::intrusive_ref_counter<Clocks, boost::thread_unsafe_counter> {
  std::vector<Clock> of;
  explicit Clocks(std::size_t size) : of(size) {}
  Clock operator[](Who who) const { return who < of.size() ? of[who] : 0; }
  void raise(Who who, Clock clock) {
    if (who >= of.size()) of.resize(who + 1);
    of[who] = std::max(of[who], clock);
  }
  void raise(const Clocks& other) {
    if (other.of.size() > of.size()) of.resize(other.of.size());
    for (std::size_t i = 0; i < other.of.size(); ++i) of[i] = std::max(of[i], other.of[i]);
  }
};
using Knowledge = boost::intrusive_ptr<Clocks>;

// What one thread made known at one time. `reads` is more than `knows`, where that is not null: accesses that have
// read, and may be overwritten, but have made nothing known that they wrote.
struct Release {
  Who who;
  Clock clock;
  Knowledge knows, reads;
  bool only_reads = false;
};

// What several releases make known together.
struct Acquired {
  Knowledge knows{new Clocks(0)}, reads;

  void acquire(const Release& release) {
    if (release.reads) own_reads().raise(*release.reads);
    knows->raise(*release.knows);
    knows->raise(release.who, release.clock);
  }
  void acquire_reads(const Release& release) {
    own_reads().raise(*release.knows);
    if (release.reads) own_reads().raise(*release.reads);
    own_reads().raise(release.who, release.clock);
  }

 private:
  Clocks& own_reads() {
    if (!reads) reads = new Clocks(0);
    return *reads;
  }
};

struct Thread {
  Who number = 0, first_barrier = kNobody;  // numbers from that one on are barriers'
  Clock clock = 1;
  std::vector<Clock> fences, global_fences;  // times of fence_async and fence_async_global
  Knowledge knows;
  Knowledge reads;            // seen to have read, beyond `knows`; mostly null
  std::vector<Stamp> phases;  // of barriers, seen since `knows` was last changed; they come with no knowledge

  bool has_seen(const Stamp& access) const {
    if (access.who == number) return access.clock != kInFlight;
    return (*knows)[access.who] >= access.clock || has_seen_phase(access);
  }
  bool has_seen_phase(const Stamp& access) const {
    for (const Stamp& phase : phases)
      if (phase.who == access.who && phase.clock >= access.clock) return true;
    return false;
  }
  // A write that is to be overwritten. `performed`: whoever knows of it finds it in memory, whatever is released.
  bool has_seen_overwritten(const Stamp& write, bool performed) const {
    return performed || write.who >= first_barrier ? has_seen_read(write) : has_seen(write);
  }
  // An access that has only read.
  bool has_seen_read(const Stamp& access) const {
    return has_seen(access) || (reads && (*reads)[access.who] >= access.clock);
  }
  // Whether it has fenced what it did at that time, and the other one has seen the fence.
  bool has_fenced(Clock time, const Thread& other) const { return has_fenced(fences, time, other); }
  bool has_fenced_global(Clock time, const Thread& other) const { return has_fenced(global_fences, time, other); }
  // Knowledge that nobody else shares.
  Clocks& own() {
    if (knows->use_count() > 1) knows = new Clocks(*knows);
    return *knows;
  }
  Clocks& own_reads() {
    if (!reads)
      reads = new Clocks(0);
    else if (reads->use_count() > 1)
      reads = new Clocks(*reads);
    return *reads;
  }
  // Puts the phases into the knowledge.
  void settle() {
    if (phases.empty()) return;
    for (const Stamp& phase : phases) own().raise(phase.who, phase.clock);
    phases.clear();
  }
  Release release() {
    settle();
    return {number, clock++, knows, reads};
  }
  // Of what it has read, and knows others to have read.
  Release release_reads() {
    Release mine = release();
    mine.only_reads = true;
    return mine;
  }
  void acquire_phase(Who barrier, Clock phase) {
    if (!has_seen({phase, barrier})) phases.push_back({phase, barrier});
  }
  void acquire_all(const Acquired& acquired) {
    if (!acquired.knows->of.empty()) own().raise(*acquired.knows);
    if (acquired.reads) own_reads().raise(*acquired.reads);
  }

 private:
  bool has_fenced(const std::vector<Clock>& times, Clock time, const Thread& other) const {
    const auto fence = std::ranges::lower_bound(times, time);
    return fence != times.end() && (other.number == number || other.has_seen({*fence + 1, number, 0}));
  }
};

// What several threads make known together, as they meet at a barrier.
class Meeting {
 public:
  void join(Thread& thread) {
    join_reads(thread.reads);
    // One that nobody else holds may be changed.
    if (!all_) {
      all_ = thread.knows;
    } else if (thread.knows != last_ && thread.knows != all_) {
      unshare();
      all_->raise(*thread.knows);
    }
    last_ = thread.knows;
    for (const Stamp& phase : thread.phases) raise(phase.who, phase.clock);
    thread.phases.clear();
    raise(thread.number, thread.clock++);
  }
  // Of a thread that says only that it has read.
  void join_relaxed(Thread& thread) {
    const Release release = thread.release_reads();
    join_reads(release.reads);
    own_reads().raise(*release.knows);
    own_reads().raise(release.who, release.clock);
    relaxed_ = true;
  }
  // Null if no thread has made known more than that it has read.
  const Knowledge& all() const { return all_; }
  const Knowledge& reads() const { return reads_; }
  bool relaxed() const { return relaxed_; }

 private:
  void raise(Who who, Clock clock) {
    unshare();
    all_->raise(who, clock);
  }
  void unshare() {
    if (own_) return;
    all_ = new Clocks(*all_);
    own_ = true;
  }
  void join_reads(const Knowledge& reads) {
    if (!reads || reads == reads_) return;
    if (!reads_)
      reads_ = reads;
    else
      own_reads().raise(*reads);
  }
  Clocks& own_reads() {
    if (!reads_)
      reads_ = new Clocks(0);
    else if (reads_->use_count() > 1)
      reads_ = new Clocks(*reads_);
    return *reads_;
  }
  Knowledge all_, last_, reads_;
  bool own_ = false, relaxed_ = false;
};

}  // namespace danaus::host
