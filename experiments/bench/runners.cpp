// Makes a contender ready: the plan's kernels here, the baselines in their folder.
#include "experiments/bench/baselines/baselines.hpp"
#include "experiments/bench/contenders.hpp"
#include "kernels/cuda/machine.hpp"

namespace danaus {

std::unique_ptr<Runner> make_runner(Contender contender, const Case& asked, const Device& device) {
  if (const auto why = obstacle(contender, asked, device)) fail("bench: ", *why);
  switch (contender) {
    case Contender::kernel: return make_plan_runner(asked, cuda_machine(device.ordinal));
    case Contender::copy: return make_copy(asked);
    case Contender::cufft_f32: return make_cufft_f32(asked);
    case Contender::cufft_pairs: return make_cufft_pairs(asked);
    case Contender::cufft_cublas_f32: return make_cufft_cublas(*asked.as<Spectral>(), false);
    case Contender::cufft_cublas_tf32: return make_cufft_cublas(*asked.as<Spectral>(), true);
  }
  fail("bench: contender ", int(contender), " is unknown");
}

}  // namespace danaus
