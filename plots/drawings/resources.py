"""Where the time of a kernel goes: what each resource needs by counted work, over what the clock says."""

import style
from judged import fastest, of_model
from matplotlib.lines import Line2D

MODEL = "counted"
PANELS = {"fp16, circular": {}, "fp16, circular, gated": {"gated": True}, "fp16, causal": {"mode": "causal"},
          "bf16, circular": {"dtype": "bf16"}}
RESOURCE = {"hbm": ("HBM", {"color": style.BLUE, "marker": "o"}),
            "l2": ("L2", {"color": style.SKY, "marker": "v"}),
            "l1": ("L1 and shared memory", {"color": style.GREEN, "marker": "^"}),
            "tensor": ("tensor cores", {"color": style.VERMILION, "marker": "s"}),
            "fma": ("packed and fp32 arithmetic", {"color": style.PURPLE, "marker": "D"}),
            "alu": ("permutes, conversions", {"color": style.ORANGE, "marker": "P"}),
            "issue": ("instruction issue", {"color": style.BLACK, "marker": "x"})}
PREDICTED = {"color": style.GREY, "linewidth": 4, "alpha": 0.45}


def shares(figure, rows):
    """Time of each resource over measured time against N, of the fastest factors of each N; a panel for each type and
    mode."""
    drawn = {name: fastest(rows, "n", **asked) for name, asked in PANELS.items()}
    drawn = {name: points for name, points in drawn.items() if points}
    known = {resource: looks for resource, looks in RESOURCE.items()
             if all(f"{resource}_us" in needed(row) for points in drawn.values() for row in points)}
    stale = any(row["stale"] for points in drawn.values() for row in points)
    for i, (axes, (name, points)) in enumerate(zip(figure.panels(len(drawn), sharey=True), drawn.items())):
        ns = [row["n"] for row in points]
        axes.axhline(1, color=style.BLACK, linewidth=1.2)
        axes.plot(ns, [of_model(row, MODEL)["us"] / row["measured_us"] for row in points], **PREDICTED)
        for resource, (_, look) in known.items():
            share = [needed(row)[f"{resource}_us"] / row["measured_us"] for row in points]
            axes.plot(ns, share, markersize=5, linewidth=1.2, **look)
            old = [(row["n"], value) for row, value in zip(points, share) if row["stale"]]
            if old:
                axes.plot(*zip(*old), **{**look, "linestyle": "none", "markerfacecolor": "white", "markersize": 5})
        style.length_axis(axes, ns, every=2, label="N (samples)")
        axes.set_ylim(bottom=0)
        axes.set_title(name, loc="left")
        if i == 0 or figure.is_narrow():
            axes.set_ylabel("time needed / measured time")
    handles = [Line2D([], [], color=style.BLACK, linewidth=1.2), Line2D([], [], **PREDICTED)]
    handles += [Line2D([], [], **look) for _, look in known.values()]
    labels = ["measured", "predicted by all", *(name for name, _ in known.values())]
    if stale:
        handles.append(Line2D([], [], **style.STALE))
        labels.append("hollow: stale")
    figure.legend_for_all(handles, labels, columns=5)


def needed(row):
    return of_model(row, MODEL)["resources"]
