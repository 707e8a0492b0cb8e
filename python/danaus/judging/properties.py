"""What holds for any right candidate without a reference: causality, rows and channels by themselves, linearity,
shifts, NaN in its row. Two results are compared by the bounds of both."""

import numpy as np

from danaus.judging.data import half_ulp, make, round_to
from danaus.judging.verdicts import judge_rows, nearer


class Broken(Exception):
    """What does not hold: what was done, and the verdict."""

    def __init__(self, text, share=np.inf, output=None):
        super().__init__(text)
        self.share, self.output = share, output


class Fault(Exception):
    """A candidate raised, hung, crashed or broke a rule of calls."""

    def __init__(self, reply):
        super().__init__(reply.text)
        self.reply = reply


class Refused(Exception):
    """The candidate does not take the case."""


class Asked:
    """A case and how to call the candidate for it; call(case, values) -> outputs by name, or it raises."""

    def __init__(self, case, seed, kind, call, roundings=None):
        self.case, self.seed, self.kind, self.call, self.roundings = case, seed, kind, call, roundings
        self.random = np.random.default_rng([seed, 5])

    def agree(self, values, one, other, text, rows=None, results=2):
        """Two results agree within the bounds of all that differ; returns whether all bits do. rows: name -> index of
        the numbers that are compared."""
        if rows is not None:
            compared = {name: array.copy() for name, array in other.items()}
            for name, index in rows.items():
                compared[name][index] = one[name][index]
            one = compared
        verdict = judge_rows(self.case, values, one, other, self.kind, results=results, roundings=self.roundings)
        if verdict.share > 1:
            raise Broken(f"{text}: {verdict}", verdict.share)
        return all((one[name] == other[name]).all() for name in other)


def _row(case, name, item, channel):
    """The index of an item's channel in an output; None stands for all of them."""
    batch, channels = (0, 1) if name == "x_final" else case.axes[:2]
    index = [slice(None)] * (max(batch, channels) + 1)
    for axis, place in ((batch, item), (channels, channel)):
        if place is not None:
            index[axis] = place
    return tuple(index)


def _level(bits):
    return "in every bit" if bits else "within the bound"


def _along(case, array, samples):
    """An index of some samples of the last axis of samples."""
    index = [slice(None)] * array.ndim
    index[case.axes[2][-1]] = samples
    return tuple(index)


def causality(asked):
    """Samples from m on change; outputs before m do not."""
    case, values = asked.case, make(asked.case, "plain", asked.seed)
    cut = int(asked.random.integers(1, case["L"]))
    other = {name: array.copy() for name, array in values.items()}
    later = _along(case, values["u"], slice(cut, None))
    for name in ("u", "pregate", "postgate"):
        if name in values:
            other[name][later] = round_to(asked.random.standard_normal(values[name][later].shape), case["dtype"])
    first, second = ({"y": asked.call(case, each)["y"].copy()} for each in (values, other))
    first["y"][later] = second["y"][later] = 0
    bits = asked.agree(values, second, first, f"samples from {cut} on changed, and y before {cut} with them")
    return f"y before a change keeps its value {_level(bits)}"


def rows(asked):
    """All rows but one change; this one does not."""
    return _others_change(asked, "row", 0)


def channels(asked):
    """All channels but one change, and their filters; this one does not."""
    return _others_change(asked, "channel", 1)


def _others_change(asked, word, axis):
    case, values = asked.case, make(asked.case, "plain", asked.seed)
    batch, channel, _ = case.axes
    count = values["u"].shape[(batch, channel)[axis]]
    stays = int(asked.random.integers(count))
    other = {}
    for name, array in values.items():
        of = (0 if axis == 1 else None) if name in ("k", "bias", "a", "b", "c", "w") else \
            (0, 1)[axis] if name == "x_initial" else (batch, channel)[axis]
        if of is None or name in ("a", "b", "c", "w"):
            other[name] = array
            continue
        fresh = np.moveaxis(round_to(4 * asked.random.standard_normal(array.shape), case.inputs[name][0]), of, 0)
        fresh[stays] = np.moveaxis(array, of, 0)[stays]
        other[name] = np.ascontiguousarray(np.moveaxis(fresh, 0, of))
    first, second = asked.call(case, values), asked.call(case, other)
    same = {name: _row(case, name, *((None, stays) if axis else (stays, None))) for name in first}
    bits = asked.agree(values, second, first, f"all other {word}s changed, and {word} {stays} with them", same)
    return f"a {word} keeps its value {_level(bits)} when the others change"


def _linear(values):
    """Without what is added or multiplied beside the filter."""
    return {name: 0 * array if name in ("bias", "x_initial") else array for name, array in values.items()}


