"""Candidates for the judge: their registry, and what is right, in double.

judge_wrong.py and judge_wrong_calls.py have wrong ones, each by one fault that a kernel has had or may have;
judge_right.py has right ones of unusual style.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]

WRONG, RIGHT = {}, {}


def wrong(operation, *checks, **options):
    """A function that must fail one of these checks."""
    def register(function):
        WRONG[function.__name__] = (function, operation, checks, options)
        return function
    return register


def right(operation, **options):
    def register(function):
        RIGHT[function.__name__] = (function, operation, options)
        return function
    return register


def period(k, length):
    """The taps [H, K] at indices modulo the length, [H, L]."""
    folded = np.zeros((k.shape[0], length))
    for tap in range(k.shape[1]):
        folded[:, tap % length] += k[:, tap]
    return folded


def convolve(u, k, mode="causal", pregate=None, postgate=None):
    """y in double: the right answer."""
    x, k = u.astype(np.float64), k.astype(np.float64)
    if pregate is not None:
        x = x * pregate
    length, taps = x.shape[-1], k.shape[-1]
    if mode == "circular":
        y = np.fft.ifft(np.fft.fft(x) * np.fft.fft(period(k, length))).real
    else:
        size = length + taps - 1
        y = np.fft.ifft(np.fft.fft(x, size) * np.fft.fft(k, size)).real[..., :length]
    return y if postgate is None else y * postgate


def like(u, y):
    return y.astype(u.dtype)


def gradients(u, k, dy, pregate=None, postgate=None):
    """du, dk and those of gates of a causal convolution, in double."""
    length, taps = u.shape[-1], k.shape[-1]
    w = 1.0 if pregate is None else pregate.astype(np.float64)
    x, g = u.astype(np.float64) * w, dy.astype(np.float64) * (1.0 if postgate is None else postgate)
    size = length + taps - 1
    spectrum = np.fft.fft(g, size)
    back = np.fft.ifft(spectrum * np.fft.fft(k.astype(float), size).conj()).real[..., :length]
    dk = np.fft.ifft((spectrum * np.fft.fft(x, size).conj()).sum(0)).real[:, :taps]
    results = [back * w, dk]
    if pregate is not None:
        results.append(back * u)
    if postgate is not None:
        results.append(dy * convolve(u, k, "causal", pregate))
    return results


def typed(u, k, results):
    wide = np.float64 if u.dtype == np.float64 else np.float32
    return tuple(each.astype(wide if i == 1 else u.dtype) for i, each in enumerate(results))


def short(u, k, bias=None, padding="causal", pregate=None, postgate=None):
    ahead = k.shape[1] // 2 if padding == "same" else 0
    x = u.astype(np.float64) * (1 if pregate is None else pregate)
    y = convolve(np.pad(x, ((0, 0), (0, 0), (0, ahead))), k)[..., ahead:]
    y = y if bias is None else y + bias.astype(np.float64)[:, None]
    return y if postgate is None else y * postgate


def scan(u, a, b, c, x_initial=None):
    x = np.zeros((*u.shape[:2], a.shape[1]), complex) if x_initial is None else x_initial.astype(complex)
    y = np.empty(u.shape)
    for n in range(u.shape[-1]):
        x = a * x + b * u[..., n, None].astype(np.float64)
        y[..., n] = (c * x).sum(-1).real
    return y, x


def layer(u, w, twice=False):
    """A spectral layer of one or two axes of real samples."""
    axes = tuple(range(2, u.ndim))
    spectrum = np.fft.rfftn(u.astype(np.float64), axes=axes)
    kept = (slice(None), slice(None), *(slice(0, each) for each in w.shape[2:]))
    mixed = np.zeros((len(u), w.shape[1], *spectrum.shape[2:]), complex)
    mixed[kept] = np.einsum("bi...,io...->bo...", spectrum[kept], w.astype(complex))
    if twice:
        mixed[(..., w.shape[-1] - 1)] *= 2
    return np.fft.irfftn(mixed, u.shape[2:], axes=axes)


def valid(rows):
    """Raises where a row is not as its schema says; needs jsonschema."""
    if importlib.util.find_spec("jsonschema") is None:
        return
    import jsonschema
    for row in rows:
        schema = json.loads((ROOT / f"experiments/results/schemas/{row['kind']}.schema.json").read_text())
        jsonschema.validate(json.loads(json.dumps(row)), schema)
