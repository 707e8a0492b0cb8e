// Someone who is told of every access to global memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace danaus::host {

class Witness {
 public:
  virtual ~Witness() = default;
  virtual void reads(std::uintptr_t address, std::size_t bytes) = 0;
  virtual void writes(std::uintptr_t address, std::size_t bytes) = 0;
};

// Of the executions in this thread; may be null.
extern constinit thread_local Witness* witness;

class WitnessScope {
 public:
  explicit WitnessScope(Witness* of_scope) : before_(std::exchange(witness, of_scope)) {}
  ~WitnessScope() { witness = before_; }
  WitnessScope(const WitnessScope&) = delete;
  WitnessScope& operator=(const WitnessScope&) = delete;

 private:
  Witness* before_;
};

}  // namespace danaus::host
