"""What a call costs on the host, in microseconds: the least of several series of calls that nobody waits for.

  PYTHONPATH=BUILD/python PYTHON python/tools/host_cost.py [--json FILE]

Rows are short, so that a GPU is done with each call before the next one is asked for. Without a GPU tensors are the
CPU's and the library's functions do nothing: what is left is Python, ctypes and PyTorch's dispatcher, by which two
versions of the package can be compared; such rows are of no use to others.
"""

import argparse
import ctypes
import datetime
import json
import timeit
from pathlib import Path

import torch

import danaus
from danaus import _tensors, _torch_filter, _torch_short
from danaus import torch as danaus_torch
from danaus._library import library

CALLS, SERIES = 50, 200  # short series, of which some are not interrupted
NO_GPU = "no GPU: the library's functions do nothing"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="append a row for each call")
    options = parser.parse_args()
    built = danaus.run("list", "methods")[0]
    on_gpu = danaus.device_count() > 0 and torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    u, pregate, postgate = (torch.randn(2, 8, 256, device=device).half() for _ in range(3))
    k = torch.randn(8, 256, device=device)
    if not on_gpu:
        pretend()
    where = torch.cuda.get_device_name() if on_gpu else NO_GPU
    print(f"PyTorch {torch.__version__}, {where}")
    for name, call in calls(u, k, pregate, postgate, on_gpu).items():
        cost = microseconds(call)
        print(f"{cost:8.1f}  {name}", flush=True)
        if options.json:
            row = {"schema": 1, "kind": "host_cost", "date": datetime.date.today().isoformat(), "git": built["git"],
                   "dirty": built["dirty"], "torch": torch.__version__, "device": {"name": where}, "call": name,
                   "us": round(cost, 2)}
            with open(options.json, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def calls(u, k, pregate, postgate, on_gpu):
    """What is timed, by what a table calls it."""
    conv, taps = danaus_torch.conv, k[:, :4].to(u.dtype)
    weights = taps.flip(1)[:, None].contiguous()
    learnt, learnt_taps, learnt_weights = (x.clone().requires_grad_() for x in (k, taps, weights))
    kept, dy = danaus_torch.Filter(k), torch.ones_like(u)

    def trained(convolve, filters):
        return lambda: convolve(u, filters).backward(dy)

    def gated(u, k):
        return conv(u, k, "causal", pregate, postgate)

    def short_of_pytorch(u, weights):
        return torch.nn.functional.conv1d(u, weights, padding=3, groups=8)[..., :u.shape[-1]]

    found = {"ctypes: a call without arguments": library.danaus_version,
             "danaus.torch.conv": lambda: conv(u, k),
             "danaus.torch.conv, both gates": lambda: gated(u, k),
             "danaus.torch.conv of a Filter": lambda: conv(u, kept),
             "torch.ops.danaus.conv, by the dispatcher":
                 lambda: torch.ops.danaus.conv.default(u, k, "causal", None, None),
             "danaus.torch.conv, a gradient to come": lambda: conv(u, learnt),
             "danaus.torch.conv, and its backward()": trained(conv, learnt),
             "danaus.torch.conv, both gates, and its backward()": trained(gated, learnt),
             "danaus.torch.short_conv": lambda: danaus_torch.short_conv(u, taps),
             "danaus.torch.short_conv, and its backward()": trained(danaus_torch.short_conv, learnt_taps)}
    if on_gpu:
        gated(u, k)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            gated(u, k)
        found["a CUDA graph of one call"] = graph.replay
    found["torch.fft"] = lambda: by_fft(u, k)
    found["torch.fft, both gates"] = lambda: postgate * by_fft(pregate * u, k)
    found["torch.fft, a gradient to come"] = lambda: by_fft(u, learnt)
    found["torch.fft, and its backward()"] = trained(by_fft, learnt)
    found["torch.nn.functional.conv1d, causal"] = lambda: short_of_pytorch(u, weights)
    found["torch.nn.functional.conv1d, causal, and its backward()"] = trained(short_of_pytorch, learnt_weights)
    return found


def by_fft(u, k):
    """What it takes the place of, the filter's transform included."""
    length, points = u.shape[-1], 2 * u.shape[-1]
    y = torch.fft.irfft(torch.fft.rfft(u.float(), points) * torch.fft.rfft(k, points), points)[..., :length]
    return y.to(u.dtype)


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


# Without a GPU: its path with the CPU's tensors, and nothing at its end.

class Nothing:
    """In place of the library, functions that take a call's arguments and look at none; and of a stream."""
    _take = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    danaus_whole_call = _take(("danaus_device_count", library))
    danaus_prepare = _take(("danaus_device_count", library))
    danaus_execute = _take(("danaus_device_count", library))
    synchronize = staticmethod(lambda: None)


class NoPlan:
    handle, layout = ctypes.c_void_p(1), "none"

    def bytes(self, batch):
        return {"prepared": 8192, "workspace": 0}


def pretend():
    _tensors.library = Nothing
    _tensors.Plan = lambda token, device: NoPlan()
    torch._C._cuda_getCurrentRawStream = lambda device: 0
    torch.cuda.current_stream = lambda device: Nothing
    torch.cuda.is_current_stream_capturing = lambda: False
    _torch_filter.record = lambda tensor, stream: None
    for module, name in ((danaus_torch, "conv"), (_torch_short, "short_conv")):
        for operator in (name, name + "_backward"):
            _tensors.operators.impl(operator, getattr(module, f"_{operator}_cuda"), "CPU", allow_override=True)
    torch.Tensor.is_cuda = True


if __name__ == "__main__":
    main()
