// Who computes what: the one division of a launch's items among its workers.
//
// An item is what a kernel computes at a time: two batch rows of a channel (pair fold) or one row (right angle). Items
// are numbered along the batch, then along the channels. Workers are a launch's blocks, or its warps where each works
// by itself. Kernels, launches and the counting of work all ask here.
#pragma once

#ifdef __CUDACC__
#define DANAUS_HOST_AND_DEVICE __host__ __device__ __forceinline__
#else
#define DANAUS_HOST_AND_DEVICE inline
#endif

namespace danaus {

// Items number first to first + count - 1 are those of one worker.
struct ItemRange {
  int first, count;
};

struct Division {
  int items_of_channel;
  int whole_channels;  // the first so many workers take a channel each, and the others share what is left evenly

  // Of a worker among `workers`. `channels` is that of the launch.
  DANAUS_HOST_AND_DEVICE ItemRange of(int worker, int workers, int channels) const {
    if (worker < whole_channels) return {worker * items_of_channel, items_of_channel};
    const long long begin = static_cast<long long>(whole_channels) * items_of_channel;
    const long long items = static_cast<long long>(channels) * items_of_channel - begin;
    const int share = worker - whole_channels, shares = workers - whole_channels;
    const long long first = items * share / shares;
    return {static_cast<int>(begin + first), static_cast<int>(items * (share + 1) / shares - first)};
  }
};

}  // namespace danaus
