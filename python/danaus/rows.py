"""The commands of the program danaus, in this process: rows as dicts, one for each line that --json would write.

What the fields are stands in experiments/results/schemas/ of the sources; pandas.DataFrame(rows) and
pandas.json_normalize(rows) read them as they are. Wrong words raise ValueError with the program's own line.
"""

import json
import os
import tempfile
import threading
from ctypes import byref, c_char_p, c_int, c_void_p

import numpy as np

from danaus import _arrays
from danaus._library import check, encoded, library, text_of
from danaus._operands import of_host

_PERIOD = 0.1  # seconds between two looks at whether Ctrl-C was pressed


def run(command, *words):
    """Rows of a command by its own options: run("verify", "--case", token, "--method", "kernel").

    The commands are verify, model, what-if, count, factors, memory, list and explore. Ctrl-C ends them between two
    rows.
    """
    return _run(command, words)


def asked(token):
    """What a token asks for, as a dict: {"operation": "fftconv", "dtype": "f16", "mode": "causal", "l": 1024, ...}.

    The names are those of the token's fields (danaus help tokens). A field that the token leaves out is missing. Rows
    have the same as their field "asked".
    """
    text = c_void_p()
    check(library.danaus_case_asked(encoded("asked", "token", str(token)), byref(text)))
    return json.loads(text_of(text))


def _run(command, words, hidden=""):
    """hidden is left out of the rows' words."""
    line = [encoded("run", "word", str(word)) for word in (command, *words)]
    rows, errors, done, stop = [], [], threading.Event(), c_int()

    def work():  # in a thread of its own, so that this one hears Ctrl-C
        try:
            handle = c_void_p()
            check(library.danaus_run((c_char_p * len(line))(*line), len(line), byref(stop), byref(handle)))
            rows.extend(json.loads(row) for row in text_of(handle).replace(hidden, "").splitlines())
        except Exception as error:
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=work, name=f"danaus {command}").start()
    try:
        while not done.wait(_PERIOD):  # not join(): interrupted, Python 3.11 takes the thread for one that has ended
            pass
    except KeyboardInterrupt:
        stop.value = 1
        done.wait()
        raise
    if errors:
        raise errors[0]
    return rows


def _cases(operation, tokens):
    if not tokens:
        raise ValueError(f"{operation}: no case, must be at least one token, as in fftconv_f16_causal_l1024_b64_h768")
    return [word for token in tokens for word in ("--case", token)]


def _options(operation, flags=(), **options):
    """--name value for each option that was given, a list repeats it; of flags --name for True."""
    words = []
    for name, value in options.items():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(each, bool) and name not in flags:
                raise TypeError(f"{operation}: {name}={each}, must be a value; leave it out for the default")
            if each is not None and each is not False:
                words += ["--" + name.replace("_", "-")] + ([] if each is True else [str(each)])
    return words


def verify(*tokens, method=None, data=None, scale=None, filter=None, scaling=None, seed=None):
    """How far each method is from the truth on each case, and its bound: a row for each, "verify" in it.

    method: "fftw", "monarch", "rounded", "kernel" or a list of them (default: all that compute the case); data and
    filter: what u and k are; scale multiplies u; scaling: of the rounding model. danaus.run("list", "data") and so on
    has the words. A row whose error is beyond its bound has row["verify"]["status"] == "failed"; nothing is raised.
    """
    if "recording" in (data if isinstance(data, (list, tuple)) else [data]):
        raise ValueError("verify: data 'recording' is for the program danaus alone, which reads .wav files")
    return run("verify", *_cases("verify", tokens),
               *_options("verify", method=method, data=data, scale=scale, filter=filter, scaling=scaling, seed=seed))


def predict(*tokens, profile=None, model=None, order=None, overlap=None, warp_rate=None, wait=None):
    """The time of each case by the cost models: by Eq. 2 of Fu et al. 2023 (model "eq2") and by a roofline over the
    work that the executor counts ("roofline"), a row for each model and profile.

    profile: a name as in danaus.run("list", "profiles"), a .json file, or a list of them (default: all); order: the
    number of factors of Eq. 2; overlap, warp_rate, wait: of the roofline. Times are in microseconds.
    """
    return run("model", *_cases("predict", tokens),
               *_options("predict", profile=profile, model=model, order=order, overlap=overlap, warp_rate=warp_rate,
                         wait=wait))


def what_if(*tokens, profile=None):
    """The kernel and its predicted time where a block has less shared memory than the profile's device, a row for each
    case and limit; every FFT size without a token."""
    return run("what-if", *(_cases("what_if", tokens) if tokens else []), *_options("what_if", profile=profile))


