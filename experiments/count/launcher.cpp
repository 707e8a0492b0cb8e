#include "experiments/bench/sets.hpp"
#include "experiments/count/hardware.hpp"

namespace danaus {

void launch_once(const Convolution& p, const Device& device) {
  const DeviceScope scope(device.ordinal);
  const CudaStream stream;
  const Sets sets(p, 0, stream);
  const auto runner = make_runner(Contender::kernel, p, device);
  runner->set_filters(sets.filters(), stream);
  runner->launch(sets.set(0), stream);
  stream.synchronize();
}

}  // namespace danaus
