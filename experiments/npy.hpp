// NumPy's .npy format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include "experiments/signal_file.hpp"

namespace danaus {

Signal read_npy(const std::string& path);
void write_npy(PendingFile& file, const Signal& signal);

}  // namespace danaus
