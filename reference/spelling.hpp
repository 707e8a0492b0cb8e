// "Did you mean": the known word that is nearest to a misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace danaus {

// The candidate with the fewest changed, added, missing or swapped letters, upper and lower case alike: at most one in
// three. Empty where none is as near.
std::string closest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'pregate'?", the end of a message; empty where no candidate is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

// "a, b, c".
std::string listed(std::span<const std::string> words);

// "method 'fft', must be one of fftw, direct; did you mean 'fftw'?"
std::string must_be_one_of(std::string_view what, std::string_view word, std::span<const std::string> candidates);

}  // namespace danaus
