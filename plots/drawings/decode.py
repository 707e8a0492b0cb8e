"""What a position takes in decoding: rows of danaus decode."""

import style
from matplotlib.lines import Line2D
from measurements import device_of, short_name

METHOD = {"dot": ("all samples before", {"color": style.VERMILION, "marker": "s"}),
          "tiles": ("tiles of doubling size", {"color": style.BLUE, "marker": "o"}),
          "recurrence": ("recurrence", {"color": style.GREEN, "marker": "^"})}


def gpu_of(row):
    """By its short name; of a prediction the one that its profile is of."""
    return short_name(device_of(row["profile"]) if row["source"] == "predicted" else row["device"]["name"])


def by_position(figure, rows):
    """Microseconds of a position against how many came before it, a panel for each GPU: lines predicted, marks
    measured."""
    rows = [row for row in rows if row.get("positions")]
    if not rows:
        return
    gpus = sorted({gpu_of(row) for row in rows})
    ends = [span["to"] for row in rows for span in row["positions"]]
    values = [span["us"] for row in rows for span in row["positions"]]
    for axes, gpu in zip(figure.panels(len(gpus), sharey=True), gpus):
        for row in (row for row in rows if gpu_of(row) == gpu):
            points = [((span["from"] + span["to"]) / 2, span["us"]) for span in row["positions"]]
            look = METHOD[row["method"]][1]
            if row["source"] == "predicted":
                axes.plot(*zip(*points), color=look["color"])
            else:
                axes.plot(*zip(*points), **style.measured(look, row["age"]))
        style.length_axis(axes, [min(ends), max(ends)], every=2, label="position (samples before)")
        axes.set_xlim(min(ends) / 4, max(ends))
        style.plain_log_ticks(axes, values)
        axes.set_title(gpu, loc="left")
        if gpu == gpus[0] or figure.is_narrow():
            axes.set_ylabel("time of a position (us)")
    measured = [row for row in rows if row["source"] == "measured"]
    timed, stale = bool(measured), any(row["age"] for row in measured)
    drawn = [method for method in METHOD if any(row["method"] == method for row in rows)]
    states = sorted({row["states"] for row in rows if "states" in row})
    handles = [Line2D([], [], color=METHOD[method][1]["color"], marker=METHOD[method][1]["marker"] if timed else None)
               for method in drawn]
    labels = [METHOD[method][0] + (f", S={', '.join(map(str, states))}" if method == "recurrence" else "")
              for method in drawn]
    style.add_stale(handles, labels, stale)
    figure.legend_for_all(handles, labels, columns=4)
