// Blocks of a cluster, which share the transform of one item.
#pragma once

#include "kernels/device/relaxed_arrival.hpp"
#include "kernels/families/layer/teams.hpp"

namespace danaus::layer::inline DANAUS_BACKEND {

template <class P>
class BlockCluster : protected BlockTeams<P> {
 public:
  using Base = BlockTeams<P>;
  using Base::Base;

 protected:
  static constexpr Layout layout = P::layout;
  using Base::at_, Base::warp_;

  // Blocks of a cluster have one unit each, slices of one item's outputs: each transforms a share of the inputs, whose
  // spectra lie together, and sends them to the others.
  DANAUS_DEVICE int first_tile_of_share() const {
    return layout.in_cluster ? device::cluster_rank() * at_.share_tiles : 0;
  }
  DANAUS_DEVICE int share_bytes() const { return at_.share_tiles * layout.steps_of_tile * at_.u_step; }
  DANAUS_DEVICE void begin_exchange() const {
    if (device::thread_index() == 0) {
      device::barrier_init(at_.barriers_at, 1);
      device::fence_barrier_init();
      device::barrier_expect(at_.barriers_at, (at_.shares - 1) * share_bytes());
    }
    device::arrive_cluster_relaxed();
  }
  DANAUS_DEVICE void exchange() const {
    device::fence_async();
    device::sync_block();
    device::wait_cluster();
    const int rank = device::cluster_rank(), to = device::lane_index();
    if (warp_ == 0 && to < at_.shares && to != rank) {
      const SharedAddress share = rank * share_bytes();
      device::copy_remote(device::remote_address(share, to), share, share_bytes(),
                          device::remote_address(at_.barriers_at, to));
    }
    device::barrier_wait(at_.barriers_at, 0);
    // Says that what was sent here has been read there, nothing of what this block wrote: needs no release, which took
    // a tenth of the time.
    device::arrive_cluster_relaxed();
  }
  // Until spectra may be overwritten: warps, and what sends them to other blocks, have read them.
  DANAUS_DEVICE static void wait_for_readers() {
    if constexpr (layout.in_cluster) device::wait_cluster();
    device::sync_block();
  }
};

}  // namespace danaus::layer::inline DANAUS_BACKEND
