"""PyTorch, or the end of a test that needs it: ctest counts exit code 77 as skipped."""

import sys

try:
    import torch
except ImportError:
    print("PyTorch is not installed")
    sys.exit(77)

import danaus

__all__ = ["need_gpu", "torch"]


def need_gpu():
    if not torch.cuda.is_available() or danaus.device_count() == 0:
        print("there is no CUDA device, or the library was built without CUDA")
        sys.exit(77)
