#include "kernels/plan/selftest.hpp"

#include <atomic>
#include <bit>
#include <charconv>
#include <exception>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "kernels/device/halves.hpp"
#include "kernels/plan/plan.hpp"
#include "reference/convolution/mask.hpp"

namespace danaus {
namespace {

// Thirty-two bits in which every bit of the number counts (the finalizer of splitmix64).
std::uint32_t scrambled(std::uint64_t number) {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return static_cast<std::uint32_t>((number ^ number >> 31) >> 32);
}

// Multiples of 2^-23 from -1 on and below 1; of a filter's taps smaller, so that outputs are of the size of inputs; of
// poles inside the circle.
double largest(const Array& array) {
  if (array.role != Role::filter) return 1;
  if (array.parts() == 2) return 0.625;
  return std::bit_cast<double>(std::uint64_t(1023 - std::bit_width(std::uint64_t(array.extents.back())) / 2) << 52);
}

std::vector<double> canonical_values(const Array& array) {
  const std::uint64_t begin = digest_of(std::as_bytes(std::span(array.name)), kNoDigest);
  const double scale = largest(array);
  std::vector<double> values(static_cast<std::size_t>(array.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = scale * (static_cast<double>(scrambled(begin + i) >> 8) * 0x1p-23 - 1);
  return values;
}

std::string_view trimmed(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const auto begin = line.find_first_not_of(" \t\r"), end = line.find_last_not_of(" \t\r");
  return begin == line.npos ? "" : line.substr(begin, end - begin + 1);
}

}  // namespace

std::uint64_t digest_of(std::span<const std::byte> bytes, std::uint64_t digest) {
  for (const std::byte byte : bytes) digest = (digest ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return digest;
}

std::string digest_in_words(std::uint64_t digest) {
  std::string words(16, '0');
  for (auto digit = words.rbegin(); digit != words.rend(); ++digit, digest >>= 4)
    *digit = "0123456789abcdef"[digest & 15];
  return words;
}

std::vector<DigestedCase> read_digests(std::string_view name, std::string_view text) {
  std::vector<DigestedCase> cases;
  std::set<std::string> tokens;
  const char* const begin = text.data();
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.empty()) continue;
    DigestedCase of{std::string(line.substr(std::min<std::size_t>(17, line.size()))), 0,
                    static_cast<std::size_t>(line.data() - begin)};
    const auto [stop, error] =
        std::from_chars(line.data(), line.data() + std::min<std::size_t>(16, line.size()), of.digest, 16);
    if (error != std::errc() || stop != line.data() + 16 || !line.substr(16).starts_with(' ') ||
        of.token.find_first_of(" \t") != of.token.npos)
      fail(name, " line ", number, ": '", line, "', must be a digest of 16 hexadecimal digits and a token");
    of.token = parse_case(of.token).token();
    if (!tokens.insert(of.token).second) fail(name, " line ", number, ": ", of.token, " stands twice");
    cases.push_back(std::move(of));
  }
  return cases;
}

std::uint64_t digest_of_outputs(const Case& asked, const std::shared_ptr<const Machine>& machine) {
  Plan plan(asked, machine, marks_of(asked));
  const std::vector<Array> arrays = asked.arrays();
  std::vector<std::shared_ptr<void>> memory;
  std::vector<Buffer> filters, others;
  std::vector<std::size_t> bytes;
  for (const Array& array : arrays) {
    std::vector<std::byte> values = array.role == Role::output
                                        ? host::encode_bytes(array.dtype, std::vector<double>(array.size()))
                                        : host::encode_bytes(array.dtype, canonical_values(array));
    if (array.role == Role::output) std::ranges::fill(values, std::byte{0xff});  // a NaN, until it is written
    bytes.push_back(values.size());
    memory.push_back(machine->upload(values.data(), std::ssize(values)));
    (array.role == Role::filter ? filters : others).emplace_back(array.name, memory.back().get(), values.size());
  }
  plan.prepare(filters);
  plan.execute(others);
  machine->synchronize();
  std::uint64_t digest = kNoDigest;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].role != Role::output) continue;
    std::vector<std::byte> output(bytes[i]);
    machine->copy_to_host(output.data(), memory[i].get(), std::ssize(output));
    digest = digest_of(output, digest);
  }
  return digest;
}

std::vector<SelftestResult> selftest(std::span<const DigestedCase> cases, const std::shared_ptr<const Machine>& machine,
                                     unsigned threads, const std::function<void(const SelftestResult&)>& ended) {
  std::vector<SelftestResult> results(cases.size());
  std::atomic<std::size_t> next = 0;
  std::mutex guard;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      SelftestResult& result = results[i];
      result.of = &cases[i];
      try {
        try {
          result.digest = digest_of_outputs(parse_case(cases[i].token), machine);
        } catch (const std::logic_error& error) {  // the build, or the machine, has not the kernel
          result.absent = error.what();
        }
        const std::lock_guard lock(guard);
        if (ended && !failure) ended(result);
      } catch (...) {
        const std::lock_guard lock(guard);
        if (!failure) failure = std::current_exception();
        next = cases.size();
      }
    }
  };
  {
    std::vector<std::jthread> others(std::max(threads, 1u) - 1);
    for (std::jthread& other : others) other = std::jthread(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  return results;
}

}  // namespace danaus
