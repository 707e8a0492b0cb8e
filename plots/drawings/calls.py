"""Whole calls, the filter's transform and the convolution, of measured rows of danaus bench --sweep whole-call."""

import style
from matplotlib.lines import Line2D
from measurements import CUFFT, LONG, at_fft_sizes, left_to_the_plan, length_of, passed, short_name
from results import case_fields

BATCH = {64: {"color": style.BLUE}, 8: {"color": style.GREEN}, 1: {"color": style.ORANGE}}
DTYPE = {"f16": {"marker": "o"}, "bf16": {"marker": "s"}}
PEER = {"marker": "x", "linestyle": "none", "color": style.VERMILION, "markersize": 6, "markeredgewidth": 1.5}
PEER_NAME = "subquadratic-ops"


def over_others(figure, rows, peers):
    """How many times as long cuFFT's fastest call takes, from a CUDA graph too, against L: a row of panels for each
    device, circular and causal; crosses are subquadratic-ops' over ours, of causal fp16 with B=64."""
    cases = {}
    for row in at_fft_sizes(filter(is_drawn, rows)):
        cases.setdefault((row["device"]["name"], row["case"]), {})[row["method"]] = row
    places = {}
    for (device, case), methods in sorted(cases.items()):
        if "kernel" in methods and (call := call_us(methods["kernel"])):
            places.setdefault((device, case_fields(case)["mode"]), []).append((methods, call))
    if not places:
        return
    every, crossed = [1], False
    panels = figure.table_of_panels(list(places), sharey=True)
    for (device, mode), axes in panels.items():
        marks = []
        for methods, call in places[device, mode]:
            row = methods["kernel"]
            fields, n = case_fields(row["case"]), length_of(row)
            look = style.measured({**BATCH[fields["b"]], **DTYPE[fields["dtype"]]}, row["age"]) | {"markersize": 5}
            theirs = [other for name in CUFFT if name in methods and (other := call_us(methods[name]))]
            marks += [(n, min(theirs) / call, look)] if theirs else []
            if (fields["b"], fields["dtype"], mode) == (64, "f16", "causal") and (best := peers.of_name(PEER_NAME, "f16", row)):
                marks.append((n, best.us / call, PEER))
                crossed = True
        style.draw_marks(axes, marks)
        every += [ratio for _, ratio, _ in marks]
        axes.axhline(1, color=style.BLACK, linewidth=1.2)
        style.length_axis(axes, [length_of(methods["kernel"]) for methods, _ in places[device, mode]], every=2,
                          label="L (samples)")
        axes.set_title(f"{short_name(device)}, {mode}, H=768", loc="left")
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("their call's time / ours")
    for axes in panels.values():
        style.plain_log_ticks(axes, every)
    handles = [Line2D([], [], marker="o", linestyle="none", **look) for look in BATCH.values()]
    handles += [Line2D([], [], color=style.GREY, linestyle="none", **look) for look in DTYPE.values()]
    labels = [f"cuFFT, B={batch}" for batch in BATCH] + [style.DTYPE[dtype] for dtype in DTYPE]
    if crossed:
        handles.append(Line2D([], [], **PEER))
        labels.append(f"{PEER_NAME}, B=64")
    style.add_stale(handles, labels, any(methods["kernel"]["age"] for here in places.values() for methods, _ in here))
    figure.legend_for_all(handles, labels, columns=4)


def call_us(row):
    return row.get("call_us", {}).get("graph", {}).get("median")


def is_drawn(row):
    fields = case_fields(row["case"])
    return (passed(row) and left_to_the_plan(row["case"]) and not fields["gates"] and fields["l"] < LONG
            and fields["b"] in BATCH)
