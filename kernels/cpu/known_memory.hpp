// Which memory of a machine is known, where launches execute some of their blocks only.
//
// After such a launch, memory that it may write is unknown. An executed block that read nothing unknown makes known
// what it wrote. Known numbers are those that the whole program would have made.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/executor/witness.hpp"
#include "kernels/plan/program.hpp"

namespace danaus {

class KnownMemory {
 public:
  void add(const void* begin, std::int64_t bytes);
  void remove(const void* begin);
  // Of numbers of so many bytes each, whether each is known; none: all are.
  std::vector<bool> known(const void* begin, std::int64_t count, int number_bytes) const;

  // Follows a launch, of which some blocks run or all. Null where everything is known and stays so.
  class Observer;
  std::unique_ptr<Observer> observe(const Launch& launch, bool is_whole);

 private:
  static constexpr std::int64_t kCell = 2;  // bytes
  struct Memory {
    std::int64_t bytes;
    std::vector<std::uint8_t> unknown;  // of each cell; none: all is known
  };
  // That the address is in; null for other memory than the machine's.
  std::pair<const std::uintptr_t, Memory>* at(std::uintptr_t address);

  mutable std::mutex mutex_;  // of the map; who launches has arrays of its own
  std::map<std::uintptr_t, Memory> memory_;
};

class KnownMemory::Observer final : public host::Witness {
 public:
  void reads(std::uintptr_t address, std::size_t bytes) override;
  void writes(std::uintptr_t address, std::size_t bytes) override;
  void end_block();
  void end_launch();

 private:
  friend class KnownMemory;
  // Cells of memory between two addresses; nothing where all of it is known.
  std::span<std::uint8_t> cells(std::uintptr_t address, std::size_t bytes) const;

  std::vector<std::pair<std::uintptr_t, std::span<std::uint8_t>>> memory_;
  std::vector<std::span<std::uint8_t>> left_;     // what blocks may write that do not run
  std::vector<std::span<std::uint8_t>> written_;  // by the block
  bool has_read_unknown_ = false;
};

}  // namespace danaus
