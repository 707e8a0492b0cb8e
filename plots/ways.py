"""Several ways to compute the same: what each takes of a case, predicted and measured, and which is soonest."""

import style
from measurements import us
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


def measured(rows):
    """{case: {way: row}} of rows of danaus bench."""
    return by_case((row["case"], row["method"], row) for row in rows)


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
