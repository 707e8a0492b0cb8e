"""Long convolutions by FFT on GPU tensor cores, verified, counted and predicted; without a GPU all but the timing.

    import danaus, numpy as np
    u = np.random.randn(2, 8, 1024).astype(np.float16)
    k = np.random.randn(8, 1024).astype(np.float32) / 32
    y, error = danaus.conv(u, k, method="kernel", return_error=True)

conv(), short_conv(), ssm_conv() and Plan compute; verify(), predict(), what_if(), count(), factors() and memory() ask
about a case by its token, explore() which part of a spectrum can go; judge() and judge_model() judge kernels and cost
models of others; self_test() holds a machine to the committed bits; danaus.torch has operators of PyTorch,
danaus.flashfftconv takes the place of the package flashfftconv. docs/python.md of the sources has examples of each.
"""

from danaus._library import CudaError, InternalError, NoDevice, device_count
from danaus._version import __version__
from danaus.convolution import conv, short_conv
from danaus.judging import judge, judge_model
from danaus.plans import Plan
from danaus.rows import asked, best, count, explore, factors, kernels, memory, predict, run, verify, what_if
from danaus.selftest import self_test
from danaus.state import ssm_conv

__all__ = ["CudaError", "InternalError", "NoDevice", "Plan", "asked", "best", "conv", "count", "device_count",
           "explore", "factors", "judge", "judge_model", "kernels", "memory", "predict", "run", "self_test",
           "short_conv", "ssm_conv", "verify", "what_if", "__version__"]
