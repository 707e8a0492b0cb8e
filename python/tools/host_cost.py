"""What a call costs on the host, in microseconds: the least of several series of calls that nobody waits for.

  PYTHONPATH=BUILD/python PYTHON python/tools/host_cost.py

Rows are short, so that a GPU is done with each call before the next one is asked for. Without a GPU tensors are the
CPU's and the library's function does nothing: what is left is Python, ctypes and PyTorch's dispatcher.
"""

import ctypes
import timeit

import torch

import danaus
from danaus import torch as danaus_torch
from danaus._library import Array, Call, library

CALLS, SERIES = 2000, 15
CONV = danaus_torch.conv


def microseconds(call):
    for _ in range(10):
        call()
    synchronize()
    best = min(timeit.repeat(call, number=CALLS, repeat=SERIES, setup=synchronize)) / CALLS
    synchronize()
    return 1e6 * best


def synchronize():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


class Nothing:
    """In place of the library: a function of its own that takes a call's arguments and looks at none."""
    danaus_whole_call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Array), ctypes.c_size_t,
                                         ctypes.POINTER(Call))(("danaus_device_count", library))


class NoPlan:
    handle = ctypes.c_void_p(1)

    def bytes(self, batch):
        return {"prepared": 8192, "workspace": 0}


def without_gpu(u, k, pregate, postgate):
    """The GPU's path with the CPU's tensors and nothing at its end."""
    danaus_torch.library = Nothing
    torch._C._cuda_getCurrentRawStream = lambda device: 0
    for gates in ((None, None), (pregate, postgate)):
        signature = ("causal", *map(danaus_torch._signature, (u, k, *gates)))
        danaus_torch._entries[signature] = danaus_torch._Entry(NoPlan(), u, k, *gates)
    danaus_torch._library.impl("conv", danaus_torch._conv_cuda, "CPU", allow_override=True)
    danaus_torch.conv = with_a_gpus_tensors


def with_a_gpus_tensors(u, k, mode="causal", pregate=None, postgate=None):
    """conv() where u.is_cuda."""
    if not torch.compiler.is_compiling() and danaus_torch._is_plain(u, k, pregate, postgate):
        return danaus_torch._conv_cuda(u, k, mode, pregate, postgate)[0]
    return CONV(u, k, mode, pregate, postgate)


def by_fft(u, k):
    """What it takes the place of, the filter's transform included."""
    length, points = u.shape[-1], 2 * u.shape[-1]
    return torch.fft.irfft(torch.fft.rfft(u.float(), points) * torch.fft.rfft(k, points), points)[..., :length]


def main():
    on_gpu = danaus.device_count() > 0 and torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    u, pregate, postgate = (torch.randn(2, 8, 256, device=device).half() for _ in range(3))
    k = torch.randn(8, 256, device=device)
    learnt = k.clone().requires_grad_()
    if not on_gpu:
        without_gpu(u, k, pregate, postgate)
    conv = danaus_torch.conv
    conv(u, k), conv(u, k, "causal", pregate, postgate)
    rows = [("ctypes: a call without arguments", library.danaus_version),
            ("the implementation, without PyTorch's dispatcher",
             lambda: danaus_torch._conv_cuda(u, k, "causal", None, None)),
            ("torch.ops.danaus.conv", lambda: torch.ops.danaus.conv.default(u, k, "causal", None, None)),
            ("danaus.torch.conv", lambda: conv(u, k)),
            ("danaus.torch.conv, both gates", lambda: conv(u, k, "causal", pregate, postgate)),
            ("danaus.torch.conv, with a gradient to come", lambda: conv(u, learnt))]
    if on_gpu:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            conv(u, k)
        rows += [("the same in a CUDA graph of one call", graph.replay), ("torch.fft", lambda: by_fft(u, k)),
                 ("torch.fft, with a gradient to come", lambda: by_fft(u, learnt))]
    where = torch.cuda.get_device_name() if on_gpu else "no GPU: the library's function does nothing"
    print(f"PyTorch {torch.__version__}, {where}")
    for name, call in rows:
        print(f"{microseconds(call):8.1f}  {name}")


if __name__ == "__main__":
    main()
