"""The truth of a case in double, how far each row of a result may be from it, and which arithmetic it met.

This module alone knows numbers of verdicts. It asks the library for the truth (danaus_compute) and has the bounds of
reference/bounds.cpp and reference/*/conditioning.cpp by row.
"""

from dataclasses import dataclass

import numpy as np

from danaus import _arrays
from danaus._library import check, library
from danaus.judging.data import round_to, state_sizes
from danaus.plans import call_arrays

# Classes of arithmetic, from the finest on: unit roundoff inside, and c of the bound c u sqrt(R).
CLASSES = {"rounding": (2.0**-53, 16), "fp32": (2.0**-24, 8), "fp16": (2.0**-11, 1), "bf16": (2.0**-8, 1)}
WORDS = {"rounding": "output rounding alone", "fp32": "fp32 inside", "fp16": "16 bits between stages (fp16, TF32)",
         "bf16": "16 bits between stages (bf16)", "none": "no class"}
CLAIMS = ("rounding", "fp32", "16bit")
LOWER = {"rounding": "f32", "fp32": "f16", "fp16": "bf16"}  # the next precision that a class's bound must not take
MANTISSA = {"f16": (11, -24), "bf16": (8, -133), "f32": (24, -149), "f64": (53, -1074)}
_DIRECT = 1 << 26  # products up to which the truth is the defining sum


def class_of_claim(claim, dtype):
    """The class that a claim means for samples of a type; None claims the arithmetic of the samples."""
    sixteen = "bf16" if dtype == "bf16" else "fp16"
    if claim is None:
        return {"f64": "rounding", "f32": "fp32"}.get(dtype, sixteen)
    if claim not in CLAIMS:
        raise ValueError(f"judge: claim {claim!r}, must be one of {', '.join(CLAIMS)}")
    return sixteen if claim == "16bit" else "rounding" if dtype == "f64" else claim


# The truth.

def truth(case, values):
    """name -> float64 array of every output, of inputs in float64."""
    if case.operation.startswith("shortconv"):
        return _truth_of_short(case, values)
    return _computed(case, values)


def _computed(case, values):
    exact = case.but(dtype="f64", kf=None, tf32=None)
    outputs = {name: np.empty(extents) for name, (_, extents, _) in exact.outputs.items()}
    views = [_arrays.view("judge", name, np.ascontiguousarray(array))
             for name, array in {**values, **outputs}.items()]
    method = "definition"
    if case.operation == "fftconv":
        products = case["L"] * case["K"] * case["B"] * case["H"]
        method = "direct" if products <= _DIRECT else "fftw"
    check(library.danaus_compute(exact.token.encode(), method.encode(), call_arrays(views), len(views)))
    return outputs


def _truth_of_short(case, values):
    """By the long convolution of the same taps: "same" padding looks ahead, so rows get zeros behind them."""
    last = bool(case["channelslast"])
    ahead = case["K"] // 2 if case["padding"] == "same" else 0
    rows = {name: np.swapaxes(array, 1, 2) if last and array.ndim == 3 else array for name, array in values.items()}
    before = {name: np.pad(rows[name], ((0, 0), (0, 0), (0, ahead))) for name in ("u", "pregate") if name in rows}
    after = {name: np.pad(rows[name], ((0, 0), (0, 0), (ahead, 0))) for name in ("postgate", "dy") if name in rows}
    is_gradient = case.operation.endswith("grad")
    long = case.but("fftconvgrad" if is_gradient else "fftconv", mode="causal", L=case["L"] + ahead)
    outputs = _computed(long, {**before, "k": rows["k"], **after})
    gate = rows.get("postgate", 1.0)
    results = {}
    for name, array in outputs.items():
        if name == "dk":
            results[name] = array
            continue
        array = array[..., :case["L"]] if name in ("du", "dpregate") else array[..., ahead:]
        results[name] = array
    if "bias" in rows:
        if is_gradient:
            results["dbias"] = (gate * rows["dy"]).sum((0, 2))
        bias = rows["bias"][None, :, None]
        if "y" in results:
            results["y"] = results["y"] + gate * bias
        if "dpostgate" in results:
            results["dpostgate"] = results["dpostgate"] + rows["dy"] * bias
    return {name: np.ascontiguousarray(np.swapaxes(array, 1, 2) if last and array.ndim == 3 else array)
            for name, array in results.items()}


