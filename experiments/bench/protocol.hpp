// How times are taken.
#pragma once

namespace danaus {

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
