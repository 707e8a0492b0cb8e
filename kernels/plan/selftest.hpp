// One small case of every kernel, on data that every machine makes alike, and the digests of their outputs: which
// machine computes the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/plan/machine.hpp"
#include "reference/operation.hpp"

namespace danaus {

struct DigestedCase {
  std::string token;
  std::uint64_t digest;
  std::size_t place = 0;  // of the digest in the text
};

// Lines of a digest of 16 hexadecimal digits and a token, the rest of a line from # on being comment. Throws
// std::invalid_argument, with `name` and the line, for any other line and for a token that stands twice.
std::vector<DigestedCase> read_digests(std::string_view name, std::string_view text);

// kernels/plan/digests.txt as it was when this was compiled.
std::string_view committed_digests();

// FNV-1a of 64 bits, which goes on from the digest of what stands before.
inline constexpr std::uint64_t kNoDigest = 0xcbf29ce484222325;
std::uint64_t digest_of(std::span<const std::byte> bytes, std::uint64_t before = kNoDigest);

// Of all outputs of the case, in their order. Inputs and filters are canonical. Throws what the plan
// throws.
std::uint64_t digest_of_outputs(const Case& asked, const std::shared_ptr<const Machine>& machine);

struct SelftestResult {
  const DigestedCase* of;
  std::uint64_t digest = 0;  // on this machine
  std::string absent;        // why this machine, or this build, does not compute it; empty where it does
  bool same() const { return absent.empty() && digest == of->digest; }
};

// In the order of the cases, which so many threads share. `ended`, where it is given, hears of each from any thread,
// one at a time; when it throws, no further case begins, and its exception leaves.
std::vector<SelftestResult> selftest(std::span<const DigestedCase> cases, const std::shared_ptr<const Machine>& machine,
                                     unsigned threads = 1,
                                     const std::function<void(const SelftestResult&)>& ended = {});

// 16 hexadecimal digits.
std::string digest_in_words(std::uint64_t digest);

}  // namespace danaus
