"""Wrong candidates for the judge: wrong values, by operation. Each names the checks of which one at least must fail."""

import numpy as np

from judge_candidates import convolve, gradients, layer, like, scan, short, typed, wrong


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


# Gradients.

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

@wrong("shortconv", "values")
def short_off_by_one_where_taps_are_even(u, k, padding="causal"):
    if padding == "same" and k.shape[1] % 2 == 0:
        return like(u, np.roll(short(u, k, None, padding), 1, -1))
    return like(u, short(u, k, None, padding))


@wrong("shortconv", "values")
def short_bias_behind_the_gate(u, k, bias=None, postgate=None):
    y = short(u, k, None, "causal", None, postgate)
    return like(u, y if bias is None else y + bias[:, None])


@wrong("ssmconv", "values")
def state_forgets_its_start(u, a, b, c, x_initial=None):
    return like(u, scan(u, *(each.astype(complex) for each in (a, b, c)))[0])


@wrong("ssmconv", "values")
def state_is_conjugated(u, a, b, c):
    return like(u, scan(u, a.astype(complex).conj(), b.astype(complex), c.astype(complex))[0])


@wrong("spectral", "values")
def layer_counts_the_last_frequency_twice(u, w):
    return like(u, layer(u, w, True))


@wrong("spectral", "values")
def layer_mixes_channels_by_the_transpose(u, w):
    return like(u, layer(u, np.swapaxes(w, 0, 1) if w.shape[0] == w.shape[1] else w))
