"""What the tests of PyTorch's operators share."""

import collections
import contextlib
import unittest
from unittest import mock

import torch
from torch.nn.functional import gelu, sigmoid, silu

import danaus
from danaus._library import Call
from danaus import _tensors, _torch_filter
from danaus._torch_gated import PARTS
from support import direct


def relative(actual, expected):
    """Relative L2 error of tensors of one device, in double."""
    return (torch.linalg.norm(actual.detach().double() - expected) / torch.linalg.norm(expected)).item()


def long_operands(batch=2, channels=3, length=12, taps=12, dtype=torch.float64, gates=2, grad=False):
    generator = torch.Generator().manual_seed(1)

    def draw(*shape, dtype=dtype):
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad)

    sixteen = dtype in (torch.float16, torch.bfloat16)
    u, k = draw(batch, channels, length), draw(channels, taps, dtype=torch.float32 if sixteen else dtype)
    return u, k, *(draw(batch, channels, length) if i < gates else None for i in range(2))


def long_truth(u, k, mode, pregate=None, postgate=None):
    return direct(*(None if x is None or isinstance(x, str) else x.detach().double().numpy() for x in (u, k)), mode,
                  *(None if x is None else x.detach().double().numpy() for x in (pregate, postgate)))


def short_truth(u, k, bias, padding, pregate, postgate, last):
    """y of short_conv by the sum, in double; gradients go through it."""
    u, k, bias, pregate, postgate = (None if x is None else x.double() for x in (u, k, bias, pregate, postgate))
    x = u if pregate is None else u * pregate
    x = x.mT if last else x
    length, ahead = x.shape[2], k.shape[1] // 2 if padding == "same" else 0
    y = torch.zeros_like(x) if bias is None else torch.zeros_like(x) + bias[:, None]
    for tap in range(k.shape[1]):
        first, end = max(0, tap - ahead), min(length, length + tap - ahead)
        if first < end:
            part = k[:, tap, None] * x[..., first - tap + ahead:end - tap + ahead]
            y = y + torch.nn.functional.pad(part, (first, length - end))
    y = y.mT if last else y
    return y if postgate is None else y * postgate


def gated_operands(order=PARTS, batch=2, channels=3, length=12, taps=3, mode="causal", dtype=torch.float64, grad=False,
                   device="cpu"):
    """z, k, taps, bias, skip of gated_conv."""
    generator = torch.Generator().manual_seed(1)

    def draw(*shape, dtype=dtype):
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(device, dtype).requires_grad_(grad)

    of_filter = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    parts, lags = len(order) * channels, 2 * length - 1 if mode == "bidirectional" else length
    return (draw(batch, parts, length), draw(channels, lags, dtype=of_filter),
            draw(parts, taps, dtype=of_filter) if taps else None, draw(parts, dtype=of_filter) if taps else None,
            draw(channels, dtype=of_filter))


def gated_truth(z, k, taps=None, bias=None, skip=None, mode="causal", order=PARTS, interleaved=False,
                gate_activation=None, activation=None):
    """y of gated_conv by the sums, in double; gradients go through it."""
    z, k, taps, bias, skip = (None if x is None else x.double() for x in (z, k, taps, bias, skip))
    z = z if taps is None else short_truth(z, taps, bias, "causal", None, None, False)
    channels, count, length = k.shape[0], len(order), z.shape[2]
    parts = {name: z[:, i::count] if interleaved else z[:, i * channels:(i + 1) * channels]
             for i, name in enumerate(order)}
    words = {"gelu": gelu, "sigmoid": sigmoid, "silu": silu, None: lambda x: x}
    x = parts["u"] * parts.get("pregate", 1)
    lag = torch.arange(length, device=z.device)
    lag = lag[:, None] - lag
    if mode == "circular":
        matrix = k[:, lag % length]
    elif mode == "causal":
        matrix = k[:, lag.clamp(min=0)] * (lag >= 0)
    else:
        matrix = k[:, lag + length - 1]
    y = torch.einsum("hnm,bhm->bhn", matrix, x) + (0 if skip is None else skip[:, None] * x)
    return words[activation](y * words[gate_activation](parts["postgate"]) if "postgate" in parts else y)


class PretendedGpu(unittest.TestCase):
    """What a GPU's tensors go through, with tensors of the CPU and plans that the executor runs."""

    def setUp(self):
        for patch in (mock.patch.object(_tensors, "Plan", lambda token, _: self.plan(token)),
                      mock.patch.object(torch._C, "_cuda_getCurrentRawStream", lambda _: self.stream, create=True),
                      mock.patch.object(torch.cuda, "is_current_stream_capturing", lambda: self.is_capturing),
                      mock.patch.object(torch.cuda, "current_stream", lambda _: self.streams[self.stream]),
                      mock.patch.object(torch.cuda, "synchronize"),
                      mock.patch.object(torch.cuda, "device", contextlib.nullcontext),
                      mock.patch.object(_torch_filter, "record", lambda *of: self.recorded.append(of)),
                      mock.patch.object(_tensors, "_captured", set()),
                      mock.patch.dict(_tensors.plans, clear=True), mock.patch.dict(_tensors.entries, clear=True)):
            patch.start()
            self.addCleanup(patch.stop)
        self.tokens, self.is_capturing, self.stream, self.recorded = [], False, 0, []
        self.streams = collections.defaultdict(mock.Mock)

    @contextlib.contextmanager
    def capturing(self):
        """The current stream is being captured."""
        self.is_capturing = True
        yield
        self.is_capturing = False

    @contextlib.contextmanager
    def on_stream(self, stream):
        """The executor knows the default stream alone: what runs meanwhile is only noted."""
        self.stream = stream
        with self.noted():
            yield
        self.stream = 0

    @contextlib.contextmanager
    def noted(self):
        """Nothing runs; the bytes of what is prepared, as each call has them."""
        sizes = []

        def note(*arguments):
            call = arguments[-1].value
            sizes.append(Call.from_address(call).prepared_bytes)
            return 0

        names = "danaus_prepare", "danaus_execute", "danaus_whole_call"
        with mock.patch.object(_tensors, "library", mock.Mock(**{name: note for name in names})):
            yield sizes

    @contextlib.contextmanager
    def called(self):
        """The names of the library's functions by which tensors go to plans meanwhile."""
        library, names = _tensors.library, []

        def noting(name):
            return lambda *arguments: names.append(name) or getattr(library, name)(*arguments)

        functions = {name: noting(name) for name in ("danaus_prepare", "danaus_execute", "danaus_whole_call")}
        with mock.patch.object(_tensors, "library", mock.Mock(**functions)):
            yield names

    def plan(self, token):
        self.tokens.append(token)
        return danaus.Plan(token)


def memory_taken(call, calls=20, attempts=5):
    """Bytes of the GPU that so many calls take beside PyTorch's memory. Other processes take and free memory too, so the
    least of several attempts counts."""
    taken = []
    for _ in range(attempts):
        torch.cuda.synchronize()
        free, _ = torch.cuda.mem_get_info()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        taken.append(abs(free - torch.cuda.mem_get_info()[0]))
        if taken[-1] == 0:
            break
    return min(taken)