def count(*tokens, profile=None, blocks=None):
    """The work of the kernel of each case, as the executor counts it: instructions, bytes, bank conflicts.

    profile: whose kernels and multiprocessors are meant (default H200); blocks: that run at once (default: as tuned).
    """
    return run("count", *_cases("count", tokens), *_options("count", profile=profile, blocks=blocks))


def factors(*tokens):
    """The matrices whose product is the DFT of each case, all nonzeros as [row, column, re, im]; N up to 1024."""
    return run("factors", *_cases("factors", tokens))


def memory(*tokens, profile=None):
    """The device memory that each case takes, in bytes."""
    return run("memory", *_cases("memory", tokens), *_options("memory", profile=profile))


def kernels():
    """The kernels that the library knows, a row for each: name, N, factors, fold, type, what it is chosen for."""
    return run("list", "kernels")


def explore(filters="hyena", inputs=None, *, case=None, pattern=None, blocks=None, mask=None, count=None,
            best_above_snr=None, partial=False, measured=None, profile=None, seed=None):
    """What frequency masks would save and what they do to y: a row for each mask. danaus.best() finds the best of them,
    which danaus.conv() takes as its mask.

    filters        [H, K] or [K], an array; or a kind of drawn ones, as danaus.run("list", "data") has them
    inputs         [H, L] or [L], an array that the filters are applied to, or a kind, beside Gaussian noise
    case           its token, without mask and gates (default: fp16, circular, B=64, and as long as the filters)
    pattern        "paper", "grid", "low", "high", "band", "random", "energy", "greedy" or a list of them (default: all
                   that N allows)
    blocks         pieces of each dimension, the most significant first, as (8, 4, 1, 1) or "8x4x1x1"
    mask           [N] of True where a frequency stays, or a list of such
    count          patterns of low, high, band and random (default 64)
    best_above_snr the budget in dB: "energy" and "greedy" go no further; ValueError where nothing keeps it
    partial        in place of masks: filters cut to their first 256, 512, ... taps, as in Table 7 of Fu et al. 2023
    measured       files of rows of danaus bench, to stand beside; profile: whose times are predicted (default H200)
    seed           of random data and patterns

    Of a row: "case" is the token with its mask, "zeros" the share that is removed, "snr_db" of y (absent where nothing
    is lost), "us" and "dense_us" predicted, once kernels skip what is removed.
    """
    for name, kind in (("filters", filters), ("inputs", inputs)):
        if isinstance(kind, str) and (kind == "recording" or kind.endswith(".wav")):
            raise ValueError(f"explore: {name} {kind!r} are for the program danaus alone, which reads .wav files; give "
                             "an array")
    masks = mask if isinstance(mask, (list, tuple)) else [mask]
    with tempfile.TemporaryDirectory() as folder:
        words = _options(
            "explore", flags=("partial",), case=case, filters=_file(folder, "filters", filters),
            inputs=_file(folder, "inputs", inputs), pattern=pattern, blocks=_pieces(blocks),
            mask=[_file(folder, f"mask{i}", each) for i, each in enumerate(masks)], count=count,
            best_above_snr=best_above_snr, partial=partial, measured=measured, profile=profile, seed=seed)
        try:
            return _run("explore", words, os.path.join(folder, ""))
        except ValueError as error:
            raise ValueError(str(error).replace(os.path.join(folder, ""), "")) from None


def _pieces(blocks):
    if blocks is None or isinstance(blocks, str):
        return blocks
    try:
        return "x".join(map(str, blocks))
    except TypeError:
        raise TypeError(f"explore: blocks {blocks!r}, must be pieces of each dimension, as (8, 4, 1, 1)") from None


def _file(folder, name, array):
    """An array as a file that a command reads; what is none, a word, is itself."""
    if array is None or isinstance(array, (str, os.PathLike)):
        return array
    if isinstance(array, np.ndarray) and array.dtype == bool:
        array = array.astype(np.float16)
    view = _arrays.view("explore", name, array)
    values = of_host(view)
    np.save(os.path.join(folder, name), _arrays.doubles(values, "bf16") if view.dtype == "bf16" else values)
    return os.path.join(folder, name + ".npy")


def best(rows, above_snr, cost=lambda row: row["us"]):
    """Of rows of explore() whose SNR is at least so many dB, the one of least cost, by default the fastest; of those as
    cheap, the one that removes most, and of these the one of highest SNR. `danaus explore --best-above-snr` chooses
    the same."""
    def snr(row):
        return row.get("snr_db", float("inf"))

    kept = [row for row in rows if snr(row) >= above_snr]
    if not kept:
        highest = f"; the highest is {max(map(snr, rows)):.1f} dB" if rows else ""
        raise ValueError(f"best: none of {len(rows)} rows has an SNR of {above_snr} dB{highest}")
    return min(kept, key=lambda row: (cost(row), -row.get("zeros", 0), -snr(row)))
