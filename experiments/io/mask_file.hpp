// A user's own mask of the filter's spectrum, as a file.
//
//   .npy     [N] of 0 (removed) and 1 (kept), frequency 0 first, its own mirror image
//   .json    what is kept, or removed, in the words of FrequencyMask; one of
//              {"fft_size": 4096, "kept": [[0, 63], [128, 255]]}
//              {"factors": [16, 8, 4, 8], "zeroed": [4, 2, 0, 0], "reading": "literal"}      hermitian by default
//              {"factors": [16, 8, 4, 8], "pieces": [8, 4, 1, 1], "removed": [12, 13, 18]}   blocks, from 0 on
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "experiments/io/pending_file.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

struct MaskFile {
  std::string path;
  FrequencyMask mask;
  std::int64_t fft_size = 0;
  std::vector<int> factors;  // that the mask needs; empty for bands
};

// Throws std::invalid_argument with the path, the value and the rule for anything else.
MaskFile read_mask(const std::string& path);
// As of a .npy with these values; messages call it by the name.
MaskFile mask_of_marks(const std::string& name, std::span<const double> kept);

// The case with the mask, and with the fold, N and factors that the mask needs where it leaves them open. Throws where
// they do not fit.
Convolution with_mask(Convolution problem, const MaskFile& file);

// Tokens of cases that all get the mask of a file: --mask FILE of a command, and what its help says.
void mask_tokens(std::vector<std::string>& tokens, const std::string& path);
inline constexpr const char* kMaskHelp = "removes part of the filters' spectrum: .npy [N] of 0 and 1, or .json";

// The .json form of the mask of a case with N.
void write_mask(PendingFile& file, const Convolution& problem);

}  // namespace danaus