# What was summed, by row.

def rows_of(case, name, array):
    """[rows, numbers] of an output: each is judged by itself. Also the names of the rows' indices."""
    batch, channels, samples = case.axes
    if name in ("dk", "dbias"):
        return array.reshape(array.shape[0], -1), [("h", array.shape[0])]
    if name == "dw":
        return array.reshape(array.shape[0] * array.shape[1], -1), [("c_in", array.shape[0]), ("c_out", array.shape[1])]
    if name == "x_final":
        return array.reshape(array.shape[0] * array.shape[1], -1), [("b", array.shape[0]), ("h", array.shape[1])]
    moved = np.moveaxis(array, (batch, channels), (0, 1))
    letter = "c" if case.operation.startswith("spectral") else "h"
    return moved.reshape(moved.shape[0] * moved.shape[1], -1), [("b", moved.shape[0]), (letter, moved.shape[1])]


def _norms(case, array):
    """[B, channels] of an array of samples."""
    rows, ((_, first), (_, second)) = rows_of(case, "y", array)
    return np.sqrt((rows**2).sum(-1)).reshape(first, second)


def summed(case, values):
    """name -> [rows]: the norm that a row of the output would have if nothing cancelled."""
    if case.operation.startswith("spectral"):
        return _summed_of_layer(case, values)
    if case.operation == "ssmconv":
        return _summed_of_states(case, values)
    root = np.sqrt(case["L"])
    k = np.sqrt((values["k"]**2).sum(-1))
    u, before, after = values["u"], values.get("pregate", 1.0), values.get("postgate", 1.0)

    def convolved(rows, gate):  # gate's mean square
        mean = 1.0 if np.ndim(gate) == 0 else _norms(case, gate) / root
        return _norms(case, rows) * k[None] * mean

    norms = {"y": convolved(u * before, after)}
    bias = values.get("bias")
    if bias is not None:
        norms["y"] = np.hypot(norms["y"], np.abs(bias)[None] * (root if np.ndim(after) == 0 else _norms(case, after)))
    if "dy" in values:
        dy, taps = values["dy"], case["K"] / case["L"]
        seen = taps if case["mode"] == "circular" else min(taps, 1.0)
        norms["du"] = convolved(dy * after, before)
        norms["dpregate"], norms["dpostgate"] = convolved(dy * after, u), convolved(u * before, dy)
        if bias is not None:
            norms["dpostgate"] = np.hypot(norms["dpostgate"], np.abs(bias)[None] * _norms(case, dy))
        of_rows = _norms(case, dy * after)
        norms["dk"] = np.sqrt(seen * ((_norms(case, u * before) * of_rows)**2).sum(0))
        norms["dbias"] = np.sqrt((of_rows**2).sum(0))
    return {name: array.reshape(-1) for name, array in norms.items()}


def _summed_of_layer(case, values):
    w, points = values["w"], np.prod(case["L"])
    last, count = case["L"][-1], w.shape[-2] if not case["shared"] else case["M"][-1]
    frequencies = np.arange(count)
    twice = np.where((frequencies == 0) | (2 * frequencies == last), 1, 2) if not case["complex"] else np.ones(count)
    square = (w**2).sum(-1)
    others = _frequencies_of_outer_axes(case)
    kept_twice = (twice**2).sum() * others
    if case["shared"]:
        weights = square * twice.sum() * others
    else:
        weights = (square * twice).reshape(*square.shape[:2], -1).sum(-1)
    weights = weights.T if case["adjoint"] else weights  # [C_in, C_out]
    u = _norms(case, values["u"])**2
    norms = {"y": np.sqrt(u @ weights / points)}
    if "dy" in values:
        dy = _norms(case, values["dy"])**2
        norms["du"] = np.sqrt(dy @ weights.T / points)
        norms["dw"] = np.sqrt(kept_twice * (u.T @ dy)) / points
    return {name: array.reshape(-1) for name, array in norms.items()}


def _frequencies_of_outer_axes(case):
    outer = case["M"][:-1]
    if case["complex"] and case["twosided"]:
        return np.prod([2 * each for each in case["M"]]) / case["M"][-1]
    return np.prod([each * (2 if case["twosided"] else 1) for each in outer]) if outer else 1


