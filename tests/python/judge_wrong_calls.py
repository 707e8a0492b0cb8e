"""Wrong candidates for the judge: from call to call, and in what they return, raise or write."""

import ctypes
import os
import threading
import time

import numpy as np

from judge_candidates import convolve, like, wrong


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


@wrong("fftconv", "load", "finished", "values")
def waits_a_fixed_time_for_its_thread(u, k):
    y = np.zeros_like(u)

    def work():
        for _ in range(40):
            time.sleep(0)  # gives way to others
        y[...] = convolve(u, k)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(0.05)
    return y


@wrong("fftconv", "after", "values")
def takes_nan_in_fresh_memory_for_its_own_mark(u, k):
    y = np.empty(u.shape)
    if np.isnan(y).mean() < 0.5:
        y[...] = convolve(u, k)
    return like(u, y)


_results = []


@wrong("fftconv", "memory")
def keeps_every_result(u, k):
    _results.append(like(u, convolve(u, k)))
    return _results[-1].copy()


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
