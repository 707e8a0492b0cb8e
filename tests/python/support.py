"""What the tests of the Python package share: data, and the defining sum in double."""

import numpy as np

UNIT_ROUNDOFF = {np.dtype(np.float16): 2.0**-11, np.dtype(np.float32): 2.0**-24, np.dtype(np.float64): 2.0**-53}


def direct(u, k, mode, pregate=None, postgate=None):
    """y [B, H, L] in double by the sum that defines it."""
    u, k = np.asarray(u, np.float64), np.asarray(k, np.float64)
    x = u if pregate is None else u * np.asarray(pregate, np.float64)
    length = x.shape[-1]
    y = np.zeros_like(x)
    for tap in range(k.shape[-1]):
        if mode == "causal" and tap < length:
            y[..., tap:] += k[..., tap, None] * x[..., :length - tap]
        if mode == "circular":
            y += k[..., tap, None] * np.roll(x, tap, -1)
    return y if postgate is None else y * np.asarray(postgate, np.float64)


def relative(actual, expected):
    """Relative L2 error in double; NaN, which is less than no bound, where a value is none."""
    difference = np.asarray(actual, np.float64) - np.asarray(expected, np.float64)
    return np.linalg.norm(difference) / np.linalg.norm(np.asarray(expected, np.float64))


def to_bits(values):
    """bfloat16 as uint16, ties to even."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bits(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
