// Accesses of a launch to a buffer of global memory that it may write. Barriers order those of threads that run at the
// same time (History). Nothing orders blocks that run one after another, as the executor lets them: none of them may
// touch what another writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "kernels/executor/history.hpp"

namespace danaus::host {

class GlobalHistory {
 public:
  void begin_launch();
  // Of blocks that run at the same time.
  void begin_run();

  // As History's, of `bytes` that are aligned to as many, at most 16.
  History::Verdict read(const Thread& thread, const Stamp& mine, int block, std::uintptr_t begin, std::size_t bytes);
  History::Verdict write(const Thread& thread, const Stamp& mine, int block, std::uintptr_t begin, std::size_t bytes);
  void complete_write(const Stamp& from, const Stamp& to, std::uintptr_t begin, std::size_t bytes);
  // In this run; nobody if it has not been written.
  Stamp writer(std::uintptr_t at) const;

 private:
  static constexpr std::size_t kPageBytes = 4096;
  using TouchNumber = std::uint32_t;  // 0: nobody
  struct Touch {
    int run, block;
    std::uint16_t site;
  };
  struct Page {
    std::unique_ptr<History> history;  // of this run, if it touched the page
    std::vector<TouchNumber> writers, readers;
  };

  Page& page_at(std::uintptr_t address);
  TouchNumber number_of(int block, std::uint16_t site);
  void retire_histories();
  // The first cell whose touch is another run's.
  History::Verdict other_run(const std::vector<TouchNumber>& touches, History::Conflict::With with, std::size_t begin,
                             std::size_t bytes) const;

  std::unordered_map<std::uintptr_t, Page> pages_;
  std::vector<Page*> touched_;  // by this run
  std::vector<std::unique_ptr<History>> free_;
  std::vector<Touch> touches_ = {{}};
  std::map<std::pair<int, std::uint16_t>, TouchNumber> numbers_;
  std::pair<std::pair<int, std::uint16_t>, TouchNumber> recent_{};
  int run_ = 0;
};

}  // namespace danaus::host
