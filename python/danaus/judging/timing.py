"""Times of a candidate beside others: in turns, on buffers that rotate, of results that are right before and after."""

import time

import numpy as np

from danaus.judging import verdicts
from danaus.judging.cases import Case
from danaus.judging.data import make

_SETS = 4  # of inputs, so that a call does not find those of the call before in a cache
_SERIES_S = 0.005  # of calls that one measurement is the mean of


def rows_of_times(judge, tokens):
    """Rows of the report, for each token and method; a method that is wrong has none. The candidate is right here."""
    if tokens is True:
        tokens = [max((case for case, _ in judge.right), key=lambda case: case["B"] * np.prod(case["L"])).token]
    for token in [tokens] if isinstance(tokens, str) else tokens:
        case = Case.parse(token)
        sets = [make(case, "plain", number) for number in range(_SETS)]
        reply = judge.process.ask("timed", extra_s=60, token=token, sets=sets)
        if not reply.ok:
            judge.report.notes.append(f"not timed: {token}: {reply.text}")
            continue
        expected = verdicts.truth(case, sets[0])
        for method, measured in reply["methods"].items():
            kind = judge.kind(case) if method == "candidate" else verdicts.class_of_claim("16bit", case["dtype"])
            shares = [] if method == "copy" else \
                [verdicts.judge_rows(case, sets[0], outputs, expected, kind, roundings=judge.asked.roundings).share
                 for outputs in measured["outputs"]]
            if max(shares, default=0) > 1:
                judge.report.notes.append(f"not timed: {method} of {token}, whose result is wrong")
                continue
            q1, median, q3 = np.percentile(measured["samples_us"], (25, 50, 75))
            judge.report.add("time", "passed", f"{method}, {token}", method=method, case=token, us=float(median),
                             q1_us=float(q1), q3_us=float(q3), device=str(judge.asked.device or "cpu"))


def turns_of(caller, case, sets, turns, budget_s):
    """method -> {"samples_us": one of each turn, "outputs": of the first set, before and after}."""
    arrays = [caller.arrays_of(case, values) for values in sets]
    methods = {"candidate": lambda given: caller.invoke(case, dict(given))}
    methods.update(_others(caller, case))
    results = {}
    for name, method in list(methods.items()):
        try:
            outputs = [method(given) for given in arrays]  # warm
            results[name] = {"samples_us": [], "outputs": [caller.read(outputs[0])] if name != "copy" else []}
        except Exception:
            if name == "candidate":
                raise
            del methods[name]
    begin = time.perf_counter()
    for turn in range(turns):
        for name, method in methods.items():
            results[name]["samples_us"].append(_series(caller, method, arrays))
        if turn >= 2 and time.perf_counter() - begin > budget_s:
            break
    for name, method in methods.items():
        if name != "copy":
            results[name]["outputs"].append(caller.read(method(arrays[0])))
    return {"methods": results}


def _series(caller, method, arrays):
    """Microseconds of a call, the mean of a short series."""
    adapter = caller.adapter
    if str(adapter.device).startswith("cuda") and adapter.name == "torch":
        return _by_events(adapter.torch.cuda, method, arrays)
    begin, calls = time.perf_counter(), 0
    while calls < len(arrays) or time.perf_counter() - begin < _SERIES_S:
        method(arrays[calls % len(arrays)])
        calls += 1
    adapter.synchronize()
    return (time.perf_counter() - begin) * 1e6 / calls


def _by_events(cuda, method, arrays):
    first, last = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    cuda.synchronize()
    first.record()
    for _ in range(10):
        for given in arrays:
            method(given)
    last.record()
    cuda.synchronize()
    return first.elapsed_time(last) * 1e3 / (10 * len(arrays))


def _others(caller, case):
    """Methods beside the candidate: the copy of u, transforms of the arrays' library, and ours."""
    adapter = caller.adapter
    methods = {"copy": (lambda given: {"y": given["u"].clone()}) if adapter.name == "torch" else
               (lambda given: {"y": given["u"].copy()})}
    if case.operation == "fftconv" and "dy" not in case.inputs:
        methods[f"{adapter.name}.fft"] = lambda given: {"y": _by_transform(adapter, case, given)}
    ours = _ours(adapter, case)
    if ours:
        methods["danaus"] = lambda given: {"y": ours(given)}
    return methods


def _by_transform(adapter, case, given):
    u, k = given["u"], given["k"]
    x = u * given["pregate"] if "pregate" in given else u
    length, taps = u.shape[-1], k.shape[-1]
    if adapter.name == "torch":
        fft, half = adapter.torch.fft, case["dtype"] in ("f16", "bf16")
        x, k = (x.float(), k.float()) if half else (x, k)
    else:
        fft = np.fft if adapter.name == "numpy" else adapter.cupy.fft
    size = length if case["mode"] == "circular" else length + taps - 1
    if taps > size:
        raise ValueError("the filter is longer than the row")
    y = fft.irfft(fft.rfft(x, n=size) * fft.rfft(k, n=size), n=size)[..., :length]
    y = y * given["postgate"] if "postgate" in given else y
    return y.to(u.dtype) if adapter.name == "torch" else y.astype(u.dtype)


def _ours(adapter, case):
    if case.operation not in ("fftconv", "shortconv") or adapter.name == "cupy":
        return None
    if adapter.name == "torch":
        import danaus.torch as functions
    else:
        import danaus as functions
    options = {name: bool(case["channelslast"]) for name in ("channels_last",) if case["channelslast"]}
    word = {"mode": case["mode"]} if case.operation == "fftconv" else {"padding": case["padding"]}
    function = functions.conv if case.operation == "fftconv" else functions.short_conv
    return lambda given: function(**given, **word, **options)
