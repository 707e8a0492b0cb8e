"""Several ways to compute the same: what each takes of a case, predicted and measured, and which is soonest."""

import math

import style
from measurements import of_profiles, us
from results import case_fields

KERNEL = "kernel"  # of a predicted row that names no method

# How a way is drawn and called, in order.
LOOK = {KERNEL: {"color": style.BLUE, "marker": "o"}, "chunked_fft": {"color": style.GREEN, "marker": "s"},
        "full_fft": {"color": style.ORANGE, "marker": "^"}, "cufft_f32": {"color": style.GREY, "marker": "D"},
        "cufft_pairs": {"color": style.PURPLE, "marker": "v"}}
FFTS = {"chunked_fft": "FFT of pieces of rows", "full_fft": "FFT of whole rows"}
UNFUSED = {"cufft_f32": "cuFFT, fp32", "cufft_pairs": "cuFFT, 16 bits"}


def predicted(rows):
    """{case: {way: microseconds}} of rows of danaus model."""
    return by_case((row["case"], row.get("method", KERNEL), row["total_us"]) for row in rows if row["model"] == "roofline")


def measured(rows, said):
    """{case: {way: row}} of rows of danaus bench, on the devices that predicted rows are about."""
    return by_case((row["case"], row["method"], row) for row in of_profiles(rows, said))


def by_case(entries):
    found = {}
    for case, way, value in entries:
        found.setdefault(case, {})[way] = value
    return found


def times(methods):
    """{way: microseconds} of measured rows."""
    return {way: us(row) for way, row in methods.items()}


def soonest(times, ways=tuple(LOOK)):
    """The way that takes least of those that there are; None where there is none."""
    known = [way for way in ways if way in times]
    return min(known, key=times.get) if known else None


def fields_of(found):
    """(fields, times) of every case of predicted() or measured(), in the order of their cases."""
    return [(case_fields(case), times) for case, times in found.items()]


def crossings(one, other):
    """Where one takes longer than the other: [(from, to)], of lengths that both have, {length: time}. What lies between
    two lengths is along straight lines of logarithms; None for an end where it goes on."""
    spans, before = [], None
    for length in sorted(set(one) & set(other)):
        ratio = math.log(one[length] / other[length])
        if ratio > 0 and (before is None or before[1] <= 0):
            spans.append((None if before is None else between(before, (length, ratio)), None))
        elif ratio <= 0 and before is not None and before[1] > 0:
            spans[-1] = (spans[-1][0], between(before, (length, ratio)))
        before = length, ratio
    return spans


def between(before, after):
    """Where the ratio passes through 0."""
    share = before[1] / (before[1] - after[1])
    return before[0] * (after[0] / before[0]) ** share


def crossing_words(spans):
    """at every length; at none; above 1.5K; up to 900 and above 20K."""
    def words(begin, end):
        if begin is None:
            return "at every length" if end is None else f"up to {near(end)}"
        if end is None:
            return f"above {near(begin)}"
        return f"at {near(begin)}" if near(begin) == near(end) else f"from {near(begin)} to {near(end)}"
    return " and ".join(words(*span) for span in spans) or "at no length"


def near(n):
    """900, and to two digits 1.5K, 64K, 1.2M."""
    for unit, suffix in ((1 << 20, "M"), (1 << 10, "K")):
        if n >= 0.995 * unit:
            return f"{float(f'{n / unit:.2g}'):g}{suffix}"
    return f"{n:.0f}"
