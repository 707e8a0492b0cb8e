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

// What one thread made known at one time.
struct Release {
  Who who;
  Clock clock;
  Knowledge knows;
};

struct Thread {
  Who number = 0;
  Clock clock = 1;
  std::vector<Clock> fences;  // times of fence_async
  Knowledge knows;
  std::vector<Release> phases;  // of barriers, seen since `knows` was last changed; they come with no knowledge

  bool has_seen(const Stamp& access) const {
    if (access.who == number) return access.clock != kInFlight;
    return (*knows)[access.who] >= access.clock || has_seen_phase(access);
  }
  bool has_seen_phase(const Stamp& access) const {
    for (const Release& phase : phases)
      if (phase.who == access.who && phase.clock >= access.clock) return true;
    return false;
  }
  // Whether it has fenced what it did at that time.
  bool has_fenced(Clock time) const { return !fences.empty() && fences.back() >= time; }
  // And whether the other one has seen the fence.
  bool has_fenced(Clock time, const Thread& other) const {
    const auto fence = std::ranges::lower_bound(fences, time);
    return fence != fences.end() && (other.number == number || other.has_seen({*fence + 1, number, 0}));
  }
  // Knowledge that nobody else shares.
  Clocks& own() {
    if (knows->use_count() > 1) knows = new Clocks(*knows);
    return *knows;
  }
  // Puts the phases into the knowledge.
  void settle() {
    if (phases.empty()) return;
    for (const Release& phase : phases) own().raise(phase.who, phase.clock);
    phases.clear();
  }
  Release release() {
    settle();
    return {number, clock++, knows};
  }
  void acquire_phase(Who barrier, Clock phase) {
    if (!has_seen({phase, barrier})) phases.push_back({barrier, phase, nullptr});
  }
  void acquire(const Release& release) {
    if (has_seen({release.clock, release.who})) return;  // and so all that it had seen
    own().raise(*release.knows);
    own().raise(release.who, release.clock);
  }
};

// What several threads make known together, as they meet at a barrier.
class Meeting {
 public:
  void join(Thread& thread) {
    // One that nobody else holds may be changed.
    if (!all_) {
      all_ = thread.knows;
    } else if (thread.knows != last_ && thread.knows != all_) {
      unshare();
      all_->raise(*thread.knows);
    }
    last_ = thread.knows;
    for (const Release& phase : thread.phases) raise(phase.who, phase.clock);
    thread.phases.clear();
    raise(thread.number, thread.clock++);
  }
  const Knowledge& all() const { return all_; }

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
  Knowledge all_, last_;
  bool own_ = false;
};

}  // namespace danaus::host
