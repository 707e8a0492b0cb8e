"""Right candidates for the judge, each in a style of its own."""

import functools
import threading

import numpy as np

from judge_candidates import convolve, gradients, layer, like, right, scan, short, typed


@right("fftconv", claim="rounding", samples=1 << 13)
def by_sums_of_taps(u, k, mode="causal", pregate=None, postgate=None):
    x = u.astype(np.float64) * (1 if pregate is None else pregate)
    y = np.zeros_like(x)
    for tap in range(k.shape[1]):
        if mode == "circular":
            y += k[:, tap, None].astype(np.float64) * np.roll(x, tap, -1)
        elif tap < u.shape[-1]:
            y[..., tap:] += k[:, tap, None].astype(np.float64) * x[..., :u.shape[-1] - tap]
    return like(u, y if postgate is None else y * postgate)


@right("fftconv_f32", samples=1 << 12)
def by_toeplitz_products_in_fp32(u, k):
    length = u.shape[-1]
    lag = np.arange(length)[:, None] - np.arange(length)
    matrix = np.where((lag >= 0) & (lag < k.shape[1]), k[:, np.clip(lag, 0, k.shape[1] - 1)], 0).astype(np.float32)
    return np.einsum("hnm,bhm->bhn", matrix, u)


@right("fftconv", claim="rounding")
def by_overlapping_blocks_of_48(u, k):
    x, length, step = u.astype(np.float64), u.shape[-1], 48
    y = np.zeros((*x.shape[:-1], length + k.shape[1] + step))
    size = step + k.shape[1] - 1
    spectrum = np.fft.rfft(k.astype(np.float64), size)
    for begin in range(0, length, step):
        part = x[..., begin:begin + step]
        y[..., begin:begin + size] += np.fft.irfft(np.fft.rfft(part, size) * spectrum, size) if size > 1 else \
            part * k[:, :1]
    return like(u, y[..., :length])


@right("fftconv_f64")
def by_chirps(u, k):
    """Bluestein's transform of any length."""
    def transform(x, size):
        n = np.arange(size)
        chirp = np.exp(-1j * np.pi * (n * n % (2 * size)) / size)
        padded = 1 << (2 * size - 1).bit_length()
        kernel = np.zeros(padded, complex)
        kernel[:size], kernel[padded - size + 1:] = chirp.conj(), chirp[1:][::-1].conj()
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, size - x.shape[-1])]) * chirp
        return np.fft.ifft(np.fft.fft(x, padded) * np.fft.fft(kernel))[..., :size] * chirp
    size = u.shape[-1] + k.shape[1] - 1
    return (transform((transform(u, size) * transform(k, size)).conj(), size).real / size)[..., :u.shape[-1]]


@right("fftconv", claim="rounding", samples=1 << 12)
def by_halves(u, k):
    """Karatsuba's recursion would err more; this one halves the row and adds what the first half leaves."""
    x, k64 = u.astype(np.float64), k.astype(np.float64)

    def solve(x):
        length = x.shape[-1]
        if length <= 32:
            return sum((np.pad(x, ((0, 0), (0, 0), (tap, 0)))[..., :length] * k64[:, tap, None]
                        for tap in range(min(length, k.shape[1]))), np.zeros_like(x))
        half = length // 2
        first, second = solve(x[..., :half]), solve(x[..., half:])
        size = half + length
        left = np.fft.irfft(np.fft.rfft(x[..., :half], size) * np.fft.rfft(k64[:, :length], size), size)
        return np.concatenate([first, second + left[..., half:length]], -1)
    return like(u, solve(x))


@right("fftconv", claim="rounding")
def returns_a_view_that_is_not_contiguous(u, k):
    y = np.empty((*u.shape[::-1][:1], *u.shape[:2]), u.dtype)
    y[...] = np.moveaxis(convolve(u, k), -1, 0)
    return np.moveaxis(y, 0, -1)


@right("fftconv_f32", claim="fp32")
def refuses_all_but_powers_of_two(u, k, mode="causal"):
    if u.shape[-1] & (u.shape[-1] - 1) or k.shape[1] != u.shape[-1]:
        raise NotImplementedError(f"L={u.shape[-1]}, K={k.shape[1]}: must be one power of two")
    return like(u, convolve(u, k, mode))


_kept = {}


@right("fftconv", claim="rounding")
def keeps_spectra_by_their_content(u, k):
    size = u.shape[-1] + k.shape[1] - 1
    key = (k.tobytes(), k.dtype.str, size)
    if key not in _kept:
        _kept[key] = np.fft.fft(k.astype(np.float64), size)
    return like(u, np.fft.ifft(np.fft.fft(u.astype(np.float64), size) * _kept[key]).real[..., :u.shape[-1]])


@right("fftconv", claim="rounding")
def writes_into_out(u, k, out=None):
    y = np.empty_like(u) if out is None else out
    y[...] = convolve(u, k)
    return y


