// A real recording to verify with: the speech samples of Debian's alsa-utils, where they are installed.
#pragma once

#include <string>
#include <vector>

namespace danaus {

inline constexpr const char* kRecordingFolder = "/usr/share/sounds/alsa";

// First channel of every .wav file in `folder`, one after the other by name; empty where there is none.
std::vector<double> read_recording(const std::string& folder);

}  // namespace danaus
