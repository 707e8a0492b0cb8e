// How times are taken.
#pragma once

namespace danaus {

// Launches of a burst are queued while a kernel holds the stream back, a second at most; a stream takes some hundred
// kernels before it makes the host wait, and a launch of a baseline is up to five.
inline constexpr int kMostLaunches = 100;

//   burst      idle, warm-up launches, then some launches timed together; again and again
//   sustained  load without a break, then launches timed group by group while it goes on
struct Protocol {
  int launches = 10;    // timed together in a burst
  int warmups = 3;      // before them
  int repetitions = 5;  // bursts
  int idle_ms = 150;    // before each
  int load_ms = 300;    // before sustained samples
  bool sustained = true;
};

}  // namespace danaus
