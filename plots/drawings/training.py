"""Measured rows of danaus bench --sweep step."""

import style
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from measurements import by_device, short_name
from results import case_fields
from tables.training import is_whole_step, parts_of

MODES = ("circular", "causal")
# What is drawn, of which parts of a row.
DRAWN = {"transforms of k and dk": (("filter's transform", "dk's inverse"), style.GREY), "forward": (("forward",), style.BLUE),
         "du and its gates": (("du", "gates' gradients"), style.GREEN),
         "dk: sums over the batch": (("sums over the batch",), style.ORANGE),
         "du and dk at once": (("gradients and sums at once",), style.YELLOW)}
WIDTH = 0.7


def time_by_part(figure, rows, _):
    """Each part of a training step over the floor of the step, one upon the other, against L; a panel for each mode and
    device."""
    steps = {(mode, device): sorted((row for row in own if is_drawn(row, mode)),
                                    key=lambda row: case_fields(row["case"])["l"])
             for mode in MODES for device, own in by_device(rows).items()}
    steps = {kind: those for kind, those in steps.items() if those}
    if not steps:
        return
    for i, (axes, ((mode, device), those)) in enumerate(zip(figure.panels(len(steps), sharey=True), steps.items())):
        for place, row in enumerate(those):
            draw_step(axes, place, row)
        style.floor_line(axes)
        axes.set_xticks(range(len(those)), [style.length(case_fields(row["case"])["l"]) for row in those])
        axes.set_xlabel("L (samples)")
        axes.set_title(f"{mode}, {short_name(device)}", loc="left")
        if i == 0 or figure.is_narrow():
            axes.set_ylabel("time / floor of a step")
    drawn = [name for name in DRAWN if any(name in drawn_parts(row) for those in steps.values() for row in those)]
    handles = [*(Patch(facecolor=DRAWN[name][1]) for name in drawn), Line2D([], [], **WHOLE)]
    labels = [*drawn, "the whole step, one graph"]
    if any(row["age"] for those in steps.values() for row in those):
        handles.append(Patch(facecolor="white", edgecolor=style.GREY, hatch="////"))
        labels.append("hatched: kernels of an earlier revision")
    figure.legend_for_all(handles, labels, columns=3, narrow_columns=1)


WHOLE = {"marker": "_", "linestyle": "none", "color": style.BLACK, "markersize": 16, "markeredgewidth": 2}


def drawn_parts(row):
    """{name of DRAWN: microseconds} of those that the row has."""
    times = parts_of(row)
    summed = {name: sum(times.get(part, 0) for part in parts) for name, (parts, _) in DRAWN.items()}
    return {name: us for name, us in summed.items() if us}


def draw_step(axes, place, row):
    below, floor = 0, row["floor"]["us"]
    for name, us in drawn_parts(row).items():
        axes.bar(place, us / floor, WIDTH, bottom=below, color=DRAWN[name][1], hatch="////" if row["age"] else None,
                 edgecolor="white", linewidth=0.5)
        below += us / floor
    axes.plot(place, row["call_us"]["graph"]["median"] / floor, **WHOLE)


def is_drawn(row, mode):
    if not is_whole_step(row):
        return False
    fields = case_fields(row["case"])
    return (fields["dtype"], fields["mode"], fields["gates"], fields["k"]) == ("f16", mode, [], fields["l"]) and (
        fields["b"], fields["h"]) == (64, 768)
