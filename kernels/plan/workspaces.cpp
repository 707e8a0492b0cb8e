#include "kernels/plan/workspaces.hpp"

#include <algorithm>
#include <iterator>

namespace danaus {

Workspaces::Lease Workspaces::take(const char* operation, std::int64_t bytes, const Machine& machine, Stream stream,
                                   const Explain& explained) {
  const std::uint64_t capture = machine.capture_id(stream);
  if (capture != 0) return {this, take_captured(operation, bytes, stream, capture)};
  const std::uint64_t id = machine.stream_id(stream);
  auto its = take_from(idle_, [&](const Workspace& each) { return each.bytes >= bytes && each.stream == id; });
  if (!its) its = Workspace{.memory = allocate(bytes, machine, id, explained), .bytes = bytes};
  its->stream = id, its->handle = stream;
  return {this, *std::move(its)};
}

// CUDA has no number for a stream while it is captured, so its handle stands for it.
Workspaces::Workspace Workspaces::take_captured(const char* operation, std::int64_t bytes, Stream stream,
                                                std::uint64_t capture) {
  const auto fits = [&](const Workspace& each) { return each.bytes >= bytes; };
  const auto fits_here = [&](const Workspace& each) { return fits(each) && each.handle == stream; };
  auto its = take_from(of_captures_, [&](const Workspace& each) { return fits_here(each) && each.capture == capture; });
  if (!its) its = take_from(idle_, fits_here);
  if (!its) its = take_from(idle_, fits);
  if (!its)
    fail(operation, ": the stream is being captured, where nothing can be allocated; give a workspace of ", bytes,
         " bytes, or make the same call once before each capture");
  its->handle = stream, its->capture = capture;
  return *std::move(its);
}

std::optional<Workspaces::Workspace> Workspaces::take_from(std::vector<Workspace>& list,
                                                           const std::function<bool(const Workspace&)>& suits) {
  const std::lock_guard lock(guard_);
  const auto found = std::ranges::find_if(list, suits);
  if (found == list.end()) return std::nullopt;
  std::optional<Workspace> its = std::move(*found);
  list.erase(found);
  return its;
}

std::vector<Workspaces::Workspace> Workspaces::take_outgrown(std::uint64_t stream, std::int64_t bytes) {
  const std::lock_guard lock(guard_);
  const auto outgrown = std::stable_partition(
      idle_.begin(), idle_.end(), [&](const Workspace& each) { return each.stream != stream || each.bytes >= bytes; });
  std::vector<Workspace> taken(std::make_move_iterator(outgrown), std::make_move_iterator(idle_.end()));
  idle_.erase(outgrown, idle_.end());
  return taken;
}

std::shared_ptr<void> Workspaces::allocate(std::int64_t bytes, const Machine& machine, std::uint64_t stream,
                                           const Explain& explained) {
  try {
    return machine.allocate(bytes);
  } catch (const OutOfMemory&) {
  }
  std::int64_t most = 0;
  for (const Workspace& each : take_outgrown(stream, bytes)) most = std::max(most, each.bytes);
  try {
    return machine.allocate(bytes);
  } catch (const OutOfMemory& error) {
    const OutOfMemory refusal = explained(error);
    try {
      if (most > 0) give_back({.memory = machine.allocate(most), .bytes = most, .stream = stream});
    } catch (const OutOfMemory&) {  // somebody else has it
    }
    throw refusal;
  }
}

// Memory that is freed waits for the device: calls may still run in it.
void Workspaces::give_back(Workspace its) {
  std::vector<Workspace> freed;
  if (its.capture == 0) freed = take_outgrown(its.stream, its.bytes);
  const std::lock_guard lock(guard_);
  if (its.capture == 0 && idle_.size() >= kMostIdle) {
    freed.push_back(std::move(idle_.front()));
    idle_.erase(idle_.begin());
  }
  (its.capture != 0 ? of_captures_ : idle_).push_back(std::move(its));
}

}  // namespace danaus
