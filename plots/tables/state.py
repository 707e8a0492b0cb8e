"""From which length on a state is cheaper than an FFT."""

import states
import ways
from measurements import BATCH, age_words, scale_of
from report import Table
from results import case_fields
from style import DTYPE, length

COLUMNS = ["L", "state passing, predicted", "fused FFT, predicted", "over it", "state passing, measured", "× floor",
           "fused FFT", "cuFFT, fp32", "cuFFT, 16 bits", "attention", "notes"]


def lengths(rows, measured, attention):
    """A block for each number of states and shape, a line for each length; microseconds. Attention is brought to the
    case's channels, where it has as many rows."""
    predicted, timed = ways.predicted(rows), ways.measured(measured.rows, rows)
    others = states.attention_us(attention)
    lines, heading, crossings = [], None, {}
    for case in sorted(predicted, key=place):
        fields, said, methods = case_fields(case), predicted[case], timed.get(case, {})
        many = "B=64, H=768" if fields["b"] == 64 else "B=1, H=4096"
        here = f"{DTYPE[fields['dtype']]}, S={fields['s']}, {many} or as many channels as fit"
        if here != heading:
            heading = here
            lines.append([heading])
        found, fft = ways.times(methods), said.get("full_fft")
        ratio = fft / said[ways.KERNEL] if fft else None
        if ratio:
            crossings.setdefault((fields["b"], fields["s"]), []).append((fields["l"], ratio > 1))
        kernel = methods.get(ways.KERNEL)
        lines.append([length(fields["l"]), number(said[ways.KERNEL]), number(fft), f"{ratio:.2f}" if ratio else "",
                      number(found.get(ways.KERNEL)),
                      f"{found[ways.KERNEL] / kernel['floor']['us']:.2f}" if kernel else "",
                      *(number(found.get(way)) for way in ("full_fft", "cufft_f32", "cufft_pairs")),
                      number(others[fields["l"]] / scale_of(fields) if fields["b"] == BATCH and fields["l"] in others
                             else None),
                      age_words(methods.values())])
    words = [f"S={states}, B={batch}: {crossing(points)}" for (batch, states), points in sorted(crossings.items())]
    verdict = f"Predicted, where state passing is the sooner way: {'; '.join(words)}."
    measured_times = {case: ways.times(methods) for case, methods in timed.items()}
    for kind, cases in (("predicted", predicted), ("measured", measured_times)):
        found = [line for line in states.crossings(cases, others) if line.startswith("attention")]
        if found:
            verdict += f" Where attention, as measured, takes longer than what is {kind}: {'; '.join(found)}."
    return Table(COLUMNS, lines, verdict=verdict)


def crossing(points):
    """At which lengths it is so, L ascending."""
    spans, begin = [], None
    for (here, wins), after in zip(points, [*points[1:], (None, False)]):
        if wins and begin is None:
            begin = here
        if begin is not None and not after[1]:
            spans.append(f"at {length(begin)}" if begin == here else f"from {length(begin)} to {length(here)}")
            begin = None
    return " and ".join(spans) or "nowhere"


def place(case):
    fields = case_fields(case)
    return -fields["b"], fields["s"], fields["l"], case


def number(value):
    return "" if value is None else f"{value:.{1 if value < 1000 else 0}f}"
