"""Where the time of a kernel goes: what each resource needs by counted work, over what the clock says."""

import style
from evaluation import evaluate, fastest, profiles_of
from matplotlib.lines import Line2D

PANELS = {"fp16, circular": {}, "fp16, causal": {"mode": "causal"}}
MOST = 5  # resources that are drawn: those that come nearest to the measured time
RESOURCE = {"hbm": ("HBM", {"color": style.BLUE, "marker": "o"}),
            "l2": ("L2", {"color": style.SKY, "marker": "v"}),
            "l1": ("L1 and shared memory", {"color": style.GREEN, "marker": "^"}),
            "tensor": ("tensor cores", {"color": style.VERMILION, "marker": "s"}),
            "fma": ("packed and fp32 arithmetic", {"color": style.PURPLE, "marker": "D"}),
            "alu": ("permutes, conversions", {"color": style.ORANGE, "marker": "P"}),
            "issue": ("instruction issue", {"color": style.BLACK, "marker": "x"})}


def shares(figure, rows):
    """Time of each resource over measured time against N, of the fastest factors of each N; a panel for each GPU, type
    and mode."""
    kernels = evaluate(rows).kernels
    drawn = {(profile, name): fastest(kernels, "n", profile=profile, **asked)
             for profile in profiles_of(kernels) for name, asked in PANELS.items()}
    drawn = {place: points for place, points in drawn.items() if points}
    if not drawn:
        return
    every = [kernel for points in drawn.values() for kernel in points]
    nearest = {resource: max(kernel.resources[resource] / kernel.row["measured_us"] for kernel in every)
               for resource in RESOURCE if all(resource in kernel.resources for kernel in every)}
    known = {resource: RESOURCE[resource] for resource in sorted(nearest, key=nearest.get, reverse=True)[:MOST]}
    stale = any(kernel.row["stale"] for points in drawn.values() for kernel in points)
    panels = figure.table_of_panels(list(drawn), sharey=True)
    for (profile, name), points in drawn.items():
        axes = panels[profile, name]
        ns = [kernel.row["n"] for kernel in points]
        style.floor_line(axes, "measured time")
        for resource, (_, look) in known.items():
            share = [kernel.resources[resource] / kernel.row["measured_us"] for kernel in points]
            axes.plot(ns, share, markersize=6, linewidth=1.8, **look)
            old = [(n, value) for n, value, kernel in zip(ns, share, points) if kernel.row["stale"]]
            if old:
                axes.plot(*zip(*old), **{**look, "linestyle": "none", "markerfacecolor": "white", "markersize": 5})
        style.length_axis(axes, ns, every=2, label="N (samples)")
        axes.set_title(f"{profile}, {name}, B=64, H=768", loc="left", fontsize=11)
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("time it needs / measured time")
    axes.set_ylim(0, 1.15)  # of all
    handles = [Line2D([], [], **look) for _, look in known.values()]
    labels = [name for name, _ in known.values()]
    style.add_stale(handles, labels, stale)
    figure.legend_for_all(handles, labels, columns=3)
