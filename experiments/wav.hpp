// .wav files, through libsndfile.
#pragma once

#include "experiments/signal_file.hpp"

namespace danaus {

Signal read_wav(const std::string& path);
void write_wav(PendingFile& file, const Signal& signal);

}  // namespace danaus
