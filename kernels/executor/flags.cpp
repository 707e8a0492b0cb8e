// Flags in global memory, by which blocks that run at the same time hand work to each other.
#include "kernels/executor/state.hpp"

namespace danaus::host {

u32& Executor::State::flag_at(const Origin& origin, const u32* flag, bool write) {
  const auto address = reinterpret_cast<std::uintptr_t>(flag);
  if (address % 4 != 0) violate(origin, "global address is not aligned to its 4 bytes");
  region_at(origin, address, 4, write);
  return *const_cast<u32*>(flag);
}

// What was released there before.
void Executor::State::acquire_flag(Lane& lane, const u32* flag) {
  const auto found = flags.find(flag);
  if (found == flags.end()) return;
  lane.own().raise(*found->second.all());
  if (found->second.reads()) lane.own_reads().raise(*found->second.reads());
}

bool Executor::State::pass_flag(Lane& lane, const device::detail::FlagWait& wait) {
  if (*wait.flag < wait.value) return false;
  acquire_flag(lane, wait.flag);
  return true;
}

}  // namespace danaus::host

namespace danaus::inline host_backend::device::detail {

u32 load_acquire(const u32* flag, Site site) {
  auto& s = host::running_state();
  const u32 value = s.flag_at({"load_acquire", site, s.current}, flag, false);
  s.acquire_flag(*s.current, flag);
  return value;
}

// An addition goes on with what was released before, a store begins anew.
void store_release(u32* flag, u32 value, bool add, Site site) {
  auto& s = host::running_state();
  u32& word = s.flag_at({add ? "add_release" : "store_release", site, s.current}, flag, true);
  word = add ? word + value : value;
  host::Meeting& released = s.flags[flag];
  if (!add) released = {};
  s.current->settle();
  released.join(*s.current);
}

void wait_until_at_least(const u32* flag, u32 value, Site site) {
  auto& s = host::running_state();
  s.flag_at({"wait_until_at_least", site, s.current}, flag, false);
  FlagWait wait{flag, value};
  if (!s.pass_flag(*s.current, wait)) s.wait(Kind::wait_until_at_least, &wait, site);
}

}  // namespace danaus::inline host_backend::device::detail
