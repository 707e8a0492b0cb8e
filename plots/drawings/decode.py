"""What a position takes in decoding: rows of danaus decode."""

import style
from matplotlib.lines import Line2D

METHOD = {"dot": ("all samples before", {"color": style.VERMILION, "marker": "s"}),
          "tiles": ("tiles of doubling size", {"color": style.BLUE, "marker": "o"}),
          "recurrence": ("recurrence", {"color": style.GREEN, "marker": "^"})}


def by_position(figure, rows):
    """Microseconds of a position against how many came before it: lines predicted, marks measured."""
    axes = figure.add_subplot()
    values, stale, timed = [], False, False
    for row in rows:
        points = [((span["from"] + span["to"]) / 2, span["us"]) for span in row.get("positions", [])]
        look = METHOD[row["method"]][1]
        values += [us for _, us in points]
        if row["source"] == "predicted":
            axes.plot(*zip(*points), color=look["color"])
        elif points:
            axes.plot(*zip(*points), **style.measured(look, row["stale"]))
            stale, timed = stale or row["stale"], True
    if not values:
        return
    ends = [span["to"] for row in rows for span in row.get("positions", [])]
    style.length_axis(axes, [min(ends), max(ends)], every=2, label="position (samples before)")
    axes.set_xlim(min(ends) / 4, max(ends))
    style.plain_log_ticks(axes, values)
    axes.set_ylabel("time of a position (us)")
    drawn = [method for method in METHOD if any(row["method"] == method for row in rows)]
    states = sorted({row["states"] for row in rows if "states" in row})
    handles = [Line2D([], [], color=METHOD[method][1]["color"], marker=METHOD[method][1]["marker"] if timed else None)
               for method in drawn]
    labels = [METHOD[method][0] + (f", S={', '.join(map(str, states))}" if method == "recurrence" else "")
              for method in drawn]
    if stale:
        handles.append(Line2D([], [], **style.STALE))
        labels.append("hollow: stale")
    figure.legend_for_all(handles, labels, columns=4)