def _summed_of_states(case, values):
    a, b, c = values["a"], values["b"], values["c"]
    sizes = state_sizes(a, b, case["L"])  # [H, S]
    u = (values["u"]**2).sum(-1)  # [B, H]
    square = 0.5 * (c**2).sum(-1)
    y = u * (square * sizes**2).sum(-1)
    states = u * case["S"] / case["L"]
    if "x_initial" in values:
        x, decay = (values["x_initial"]**2).sum(-1), (a**2).sum(-1)  # [B, H, S], [H, S]
        left = decay * state_sizes(a, np.stack([np.ones_like(decay), 0 * decay], -1), case["L"])**2
        y = y + (square * left * x).sum(-1)
        states = states + (x / np.maximum(sizes**2, 1e-300) * decay**case["L"]).sum(-1)
    return {"y": np.sqrt(y).reshape(-1), "x_final": np.sqrt(states).reshape(-1)}


# Bounds.

def roundings_of(case):
    """R of a transform of radix 2 there and back: twiddle and sum in each stage, and the product with the spectrum."""
    if case.operation.startswith("shortconv"):
        return 2 + bool(case["pregate"]) + bool(case["postgate"])
    sizes = case["L"] if case.operation.startswith("spectral") else \
        (case["L"] + (case["K"] or case["L"]) - 1 if case["mode"] != "circular" else case["L"],)
    stages = sum(int(np.ceil(np.log2(max(2, size)))) for size in sizes)
    return 4 * stages + 3 + bool(case["pregate"]) + bool(case["postgate"])


def _terms_of(case, name):
    """Products in a sum by definition."""
    if name in ("dk", "dbias"):
        return case["L"] * case["B"]
    if name == "dw":
        return sum(case["L"]) + case["B"]
    if case.operation.startswith("spectral"):
        return sum(case["L"]) + max(case["C"])
    return min(case["K"] or case["L"], case["L"]) if case.operation != "ssmconv" else case["L"] + case["S"]


def bound(case, name, kind, values=None, roundings=None):
    """On the relative L2 error of a row by arithmetic of a class, before the output is rounded to its type: c u
    sqrt(R) by transforms, or u sqrt(K) by a sum of K products in fp32 or double."""
    unit, c = CLASSES[kind]
    by_sum = CLASSES["fp32"][0] if kind in ("fp16", "bf16") else unit
    of_double = 32 * 2.0**-53 * np.sqrt(roundings_of(case))  # of the truth
    limit = c * unit * np.sqrt(roundings or roundings_of(case)) + by_sum * np.sqrt(_terms_of(case, name)) + of_double
    if case.operation == "ssmconv" and values is not None:  # errors of powers of a repeat until they decay
        rest = 1 - np.sqrt((values["a"]**2).sum(-1)).max()
        steps = min(case["L"], 1 / max(rest, 1e-9))
        limit = np.hypot(limit, max(by_sum, unit if kind == "rounding" else 0) * steps)
    return limit


def half_ulp(values, dtype):
    """Half of the distance of numbers of a type near these values: what one rounding may take."""
    digits, least = MANTISSA[dtype]
    exponent = np.frexp(values)[1]
    return np.exp2(np.maximum(exponent - digits, least) - 1.0)


def participation(values):
    """How many numbers of a row [rows, n] carry its energy: (sum x^2)^2 / sum x^4; 1 of a row that is zero."""
    largest = np.abs(values).max(-1, keepdims=True)
    square = (values / np.where(largest > 0, largest, 1))**2
    total, fourth = square.sum(-1), (square**2).sum(-1)
    return np.where(fourth > 0, total**2 / np.where(fourth > 0, fourth, 1), 1)


def excess_of_few(rows):
    """By how much a row of few independent errors may exceed its bound; see reference/bounds.hpp. The fewer of time
    and frequency count: a constant row errs as one number."""
    independent = participation(rows)
    if rows.shape[-1] > 1:
        independent = np.minimum(independent, participation(np.abs(np.fft.rfft(rows))))
    return np.sqrt(1 + 8 / independent)