@right("fftconv_f16", claim="16bit")
def rounds_every_stage_to_fp16(u, k):
    """Rows by themselves, each by a power of two, and everything between two transforms rounded to fp16."""
    x, size = u.astype(np.float64), u.shape[-1] + k.shape[1] - 1

    def rounded(z):
        return z.real.astype(np.float16) + 1j * z.imag.astype(np.float16).astype(np.float64)

    def unit(rows):
        return np.exp2(np.floor(np.log2(np.maximum(np.sqrt((rows**2).sum(-1, keepdims=True)), 1e-300))))
    row, taps = unit(x), unit(k.astype(np.float64))
    spectrum = rounded(np.fft.fft(x / row, size) / np.sqrt(size) * 64)
    product = rounded(spectrum * rounded(np.fft.fft(k / taps, size)))
    return like(u, (np.fft.ifft(product) * np.sqrt(size) / 64).real[..., :u.shape[-1]] * row * taps)


@right("fftconv", claim="rounding")
def by_two_threads(u, k):
    y = np.empty(u.shape)
    halves = [threading.Thread(target=functools.partial(np.copyto, y[:, part], convolve(u[:, part], k[part])))
              for part in (slice(0, u.shape[1] // 2), slice(u.shape[1] // 2, None))]
    for half in halves:
        half.start()
    for half in halves:
        half.join()
    return like(u, y)


@right("fftconvgrad", claim="rounding")
def gradients_by_transforms(u, k, dy, pregate=None, postgate=None):
    return typed(u, k, gradients(u, k, dy, pregate, postgate))


@right("shortconv", claim="rounding")
def short_by_transforms(u, k, bias=None, padding="causal", pregate=None, postgate=None):
    return like(u, short(u, k, bias, padding, pregate, postgate))


@right("ssmconv", claim="rounding", samples=1 << 12)
def state_by_a_scan(u, a, b, c, x_initial=None, return_state=False):
    y, x = scan(u, *(each.astype(complex) for each in (a, b, c)), x_initial)
    return (like(u, y), x.astype(a.dtype)) if return_state else like(u, y)


@right("spectral", claim="rounding")
def layer_by_transforms(u, w):
    return like(u, layer(u, w))


@right("ssmconv_f32", samples=1 << 12)
def state_in_fp32(u, a, b, c, x_initial=None, return_state=False):
    x = np.zeros((*u.shape[:2], a.shape[1]), np.complex64) if x_initial is None else x_initial
    y = np.empty_like(u)
    for n in range(u.shape[-1]):
        x = a * x + b * u[..., n, None]
        y[..., n] = (c * x).real.sum(-1)
    return (y, x) if return_state else y


@right("spectral_f32")
def layer_by_matrices_in_fp32(u, w):
    """Every axis by the matrix of its truncated transform; the last one of real samples has half of a spectrum."""
    z = u.astype(np.complex64)
    extents, kept = u.shape[2:], w.shape[2:]
    for axis, (length, count) in enumerate(zip(extents, kept)):
        matrix = np.exp(-2j * np.pi * np.outer(np.arange(count), np.arange(length)) / length).astype(np.complex64)
        z = np.moveaxis(np.tensordot(z, matrix, (2 + axis, 1)), -1, 2 + axis)
    z = np.einsum("bi...,io...->bo...", z, w)
    for axis, (length, count) in enumerate(zip(extents, kept)):
        frequencies = np.arange(count)
        twice = np.where((frequencies == 0) | (2 * frequencies == length), 1, 2) if axis == len(extents) - 1 else 1
        matrix = (twice * np.exp(2j * np.pi * np.outer(np.arange(length), frequencies) / length) / length)
        z = np.moveaxis(np.tensordot(z, matrix.astype(np.complex64), (2 + axis, 1)), -1, 2 + axis)
    return np.ascontiguousarray(z.real)


@right("fftconvgrad_f32", samples=1 << 12)
def gradients_by_sums_in_fp32(u, k, dy):
    du, dk = np.zeros_like(u), np.zeros_like(k)
    for tap in range(min(k.shape[1], u.shape[-1])):
        left = u.shape[-1] - tap
        du[..., :left] += k[:, tap, None] * dy[..., tap:]
        dk[:, tap] = (u[..., :left] * dy[..., tap:]).sum((0, 2))
    return du, dk


@right("shortconv_f32")
def short_by_sums_in_fp32(u, k, bias=None, padding="causal", pregate=None, postgate=None, channels_last=False):
    if channels_last:
        gates = (None if gate is None else gate.swapaxes(1, 2) for gate in (pregate, postgate))
        return short_by_sums_in_fp32(u.swapaxes(1, 2), k, bias, padding, *gates).swapaxes(1, 2)
    x = u if pregate is None else u * pregate
    ahead = k.shape[1] // 2 if padding == "same" else 0
    x = np.pad(x, ((0, 0), (0, 0), (k.shape[1] - 1, ahead)))
    y = np.lib.stride_tricks.sliding_window_view(x, k.shape[1], -1)[..., ahead:, ::-1]
    y = np.einsum("bhnk,hk->bhn", y, k)
    y = y if bias is None else y + bias[:, None]
    return y if postgate is None else y * postgate
