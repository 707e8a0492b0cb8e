"""Candidates for the judge: wrong ones, each by one fault that a kernel has had or may have, and right ones of unusual
style. Each names the operation that it is judged as, and the checks of which one at least must fail."""

import ctypes
import functools
import os
import threading
import time

import numpy as np

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


# Wrong values.

@wrong("fftconv", "values")
def a_tap_off(u, k, mode="causal"):
    return like(u, convolve(u, np.roll(k, 1, -1), mode))


@wrong("fftconv", "values")
def correlates(u, k, mode="causal"):
    return like(u, convolve(u, k[:, ::-1], mode))


@wrong("fftconv_circular", "values")
def wraps_wrong_where_k_exceeds_l(u, k):
    return like(u, convolve(u, k[:, :u.shape[-1]], "circular"))


@wrong("fftconv", "values")
def wraps_though_causal(u, k):
    return like(u, convolve(u, k, "circular"))


@wrong("fftconv", "values")
def drops_the_last_row_of_an_odd_batch(u, k):
    y = like(u, convolve(u, k))
    if len(u) % 2 and len(u) > 1:
        y[-1] = 0
    return y


@wrong("fftconv", "values")
def wrong_filter_from_channel_132_on(u, k):
    return like(u, convolve(u, k[np.arange(len(k)) % 132]))


@wrong("fftconv_f32", "values", "class")
def casts_to_fp16(u, k):
    return like(u, convolve(u.astype(np.float16), k.astype(np.float16)))


@wrong("fftconv_f32", "values", "class")
def casts_to_tf32(u, k):
    def cut(x):
        return (x.view(np.uint32) & np.uint32(0xffffe000)).view(np.float32)
    return like(u, convolve(cut(u), cut(k)))


@wrong("fftconv_f16", "values", "class", claim="fp32")
def casts_the_filter_to_fp16(u, k):
    return like(u, convolve(u, k.astype(np.float16)))


@wrong("fftconv_f64", "values", "class")
def computes_in_fp32(u, k):
    return like(u, convolve(u.astype(np.float32), k.astype(np.float32)))


@wrong("fftconv", "values")
def wrong_where_l_mod_8_is_5(u, k):
    y = like(u, convolve(u, k))
    if u.shape[-1] % 8 == 5:
        y[..., -1] = 0
    return y


@wrong("fftconv_f32", "values", "causality", "impulse")
def leaks_the_future_by_one_sample(u, k):
    x = u.astype(np.float64)
    x[..., :-1] += 1e-4 * x[..., 1:]
    return like(u, convolve(x, k))


@wrong("fftconv", "values")
def zero(u, k):
    return np.zeros_like(u)


@wrong("fftconv", "outputs")
def identity(u, k):
    return u


@wrong("fftconv", "values")
def copies(u, k):
    return u.copy()


@wrong("fftconv", "values")
def scales_by_one_percent(u, k):
    return like(u, 1.01 * convolve(u, k))


@wrong("fftconv", "values")
def leaves_the_last_tile_unwritten(u, k):
    y, whole = np.full_like(u, 7), u.shape[-1] // 64 * 64 or u.shape[-1]
    y[..., :whole] = convolve(u, k)[..., :whole]
    return y


@wrong("fftconv_circular", "values")
def drops_the_highest_frequency(u, k):
    spectrum = np.fft.rfft(convolve(u, k, "circular"))
    spectrum[..., -1] = 0
    return like(u, np.fft.irfft(spectrum, u.shape[-1]) if u.shape[-1] > 1 else convolve(u, k, "circular"))


