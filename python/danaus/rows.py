"""The commands of the program danaus, in this process: rows as dicts, one for each line that --json would write.

What the fields are stands in experiments/results/schemas/ of the sources; pandas.DataFrame(rows) and
pandas.json_normalize(rows) read them as they are. Wrong words raise ValueError with the program's own line.
"""

import json
import threading
from ctypes import byref, c_char_p, c_void_p

from danaus._library import check, library, text_of

_PERIOD = 0.1  # seconds between two looks at whether Ctrl-C was pressed


def run(command, *words):
    """Rows of a command by its own options: run("verify", "--case", token, "--method", "kernel").

    The commands are verify, model, what-if, count, factors, memory and list. Ctrl-C ends them between two rows.
    """
    line = [str(word).encode() for word in (command, *words)]
    rows, errors, done = [], [], threading.Event()

    def work():  # in a thread of its own, so that this one hears Ctrl-C
        try:
            handle = c_void_p()
            check(library.danaus_run((c_char_p * len(line))(*line), len(line), byref(handle)))
            rows.extend(json.loads(row) for row in text_of(handle).splitlines())
        except Exception as error:
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=work, name=f"danaus {command}").start()
    try:
        while not done.wait(_PERIOD):  # not join(): interrupted, Python 3.11 takes the thread for one that has ended
            pass
    except KeyboardInterrupt:
        library.danaus_interrupt(1)
        try:
            done.wait()
        finally:
            library.danaus_interrupt(0)
        raise
    if errors:
        raise errors[0]
    return rows


def _cases(operation, tokens):
    if not tokens:
        raise ValueError(f"{operation}: no case, must be at least one token, as in fftconv_f16_causal_l1024_b64_h768")
    return [word for token in tokens for word in ("--case", token)]


def _options(**options):
    """--name value for each option that was given; a list repeats it."""
    words = []
    for name, value in options.items():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if each is not None:
                words += ["--" + name.replace("_", "-"), str(each)]
    return words


def verify(*tokens, method=None, data=None, scale=None, filter=None, scaling=None, seed=None):
    """How far each method is from the truth on each case, and its bound: a row for each, "verify" in it.

    method: "fftw", "monarch", "rounded", "kernel" or a list of them (default: all that compute the case); data and
    filter: what u and k are; scale multiplies u; scaling: of the rounding model. danaus.run("list", "data") and so on
    has the words. A row whose error is beyond its bound has row["verify"]["status"] == "failed"; nothing is raised.
    """
    if data == "recording":
        raise ValueError("verify: data 'recording' is for the program danaus alone, which reads .wav files")
    return run("verify", *_cases("verify", tokens),
               *_options(method=method, data=data, scale=scale, filter=filter, scaling=scaling, seed=seed))


def predict(*tokens, profile=None, model=None, order=None, overlap=None, warp_rate=None):
    """The time of each case by the cost models: by Eq. 2 of Fu et al. 2023 (model "eq2") and by a roofline over the
    work that the executor counts ("roofline"), a row for each model and profile.

    profile: a name as in danaus.run("list", "profiles"), a .json file, or a list of them (default: all); order: the
    number of factors of Eq. 2; overlap, warp_rate: of the roofline. Times are in microseconds.
    """
    return run("model", *_cases("predict", tokens),
               *_options(profile=profile, model=model, order=order, overlap=overlap, warp_rate=warp_rate))


def what_if(*tokens, profile=None):
    """The kernel and its predicted time where a block has less shared memory than the profile's device, a row for each
    case and limit; every FFT size without a token."""
    return run("what-if", *(_cases("what_if", tokens) if tokens else []), *_options(profile=profile))


def count(*tokens, profile=None, blocks=None):
    """The work of the kernel of each case, as the executor counts it: instructions, bytes, bank conflicts.

    profile: whose kernels and multiprocessors are meant (default H200); blocks: that run at once (default: as tuned).
    """
    return run("count", *_cases("count", tokens), *_options(profile=profile, blocks=blocks))


def factors(*tokens):
    """The matrices whose product is the DFT of each case, all nonzeros as [row, column, re, im]; N up to 1024."""
    return run("factors", *_cases("factors", tokens))


def memory(*tokens, profile=None):
    """The device memory that each case takes, in bytes."""
    return run("memory", *_cases("memory", tokens), *_options(profile=profile))


def kernels():
    """The kernels that the library knows, a row for each: name, N, factors, fold, type, what it is chosen for."""
    return run("list", "kernels")
