"""The smallest case that still fails, and lines of Python that repeat it."""

import re
import time

import numpy as np

from danaus.judging.calling import POSITIONAL
from danaus.judging.cases import KEYWORDS
from danaus.judging.data import make_within_range
from danaus.judging.properties import PROPERTIES, Broken, Fault, Refused
from danaus.judging.verdicts import truth

MOST_TRIALS, BUDGET_S = 150, 10.0
SIMPLER = ("impulse", "ones", "integers", "plain")
_SMALL = 40  # numbers of all inputs that are printed themselves


def smallest(case, data, fails):
    """The smallest case and the simplest data for which fails(case, data) still holds, by one field at a time."""
    begin, trials = time.perf_counter(), 0

    def still(other, kind):
        nonlocal trials
        if trials >= MOST_TRIALS or time.perf_counter() - begin > BUDGET_S:
            return False
        try:
            other.arrays  # refuses a case that means nothing
        except ValueError:
            return False
        trials += 1
        return fails(other, kind)

    changed = True
    while changed:
        changed = False
        for other in _smaller(case):
            if still(other, data):
                case, changed = other, True
                break
    for kind in SIMPLER:
        if kind == data:
            break
        if still(case, kind):
            return case, kind
    return case, data


def _smaller(case):
    """Cases with one field less: options first, then batch, channels, length and taps."""
    for name in ("pregate", "postgate", "bias", "kf", "initial", "final", "channelslast", "channelmajor", "shared",
                 "complex", "twosided", "adjoint"):
        if case[name]:
            yield case.but(**{name: None})
    for name in ("B", "H", "S", "C", "L", "M", "K"):
        value = case[name]
        if isinstance(value, tuple):
            for axis, each in enumerate(value):
                for less in _less(each):
                    yield case.but(**{name: (*value[:axis], less, *value[axis + 1:])})
        elif value is not None and name in (*case.fields, "K"):
            for less in _less(value):
                other = case.but(**{name: less})
                if name == "L" and "K" in case.fields and case["K"] > less and "mode" in case.fields:
                    yield other.but(K=less)
                yield other


def _less(value):
    """1, then ever closer to the value."""
    seen, step = set(), value
    while step > 0:
        less = max(1, value - step) if step < value else 1
        if less < value and less not in seen:
            seen.add(less)
            yield less
        step //= 2


def import_line(candidate):
    """The line by which another program gets the candidate."""
    if isinstance(candidate, str):
        place, _, name = candidate.rpartition(":")
        module = place[:-3].replace("/", ".").split(".")[-1] if place.endswith(".py") else place
        return f"from {module} import {name}" + ("" if name == "candidate" else " as candidate")
    module, name = getattr(candidate, "__module__", None), getattr(candidate, "__qualname__", "")
    if not name or "<" in name or module in (None, "__main__"):
        return "candidate = ...  # the callable that was judged"
    return f"from {module} import {name} as candidate"


def lines(candidate, case, output, data, seed, arrays, by_autograd=False):
    """At most five lines that show an output that is wrong."""
    inputs, (values, _) = case.inputs, make_within_range(case, data, seed, truth)
    names, token = ", ".join(inputs), case.token
    result = [import_line(candidate), "from danaus import judging"]
    listed = [_listed(array, inputs[name][0]) for name, array in values.items()]
    if sum(array.size for array in values.values()) <= _SMALL and not any(map(case.is_complex, inputs)):
        result.append(f"{names} = judging.arrays({token!r}, {', '.join(listed)}, library={arrays!r})")
    else:
        result.append(f"{names} = judging.inputs({token!r}, data={data!r}, seed={seed}, library={arrays!r})")
    given = [name if name in POSITIONAL else f"{name}={name}" for name in inputs if not by_autograd or name != "dy"]
    given += [f"{word}={value!r}" for word, value in case.keywords(KEYWORDS).items() if value not in (False, "causal")]
    call = f"candidate({', '.join(given)})"
    place = list(case.outputs).index(output)
    if by_autograd:
        leaves = ", ".join(name for name in inputs if name != "dy")
        result.append(f"[each.requires_grad_() for each in ({leaves})], {call}.backward(dy), print({output[1:]}.grad)")
    else:
        result.append(f"print({call}{f'[{place}]' if len(case.outputs) > 1 else ''})")
    result.append(f"print(judging.truth({token!r}, {names})[{output!r}])")
    return result


def _listed(array, dtype):
    """The numbers in brackets, as few digits as their type needs."""
    typed = array.astype({"f16": np.float16, "f64": np.float64}.get(dtype, np.float32))
    text = np.array2string(typed, separator=",", threshold=10**6, max_line_width=10**6, floatmode="unique")
    return re.sub(r"\s+", "", text).replace(".,", ",").replace(".]", "]")


def again(candidate, case, check, seed, **options):
    """Lines that ask for one check of one case."""
    words = "".join(f", {name}={value!r}" for name, value in options.items() if value is not None)
    return [import_line(candidate), "import danaus",
            f"print(danaus.judge(candidate, {case.token!r}, only={check!r}, seed={seed}{words}))"]


def shrunk(judge, check, failure):
    """A failure's smallest case and simplest data, and lines that repeat it."""
    case, data, seed, fault = failure.case, failure.data, failure.seed, failure.fault
    if case is judge.fixed or check == "class":
        return case, data, None
    of_property = check in PROPERTIES and fault is None

    def fails(other, kind):
        try:
            if of_property:
                if kind == "plain" and PROPERTIES[check][1](other):
                    judge.property_of(check)(other, seed)
                return False
            return judge.verdict(other, kind, seed)[0].share > 1 and fault is None
        except Broken:
            return True
        except Refused:
            return False
        except Fault as other_fault:
            return fault is not None and other_fault.reply.check == fault.check

    by_values = check in ("values", "loudness", "impulse", "gradients") or fault is not None
    ended = fault is not None and fault.status in ("hung", "crashed")
    if (of_property or by_values) and not ended and fails(case, data):
        case, data = smallest(case, data, fails)
    return case, data, _repeated(judge, check, failure, case, data, by_values)


def _repeated(judge, check, failure, case, data, by_values):
    asked, seed, is_gradient = judge.asked, failure.seed, "dy" in case.inputs
    only = check if judge.makes(check) and failure.fault is None else "values"
    if str(asked.candidate).endswith(".so"):
        return [f"python -m danaus.judging --library {asked.candidate} {case.token} --seed {seed} --only {only}"]
    if by_values and not asked.device:
        candidate = asked.gradient if is_gradient and judge.takes_gradient else asked.candidate
        output = failure.output if failure.output in case.outputs else next(iter(case.outputs))
        return lines(candidate, case, output, data, seed, asked.arrays,
                     is_gradient and judge.process.gradient == "autograd")
    options = {"arrays": None if asked.arrays == "numpy" else asked.arrays, "claim": asked.claim}
    return again(asked.candidate, case, only, seed, **options)
