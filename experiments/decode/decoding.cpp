#include "experiments/decode/decoding.hpp"

#include <algorithm>

#include "kernels/cpu/program_work.hpp"
#include "kernels/families/decode/layout.hpp"

namespace danaus {

void validate(const DecodeCase& asked) {
  const Convolution& p = asked.whole;
  if (p.mode != Mode::causal || p.pregate || p.postgate || p.fold || p.fft_size != 0 || !p.mask.empty() ||
      p.filter != Dtype::f32)
    fail("decode: ", token(p), " must be causal with a filter in f32, without gates, N, fold, factors or mask");
  if (p.dtype != Dtype::f16 && p.dtype != Dtype::bf16)
    fail("decode: dtype ", name(p.dtype), " has no kernel; f16 and bf16 have");
  if (asked.method == DecodeMethod::recurrence && p.filter_length != p.length)
    fail("decode: ", token(p), " has K=", p.filter_length, ", the filter of a recurrence is as long as L=", p.length);
}

Json describe(const DecodeCase& asked) {
  Json fields = {{"case", token(asked.whole)}, {"method", name_in(kDecodeMethods, asked.method)}};
  if (asked.method == DecodeMethod::recurrence) fields["states"] = asked.states;
  return fields;
}

std::vector<Octave> octaves_of(std::int64_t length) {
  std::vector<Octave> octaves;
  for (std::int64_t from = 0, to = decode::kWindow; from < length; from = to, to = 2 * from)
    octaves.push_back({from, std::min(to, length)});
  return octaves;
}

StateSpace state_of(const DecodeCase& asked, std::int64_t length) {
  StateSpace p;
  p.dtype = asked.whole.dtype, p.states = asked.states, p.length = length;
  p.batch = asked.whole.batch, p.channels = asked.whole.channels;
  if (length == 1) p.initial = p.final = true;
  return p;
}

std::set<std::string> families_of(const DecodeCase& asked, const Device& device) {
  if (asked.method == DecodeMethod::recurrence) return {"state"};
  std::set<std::string> families = {"decode"};
  if (asked.method == DecodeMethod::dot) return families;
  for (std::int64_t size = decode::kWindow; size < asked.whole.length; size *= 2) {
    Convolution tile = asked.whole;
    tile.length = 2 * size, tile.filter_length = std::min(tile.filter_length, tile.length);
    visit_launches(tile, device, [&](const Launch& launch, auto) { families.emplace(launch.kernel.family); });
  }
  return families;
}

}  // namespace danaus