def linearity(asked):
    """f(u1 + u2) = f(u1) + f(u2) and f(-4 u) = -4 f(u), of small integers, whose sums are exact."""
    case = asked.case
    one = _linear(make(case, "integers", asked.seed))
    two = {**one, "u": asked.random.integers(-4, 5, one["u"].shape).astype(float)}
    both = {**one, "u": one["u"] + two["u"]}
    first, second, sums = (asked.call(case, values) for values in (one, two, both))
    expected = {}
    for name, (dtype, _, _) in case.outputs.items():
        slack = half_ulp(first[name], dtype) + half_ulp(second[name], dtype)
        expected[name] = nearer(first[name] + second[name], sums[name], slack)
    loud = {**one, "u": np.abs(one["u"]) + np.abs(two["u"])}  # what was summed for either side
    asked.agree(loud, sums, expected, "f(u1 + u2) is not f(u1) + f(u2)", results=3)
    scaled = asked.call(case, {**one, "u": -4 * one["u"]})
    bits = asked.agree({**loud, "u": 4 * loud["u"]}, scaled, {name: -4 * array for name, array in first.items()},
                       "f(-4 u) is not -4 f(u)")
    return f"sums within the bound, -4 u {_level(bits)}"


def shift(asked):
    """Shifted samples give shifted outputs; of rows that are not circular, those that stay within the row."""
    case = asked.case
    values = _linear(make(case, "plain", asked.seed))
    values.update({name: np.ones_like(values[name]) for name in ("pregate", "postgate") if name in values})
    axis = case.axes[2][-1]
    length = values["u"].shape[axis]
    circular = case["mode"] == "circular" or case.operation == "spectral"
    margin = case["K"] if case["padding"] == "same" else 0
    by = int(asked.random.integers(1, max(2, (length - 2 * margin) // 2)))
    if not circular:
        values["u"][_along(case, values["u"], slice(length - by - margin, None))] = 0
        values["u"][_along(case, values["u"], slice(0, margin))] = 0
    first = asked.call(case, values)["y"]
    second = asked.call(case, {**values, "u": np.roll(values["u"], by, axis)})["y"]
    expected = np.roll(first, by, axis)
    if not circular and not margin:
        expected[_along(case, expected, slice(0, by))] = 0
    bits = asked.agree(values, {"y": second}, {"y": expected}, f"u shifted by {by} does not give y shifted by {by}")
    return f"a shift of u shifts y {_level(bits)}"


def not_finite(asked):
    """NaN and infinity of one row show in this row alone, and do show."""
    case, values = asked.case, make(asked.case, "plain", asked.seed)
    batch, channel, samples = case.axes
    mixed = case.operation.startswith("spectral")
    place = [int(asked.random.integers(extent)) for extent in values["u"].shape]
    row = _row(case, "u", place[batch], None if mixed else place[channel])
    quiet = {**values, "u": values["u"].copy()}
    quiet["u"][row] = 0
    right, reach = asked.call(case, quiet), "from the cause on"
    others = {name: np.ones(array.shape, bool) for name, array in right.items()}
    for name, mask in others.items():
        mask[_row(case, name, place[batch], None if mixed else place[channel])] = False
    for poison in (np.nan, np.inf, -np.inf):
        poisoned = {**values, "u": values["u"].copy()}
        poisoned["u"][tuple(place)] = poison
        outputs = asked.call(case, poisoned)
        asked.agree(values, outputs, right, f"{poison} in a sample of one row reached another row", others)
        bad = np.flatnonzero(~np.isfinite(outputs["y"][row].reshape(-1)))
        if bad.size == 0:
            raise Broken(f"{poison} in a sample left no trace: its row of y is finite")
        if mixed or bad[0] < place[samples[0]]:
            reach = "anywhere in it"
    return f"NaN and infinity stay in their row, {reach}"


def _points(case):
    return min(case["L"]) if isinstance(case["L"], tuple) else case["L"]


# name -> (property, which cases it is asked of).
PROPERTIES = {
    "causality": (causality, lambda case: case["mode"] == "causal" and case["L"] > 1 or
                  case["padding"] == "causal" and case["L"] > 1 or case.operation == "ssmconv" and case["L"] > 1),
    "rows": (rows, lambda case: case["B"] > 1),
    "channels": (channels, lambda case: not case["C"] and case["H"] > 1),
    "linearity": (linearity, lambda case: True),
    "shift": (shift, lambda case: _points(case) > (2 * case["K"] + 4 if case["padding"] == "same" else 4)),
    "not_finite": (not_finite, lambda case: case["B"] > 1),
}