@dataclass
class RowVerdict:
    """The worst row of an output: error and bound relative to what was summed for the row, their quotient `share`."""
    output: str
    share: float
    error: float
    bound: float
    where: str
    finite: bool = True

    def __str__(self):
        if not self.finite:
            return f"{self.where}: a value is not finite though the truth is"
        return f"{self.where}: error {self.error:.2g} of what was summed, bound {self.bound:.2g}"


def judge_rows(case, values, outputs, expected, kind, *, names=None, scale=1.0, slack=None, roundings=None,
               skip=None, types=None):
    """The worst RowVerdict of outputs against what is expected, by arithmetic of a class.

    scale      of the bound, 2 where both sides are results
    slack      name -> more absolute error that each number may have, beside half a rounding of the output's type
    skip       name -> [rows] True of rows that are not judged
    types      name -> type of an output, where it may be one of several
    """
    sums, worst = summed(case, values), None
    for name, (dtype, _, _) in case.outputs.items():
        if name not in (names or expected):
            continue
        dtype = (types or {}).get(name, dtype)
        right, letters = rows_of(case, name, expected[name])
        given, _ = rows_of(case, name, outputs[name])
        rounding = half_ulp(np.maximum(np.abs(right), np.where(np.isfinite(given), np.abs(given), 0)), dtype)
        if slack is not None:
            rounding = rounding + rows_of(case, name, slack[name])[0]
        if name == "x_final":
            sizes = np.repeat(state_sizes(values["a"], values["b"], case["L"]), 2, -1).reshape(case["H"], -1)
            sizes = np.maximum(np.tile(sizes, (case["B"], 1)), 1e-300)
            right, given, rounding = right / sizes, given / sizes, rounding / sizes
        limit = scale * bound(case, name, kind, values, roundings)
        worst_row = _worst_row(right, given, rounding, sums[name], limit, skip and skip.get(name))
        if worst is None or worst_row[0] > worst.share:
            share, row, error, limit, finite = worst_row
            index = np.unravel_index(row, [extent for _, extent in letters])
            place = ", ".join(f"{letter}={int(at)}" for (letter, _), at in zip(letters, index))
            worst = RowVerdict(name, share, error, limit, f"{name}, {place}", finite)
    return worst


def _worst_row(right, given, rounding, sums, limit, skip):
    """Share of its bound, index, error, bound and whether it is finite, of the worst row [rows, n]."""
    finite = np.isfinite(given).all(-1)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        beyond = np.maximum(np.abs(given - right) - rounding, 0)
        norm = np.sqrt((right**2).sum(-1))
        against, excess = np.maximum(norm, sums), excess_of_few(right)
        count = right.shape[-1]
        error = np.sqrt((beyond**2).sum(-1))
        of_l2 = error / (limit * excess * against)
        largest = np.maximum(np.abs(right).max(-1), against / np.sqrt(count))
        of_largest = beyond.max(-1) / (limit * (1 + np.sqrt(2 * np.log(max(count, 2)))) * excess * largest)
        share = np.where(finite, np.where(error > 0, np.maximum(of_l2, of_largest), 0), np.inf)
        share = np.where(np.isnan(share), np.inf, share)
        if skip is not None:
            share = np.where(skip, 0, share)
        row = int(np.argmax(share))
        relative = error[row] / against[row] if error[row] > 0 else 0.0
    return float(share[row]), row, float(relative), float(limit * excess[row]), bool(finite[row])


def met_class(shares):
    """The finest class whose bound every row keeps; shares: class -> largest share."""
    return next((kind for kind in CLASSES if shares.get(kind, np.inf) <= 1), "none")


def one_precision_lower(case, values, expected, kind, roundings=None):
    """Whether the bound of a class tells a cast of all inputs to the next lower precision from right numbers. None
    where the case has nothing lower or nothing to round."""
    lower = LOWER.get(kind)
    if lower is None:
        return None
    scaled = {name: 3 * round_to(array / 3, lower) if name not in ("a",) else array for name, array in values.items()}
    cast = truth(case, scaled)
    if not all(np.isfinite(array).all() for array in cast.values()):
        return None
    names = [name for name, (dtype, _, _) in case.outputs.items() if name in expected]
    verdict = judge_rows(case, values, cast, expected, kind, names=names, roundings=roundings)
    return verdict.share > 1
