"""The same convolution in Triton. A program computes a block of one row's samples:

  python -m danaus.judging conv_triton.py:convolution fftconv_causal --arrays torch --device cuda

Triton's interpreter runs it on a CPU. It takes one thread at a time:

  TRITON_INTERPRET=1 python -m danaus.judging conv_triton.py:convolution fftconv_causal --arrays torch --without threads
"""

import torch
import triton
import triton.language as tl

SAMPLES, TAPS = 64, 64  # of a block


@triton.jit
def convolve(u, k, y, channels, length, taps, SAMPLES: tl.constexpr, TAPS: tl.constexpr):
    row, first = tl.program_id(0).to(tl.int64), tl.program_id(1) * SAMPLES
    n = first + tl.arange(0, SAMPLES)
    total = tl.zeros([SAMPLES], tl.float32)
    for begin in range(0, tl.minimum(taps, first + SAMPLES), TAPS):
        tap = begin + tl.arange(0, TAPS)
        at = n[:, None] - tap[None, :]
        x = tl.load(u + row * length + at, mask=(at >= 0) & (at < length), other=0).to(tl.float32)
        weight = tl.load(k + row % channels * taps + tap, mask=tap < taps, other=0).to(tl.float32)
        total += tl.sum(x * weight[None, :], 1)
    tl.store(y + row * length + n, total.to(y.dtype.element_ty), mask=n < length)


def convolution(u, k):
    if u.dtype == torch.float64:
        raise NotImplementedError("sums are in fp32")
    u, k, y = u.contiguous(), k.contiguous(), torch.empty_like(u, memory_format=torch.contiguous_format)
    batch, channels, length = u.shape
    grid = (batch * channels, triton.cdiv(length, SAMPLES))
    convolve[grid](u, k, y, channels, length, k.shape[1], SAMPLES, TAPS)
    return y
