#include "experiments/count/hardware.hpp"
#include "experiments/methods/method.hpp"
#include "experiments/methods/runner.hpp"
#include "experiments/timing/sets.hpp"

namespace danaus {

void launch_once(const Convolution& p, const Device& device) {
  const DeviceScope scope(device.ordinal);
  const CudaStream stream;
  const Sets sets(p, 0, stream);
  const auto runner = make_runner(timed_method(kPlan), p, device);
  runner->set_filters(sets.filters(), stream);
  runner->launch(sets.set(0), stream);
  stream.synchronize();
}

}  // namespace danaus
