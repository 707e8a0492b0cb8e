"""The truth of a case in double, and the library's verdicts on outputs by class of arithmetic (danaus_judge_claim)."""

import json
from ctypes import byref, c_void_p
from dataclasses import dataclass

import numpy as np

from danaus import _arrays
from danaus._library import Claim, check, library, text_of
from danaus.judging.data import half_ulp, round_to
from danaus.plans import call_arrays

# Classes of arithmetic, from the finest on.
CLASSES = ("rounding", "fp32", "fp16", "bf16")
WORDS = {"rounding": "output rounding alone", "fp32": "fp32 inside", "fp16": "16 bits between stages (fp16, TF32)",
         "bf16": "16 bits between stages (bf16)", "none": "no class"}
CLAIMS = ("rounding", "fp32", "16bit")
LOWER = {"rounding": "f32", "fp32": "f16", "fp16": "bf16"}  # the next precision that a class's bound must not take
_DIRECT = 1 << 26  # products up to which the truth is the defining sum


def class_of_claim(claim, dtype):
    """The class that a claim means for samples of a type; None claims the arithmetic of the samples."""
    sixteen = "bf16" if dtype == "bf16" else "fp16"
    if claim is None:
        return {"f64": "rounding", "f32": "fp32"}.get(dtype, sixteen)
    if claim not in CLAIMS:
        raise ValueError(f"judge: claim {claim!r}, must be one of {', '.join(CLAIMS)}")
    return sixteen if claim == "16bit" else "rounding" if dtype == "f64" else claim


def truth(case, values):
    """name -> float64 array of every output, of inputs in float64."""
    exact = case.but(dtype="f64", kf=None, tf32=None)
    outputs = {name: np.empty(extents) for name, (_, extents, _) in exact.outputs.items()}
    method = "definition"
    if case.operation == "fftconv":
        products = case["L"] * case["K"] * case["B"] * case["H"]
        method = "direct" if products <= _DIRECT else "fftw"
    views = _views({**values, **outputs})
    check(library.danaus_compute(exact.token.encode(), method.encode(), call_arrays(views), len(views)))
    return outputs


def _views(arrays):
    return [_arrays.view("judge", name, np.ascontiguousarray(array, np.float64)) for name, array in arrays.items()]


@dataclass
class Verdict:
    """On the output that takes most of its bounds. share: the part of its bound that an error takes, above 1 where it
    fails; text: the row, its error relative to what was summed, and its bound."""
    output: str
    share: float
    text: str

    def __str__(self):
        return self.text


def judge_rows(case, values, outputs, expected, kind, *, results=1, roundings=None, types=None):
    """The Verdict on outputs by arithmetic of a class.

    expected   of the outputs that are judged: the truth, or another result
    results    that differ: 2 where expected is a result itself, whose bounds add up
    types      name -> type of an output, where it may be one of several
    """
    outputs = {name: outputs[name] for name in expected}
    for name, dtype in (types or {}).items():
        if name in expected and dtype != case.outputs[name][0]:
            expected = {**expected, name: nearer(expected[name], outputs[name], half_ulp(outputs[name], dtype))}
    views, others, text = _views({**values, **outputs}), _views(expected), c_void_p()
    claim = Claim(arithmetic=kind.encode(), roundings=roundings or 0, results=results, expected=call_arrays(others),
                  expected_count=len(others))
    check(library.danaus_judge_claim(case.token.encode(), byref(claim), call_arrays(views), len(views), byref(text)))
    verdict = json.loads(text_of(text))
    output, row = verdict.get("output", next(iter(outputs))), verdict["row"]
    share, error = (np.inf if each is None else each for each in (verdict["clearance"], row["error"]))
    return Verdict(output, share, verdict.get("reason") or
                   f"{output} at {row['place']}: error {error:.2g} of what was summed, bound {row['bound']:.2g}")


def nearer(expected, given, slack):
    """What is expected, moved to what is given by so much at most."""
    apart = np.where(np.isfinite(given), given - expected, 0)
    return expected + np.clip(apart, -slack, slack)


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
    return judge_rows(case, values, cast, expected, kind, roundings=roundings).share > 1
