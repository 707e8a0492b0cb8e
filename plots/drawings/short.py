"""Short convolutions by taps and by FFT: predicted rows of danaus model --sweep short, and measured ones."""

import style
import ways
from matplotlib.lines import Line2D
from measurements import device_of, short_name
from results import case_fields

TAPS = "its taps"
PEER = {**style.PAPER, "markersize": 6}
DTYPE = "bf16"
TICKS = [2, 4, 8, 16, 32, 64, 128, 256]


def is_drawn(fields):
    return (fields["dtype"], fields["padding"]) == (DTYPE, "causal") and not (
        fields["channelslast"] or fields["gates"] or fields["bias"])


def by_taps(figure, rows, measured, peers):
    """Time over that of reading u and writing y once, against K, a panel for each L: lines predicted, marks measured."""
    floors = {case_fields(row["case"])["l"]: floor_of(row) for row in rows if is_kernel(row)}
    found = [(fields, times) for fields, times in ways.fields_of(ways.predicted(rows)) if is_drawn(fields)]
    timed = [(fields, methods) for fields, methods in ways.fields_of(ways.measured(measured.rows, rows))
             if is_drawn(fields)]
    device = device_of(rows[0]["profile"])
    lengths = sorted({fields["l"] for fields, _ in found})
    stale = any(row["age"] for _, methods in timed for row in methods.values())
    panels, values = figure.panels(len(lengths), sharey=True), [1]
    for i, (axes, length) in enumerate(zip(panels, lengths)):
        here = sorted(((fields["k"], times) for fields, times in found if fields["l"] == length), key=lambda each: each[0])
        for way in (ways.KERNEL, *ways.FFTS):
            points = [(taps, times[way] / floors[length]) for taps, times in here if way in times]
            if points:
                axes.plot(*zip(*points), color=ways.LOOK[way]["color"])
            values += [ratio for _, ratio in points]
        for fields, methods in timed:
            if fields["l"] == length:
                values += draw_measured(axes, fields, methods)
        others = [peer for fields, _ in found if fields["l"] == length and (peer := peers.forward(fields, device))]
        if others:
            points = [(peer.taps, peer.us / floors[length]) for peer in others]
            axes.plot(*zip(*points), **PEER)
            values += [ratio for _, ratio in points]
        style.floor_line(axes)
        axes.set_xscale("log", base=2)
        axes.set_xticks(TICKS, map(str, TICKS))
        axes.minorticks_off()
        axes.set_xlabel("taps K")
        axes.set_title(f"L = {style.length(length)}, {short_name(device)}", loc="left")
        if i == 0 or figure.is_narrow():
            axes.set_ylabel("time / floor")
    for axes in panels:
        style.plain_log_ticks(axes, values)
    legend(figure, timed, stale)


def draw_measured(axes, fields, methods):
    """The marks of one case; their values."""
    values = []
    for way, row in methods.items():
        if way in ways.LOOK:
            values.append(ways.us(row) / row["floor"]["us"])
            axes.plot(fields["k"], values[-1], **style.measured(ways.LOOK[way], row["age"]))
    return values


def legend(figure, timed, stale):
    names = {ways.KERNEL: TAPS, **ways.FFTS}
    handles = [Line2D([], [], color=ways.LOOK[way]["color"], marker=ways.LOOK[way]["marker"] if timed else None)
               for way in names]
    labels = list(names.values())
    for way, name in ways.UNFUSED.items():
        if any(way in methods for _, methods in timed):
            handles.append(Line2D([], [], linestyle="none", **ways.LOOK[way]))
            labels.append(name)
    handles.append(Line2D([], [], **PEER))
    labels.append("cuDNN, measured")
    style.add_stale(handles, labels, stale)
    figure.legend_for_all(handles, labels, columns=4)


def is_kernel(row):
    return row["model"] == "roofline" and "method" not in row and is_drawn(case_fields(row["case"]))


def floor_of(row):
    """Of u and y alone, which a kernel of few taps moves."""
    return next(resource["us"] for resource in row["resources"] if resource["name"] == "hbm")
