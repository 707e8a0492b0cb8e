"""What less shared memory would cost."""

import style
from matplotlib.lines import Line2D
from what_ifs import by_class, place

LOOK = {227: {"color": style.BLUE, "marker": "o", "linestyle": "-"},
        163: {"color": style.ORANGE, "marker": "s", "linestyle": "--"},
        99: {"color": style.GREEN, "marker": "^", "linestyle": "-."}}
DEVICES = {227: "H100, H200", 163: "A100", 99: "RTX"}


def shared_memory(figure, rows):
    """Predicted time over that with the most shared memory, against N: a panel for each mode, a line for each class."""
    modes = {}
    for row in rows:
        modes.setdefault(place(row), []).append(row)
    ratios = [0.97, 1.05]
    panels = figure.panels(len(modes), sharey=True)
    for axes, (name, group) in zip(panels, modes.items()):
        classes = by_class(group)
        most = max(classes)
        whole = {row["n"]: row["us"] for row in classes[most] if row["us"] is not None}
        for kilobytes, line in classes.items():
            fits = [(row["n"], row["us"] / whole[row["n"]]) for row in line if row["us"] and row["n"] in whole]
            ratios += [ratio for _, ratio in fits]
            axes.plot(*zip(*fits), **LOOK[kilobytes])
        misses = [(row["n"], kilobytes) for kilobytes, line in classes.items() for row in line if row["us"] is None]
        for n, kilobytes in misses:
            height = 0.96 - 0.05 * sorted(classes, reverse=True).index(kilobytes)
            axes.plot(n, height, transform=axes.get_xaxis_transform(), marker="X", markersize=9, linestyle="none",
                      color=LOOK[kilobytes]["color"], markeredgecolor=style.BLACK, markeredgewidth=0.7, clip_on=False)
        style.length_axis(axes, [row["n"] for row in group], every=2)
        axes.set_title(name, loc="left")
        if axes is panels[0] or figure.is_narrow():
            axes.set_ylabel("predicted time / that with 227 KB")
    panels[0].set_ylim(min(ratios) - 0.03, max(ratios) + 0.25 * (max(ratios) - min(ratios)))
    classes = sorted({row["shared_kb"] for row in rows}, reverse=True)
    handles = [Line2D([], [], **LOOK[kilobytes]) for kilobytes in classes]
    labels = [f"{kilobytes} KB a block ({DEVICES[kilobytes]})" for kilobytes in classes]
    handles.append(Line2D([], [], linestyle="none", marker="X", markersize=9, color=style.GREY,
                          markeredgecolor=style.BLACK))
    labels.append("no kernel fits")
    figure.legend_for_all(handles, labels, narrow_columns=1)