@wrong("fftconv", "values")
def drops_the_last_tenth_of_the_filter(u, k):
    return like(u, convolve(u, k[:, :max(1, k.shape[1] * 9 // 10)]))


@wrong("fftconv", "values")
def swaps_gates(u, k, pregate=None, postgate=None):
    return like(u, convolve(u, k, "causal", postgate, pregate))


@wrong("fftconv", "values")
def wrong_beyond_2048_samples(u, k):
    y = like(u, convolve(u, k))
    y[..., 2048:] = convolve(u[..., :-1], k)[..., 2047:] if u.shape[-1] > 2048 else y[..., 2048:]
    return y


@wrong("fftconv", "rows")
def knows_the_mean_of_the_batch(u, k):
    return like(u, convolve(u, k) + 0.05 * u.astype(np.float64).mean(0))


@wrong("fftconv", "channels")
def knows_the_mean_of_the_channels(u, k):
    return like(u, convolve(u, k) + 0.05 * u.astype(np.float64).mean(1, keepdims=True))


# Wrong for data that is not ordinary.

@wrong("fftconv_f32", "loudness", "rows")
def packs_pairs_in_fp32(u, k):
    """A quiet row takes the noise of its loud partner."""
    y = convolve(u, k)
    if len(u) > 1:
        pairs = (len(u) // 2) * 2
        loud = np.abs(y[:pairs]).reshape(pairs // 2, 2, *y.shape[1:]).max((1, 3))
        noise = np.repeat(loud, 2, 0)[..., None] * 2.0**-22 * np.cos(np.arange(u.shape[-1]))
        y[:pairs] += noise.reshape(y[:pairs].shape)
    return like(u, y)


@wrong("fftconv", "not_finite")
def packs_pairs_and_spreads_nan(u, k):
    x = u.astype(np.float64)
    y = np.empty_like(x)
    for b in range(0, len(x), 2):
        if b + 1 == len(x):
            y[b] = convolve(x[b:b + 1], k)[0]
        else:
            z = x[b] + 1j * x[b + 1]
            size = z.shape[-1] + k.shape[-1] - 1
            z = np.fft.ifft(np.fft.fft(z, size) * np.fft.fft(k.astype(float), size))[..., :x.shape[-1]]
            y[b], y[b + 1] = z.real, z.imag
            if not np.isfinite(x[b:b + 2]).all():
                y[b:b + 2] = np.nan
            else:  # in exact rows, so that nothing but NaN crosses
                y[b:b + 2] = convolve(x[b:b + 2], k)
    return like(u, y)


@wrong("fftconv", "not_finite")
def swallows_nan(u, k):
    return like(u, convolve(np.nan_to_num(u.astype(np.float64), posinf=0, neginf=0), k))


@wrong("fftconv_f16", "loudness")
def overflows_inside(u, k):
    """Sums of a loud row pass the largest number of fp16 though y is in range."""
    with np.errstate(over="ignore"):
        total = np.abs(u.astype(np.float64)).sum(-1, keepdims=True).astype(np.float16)
    return like(u, convolve(u, k) + np.where(np.isfinite(total), 0, np.nan))


@wrong("fftconv_f32", "loudness")
def flushes_small_numbers(u, k):
    return like(u, convolve(np.where(np.abs(u) < 2.0**-14, 0, u), k))


@wrong("fftconv", "loudness", "linearity")
def clips_outputs(u, k):
    return like(u, np.clip(convolve(u, k), -50, 50))


# Wrong from call to call.

_spectra = {}


@wrong("fftconv", "filters", "repeatability", "values")
def keeps_the_filter_of_a_shape(u, k):
    kept = _spectra.setdefault((u.shape, k.shape), k.copy())
    return like(u, convolve(u, kept))


@wrong("fftconv", "filters", "values")
def keeps_the_filter_of_an_address(u, k):
    kept = _spectra.setdefault((k.ctypes.data, k.shape, u.dtype), k.copy())
    return like(u, convolve(u, kept))


@wrong("fftconv", "finished", "values")
def returns_before_it_is_done(u, k):
    y, right = np.zeros_like(u), like(u, convolve(u, k))

    def work():
        time.sleep(0.04)
        y[...] = right
    threading.Thread(target=work).start()
    return y


@wrong("fftconv_f32", "repeatability")
def sums_in_any_order(u, k):
    order = np.random.default_rng().permutation(k.shape[1])
    y = np.zeros_like(u)
    for tap in order:
        if tap < u.shape[-1]:
            y[..., tap:] += k[:, tap, None].astype(np.float32) * u[..., :u.shape[-1] - tap]
    return y


_buffers = {}


@wrong("fftconv", "finished")
def returns_the_same_buffer(u, k):
    y = _buffers.setdefault((u.shape, u.dtype), np.empty_like(u))
    y[...] = convolve(u, k)
    return y


_scratch = {}


@wrong("fftconv", "threads")
def shares_scratch_between_threads(u, k):
    _scratch["u"] = u
    time.sleep(0.0005)
    return like(u, convolve(_scratch["u"], k)) if _scratch["u"].shape == u.shape else np.zeros_like(u)


_calls = {}


@wrong("fftconv", "repeatability")
def wrong_from_the_fiftieth_call_of_a_shape_on(u, k):
    _calls[u.shape, k.shape] = _calls.get((u.shape, k.shape), 0) + 1
    return like(u, convolve(u, k) * (2 if _calls[u.shape, k.shape] >= 50 else 1))


@wrong("fftconv", "inputs")
def gates_in_place(u, k, pregate=None):
    if pregate is not None:
        u *= pregate
    return like(u, convolve(u, k))


@wrong("fftconv", "views")
def takes_views_for_contiguous(u, k):
    memory = (ctypes.c_char * u.nbytes).from_address(u.ctypes.data)
    return like(u, convolve(np.frombuffer(memory, u.dtype).reshape(u.shape), k))


@wrong("fftconv", "writes")
def writes_one_sample_too_many(u, k, out=None):
    y = np.empty_like(u) if out is None else out
    y[...] = convolve(u, k)
    if out is not None:
        beyond = ctypes.c_uint16.from_address(out.ctypes.data + out.nbytes)
        beyond.value = 1
    return y


# Wrong outputs, errors, ends.

@wrong("fftconv_f32", "outputs")
def returns_double(u, k):
    return convolve(u, k)


@wrong("fftconv", "outputs")
def returns_all_of_the_linear_convolution(u, k):
    return like(u, np.pad(convolve(u, k), ((0, 0), (0, 0), (0, k.shape[1] - 1))))


@wrong("fftconv", "outputs")
def returns_a_list(u, k):
    return convolve(u, k).tolist()


@wrong("fftconv", "raises")
def raises_for_one_row(u, k):
    if len(u) == 1:
        raise IndexError("list index out of range")
    return like(u, convolve(u, k))


@wrong("fftconv", "hangs", limit_s=0.5)
def hangs_for_odd_lengths(u, k):
    while u.shape[-1] % 2:
        time.sleep(0.1)
    return like(u, convolve(u, k))


@wrong("fftconv", "crashes")
def crashes_for_short_rows(u, k):
    if u.shape[-1] < 16:
        os.abort()
    return like(u, convolve(u, k))


@wrong("fftconv", "inputs")
def frees_its_input(u, k):
    y = like(u, convolve(u, k))
    u.resize(0, refcheck=False)
    return y


@wrong("fftconv", "values")
def refuses_everything(u, k):
    raise NotImplementedError("this size")


# Gradients.

def gradients(u, k, dy, pregate=None, postgate=None):
    """du, dk and those of gates of a causal convolution, in double."""
    length, taps = u.shape[-1], k.shape[-1]
    w = 1.0 if pregate is None else pregate.astype(np.float64)
    x, g = u * w, dy.astype(np.float64) * (1.0 if postgate is None else postgate)
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


@wrong("fftconvgrad", "values")
def gradient_without_conjugation(u, k, dy):
    return typed(u, k, [convolve(dy, k), gradients(u, k, dy)[1]])


@wrong("fftconvgrad", "values")
def gradient_of_the_filter_without_the_last_row(u, k, dy):
    return typed(u, k, [gradients(u, k, dy)[0], gradients(u[:-1], k, dy[:-1])[1] if len(u) > 1 else 0 * k])


@wrong("fftconvgrad", "values")
def gradient_of_the_postgate_is_gated(u, k, dy, pregate=None, postgate=None):
    results = gradients(u, k, dy, pregate, postgate)
    if postgate is not None:
        results[-1] = results[-1] * postgate
    return typed(u, k, results)


@wrong("fftconvgrad", "values")
def gradient_of_u_forgets_the_pregate(u, k, dy, pregate=None, postgate=None):
    results = gradients(u, k, dy, pregate, postgate)
    results[0] = gradients(u, k, dy, None, postgate)[0]
    return typed(u, k, results)


@wrong("fftconvgrad_f32", "values", "loudness")
def gradient_of_the_filter_in_fp16(u, k, dy):
    du, dk = gradients(u, k, dy)
    return typed(u, k, [du, sum(gradients(u[b:b + 1], k, dy[b:b + 1])[1].astype(np.float16) for b in range(len(u)))])


# Other operations.

def short(u, k, bias=None, padding="causal", pregate=None, postgate=None):
    ahead = k.shape[1] // 2 if padding == "same" else 0
    x = u.astype(np.float64) * (1 if pregate is None else pregate)
    y = convolve(np.pad(x, ((0, 0), (0, 0), (0, ahead))), k)[..., ahead:]
    y = y if bias is None else y + bias.astype(np.float64)[:, None]
    return y if postgate is None else y * postgate


@wrong("shortconv", "values")
def short_off_by_one_where_taps_are_even(u, k, padding="causal"):
    if padding == "same" and k.shape[1] % 2 == 0:
        return like(u, np.roll(short(u, k, None, padding), 1, -1))
    return like(u, short(u, k, None, padding))


@wrong("shortconv", "values")
def short_bias_behind_the_gate(u, k, bias=None, postgate=None):
    y = short(u, k, None, "causal", None, postgate)
    return like(u, y if bias is None else y + bias[:, None])


def scan(u, a, b, c, x_initial=None):
    x = np.zeros((*u.shape[:2], a.shape[1]), complex) if x_initial is None else x_initial.astype(complex)
    y = np.empty(u.shape)
    for n in range(u.shape[-1]):
        x = a * x + b * u[..., n, None].astype(np.float64)
        y[..., n] = (c * x).sum(-1).real
    return y, x


@wrong("ssmconv", "values")
def state_forgets_its_start(u, a, b, c, x_initial=None):
    return like(u, scan(u, *(each.astype(complex) for each in (a, b, c)))[0])


@wrong("ssmconv", "values")
def state_is_conjugated(u, a, b, c):
    return like(u, scan(u, a.astype(complex).conj(), b.astype(complex), c.astype(complex))[0])


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


@wrong("spectral", "values")
def layer_counts_the_last_frequency_twice(u, w):
    return like(u, layer(u, w, True))


@wrong("spectral", "values")
def layer_mixes_channels_by_the_transpose(u, w):
    return like(u, layer(u, np.swapaxes(w, 0, 1) if w.shape[0] == w.shape[1] else w))


# Right, in a style of their own.

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
