"""What else a machine does while a candidate runs, and before: other kernels, threads, memory that is not fresh."""

import contextlib
import os
import threading

import numpy as np

_EDGE, _PRODUCTS = 2048, 64  # of matrix products that keep a GPU busy for some milliseconds


def keep_busy(adapter):
    """Enqueues work on the current stream of a device."""
    x = adapter.make(np.zeros((_EDGE, _EDGE)), "f32")
    for _ in range(_PRODUCTS):
        x = x @ x


@contextlib.contextmanager
def load(adapter):
    """Other work at the same time: of a device on a stream of its own, of the host in threads."""
    if adapter.new_stream():
        with adapter.new_stream():
            keep_busy(adapter)
        yield
        return
    ended = threading.Event()

    def work():
        while not ended.is_set():
            sum(range(1000))

    pool = [threading.Thread(target=work) for _ in range(4 + (os.cpu_count() or 1))]
    for thread in pool:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in pool:
            thread.join()


def leave_nan(adapter, arrays):
    """Calls other kernels, and frees memory full of NaN: in the sizes of these arrays, and of arrays of their shapes in
    types of up to 16 bytes. Returns what lies between: while it is there, no two free pieces become one."""
    x = adapter.make(np.full((256, 256), np.nan), "f32")
    x @ x, x.cumsum(0), x.sort()
    left = [adapter.empty(times * int(np.prod(array.shape)), array)
            for array in arrays for times in (1, 2, 4, 8) for _ in range(8)]
    for each in left:
        adapter.spoil(each)
    adapter.synchronize()
    return left[1::2]
