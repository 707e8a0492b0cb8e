"""What holds for any right candidate without a reference: causality, rows and channels by themselves, linearity,
shifts, NaN in its row. Two results are compared by the bounds of both."""

import numpy as np

from danaus.judging.data import make, round_to
from danaus.judging.verdicts import half_ulp, judge_rows, rows_of


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

    def agree(self, values, one, other, text, skip=None, scale=2.0):
        """Rows of two results agree within the bounds of both; returns whether all bits do."""
        verdict = judge_rows(self.case, values, one, other, self.kind, scale=scale, roundings=self.roundings, skip=skip,
                           slack={name: _rounding(other[name], self.case.outputs[name][0]) for name in other})
        if verdict.share > 1:
            raise Broken(f"{text}: {verdict.where} differs by {verdict.error:.2g}, bound {verdict.bound:.2g}",
                         verdict.share)
        same = {name: one[name] == other[name] for name in other}
        if skip is not None:
            same = {name: rows_of(self.case, name, array)[0][~skip[name]] for name, array in same.items()}
        return all(array.all() for array in same.values())


def _rounding(values, dtype):
    return half_ulp(np.where(np.isfinite(values), values, 0), dtype)


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
    skip = {}
    for name in first:
        index = np.indices([extent for _, extent in rows_of(case, name, first[name])[1]])[axis].reshape(-1)
        skip[name] = index != stays
    bits = asked.agree(values, second, first, f"all other {word}s changed, and {word} {stays} with them", skip)
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
    expected = {name: first[name] + second[name] for name in sums}
    slack = {name: _rounding(first[name], case.outputs[name][0]) + _rounding(second[name], case.outputs[name][0])
             for name in sums}
    loud = {**one, "u": np.abs(one["u"]) + np.abs(two["u"])}  # what was summed for either side
    verdict = judge_rows(case, loud, sums, expected, asked.kind, scale=3.0, slack=slack, roundings=asked.roundings)
    if verdict.share > 1:
        raise Broken(f"f(u1 + u2) is not f(u1) + f(u2): {verdict.where} differs by {verdict.error:.2g}, bound "
                     f"{verdict.bound:.2g}", verdict.share)
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
    row = [slice(None)] * values["u"].ndim
    row[batch] = place[batch]
    if not mixed:
        row[channel] = place[channel]
    quiet = {**values, "u": values["u"].copy()}
    quiet["u"][tuple(row)] = 0
    right, reach = asked.call(case, quiet), "from the cause on"
    skip = {}
    for name in right:
        at = np.indices([extent for _, extent in rows_of(case, name, right[name])[1]])
        of_item = at[0].reshape(-1) == place[batch]
        skip[name] = of_item if mixed else of_item & (at[1].reshape(-1) == place[channel])
    for poison in (np.nan, np.inf, -np.inf):
        poisoned = {**values, "u": values["u"].copy()}
        poisoned["u"][tuple(place)] = poison
        outputs = asked.call(case, poisoned)
        asked.agree(values, outputs, right, f"{poison} in a sample of one row reached another row", skip)
        bad = np.flatnonzero(~np.isfinite(outputs["y"][tuple(row)].reshape(-1)))
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
