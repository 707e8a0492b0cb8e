"""The cost models against the clock."""

import style
from evaluation import MODELS, evaluate
from matplotlib.lines import Line2D

BAND, SHADE = 0.1, "#DADADA"

# Sideways: in octaves, so that equal N do not hide each other.
MODE = {"circular": ({"marker": "o"}, -0.12), "causal": ({"marker": "s"}, 0.12)}
DTYPE = {"f16": ({"color": style.BLUE}, -0.02), "bf16": ({"color": style.ORANGE}, 0.02)}


def predicted_over_measured(figure, rows, _decoding=None):
    """Predicted over measured time against N: a panel for each GPU and each model that is about it, a mark for each
    kernel that was timed."""
    kernels = evaluate(rows).kernels
    drawn = panels(kernels)
    for i, (axes, (title, model, points)) in enumerate(zip(figure.panels(len(drawn)), drawn)):
        marks = []
        axes.axhspan(1 - BAND, 1 + BAND, color=SHADE, linewidth=0)
        axes.axhline(1, color=style.BLACK, linewidth=1.2)
        for kernel in points:
            row = kernel.row
            (mark, left), (colour, right) = MODE[row["mode"]], DTYPE[row["dtype"]]
            marks.append((row["n"] * 2 ** (left + right), 1 + kernel.error(model),
                          {**style.measured({**mark, **colour}, row["stale"]), "markersize": 5}))
        style.draw_marks(axes, marks)
        style.length_axis(axes, [row["n"] for row in rows], every=2)
        axes.set_title(title, loc="left", fontsize=10)
        style.plain_log_ticks(axes, [0.7, 1.3, *(ratio for _, ratio, _ in marks)])
        if i == 0 or figure.is_narrow():
            axes.set_ylabel("predicted / measured time")
    legend(figure, kernels)


def panels(kernels):
    """(title, model, kernels) of each."""
    profiles, found = sorted({kernel.row["profile"] for kernel in kernels}), []
    for profile in profiles:
        points = [kernel for kernel in kernels if kernel.row["profile"] == profile]
        found += [(title + (f", {profile}" if len(profiles) > 1 else ""), model, points)
                  for model, title in MODELS.items() if points[0].error(model) is not None]
    return found


def legend(figure, kernels):
    modes, dtypes = ({kernel.row[field] for kernel in kernels} for field in ("mode", "dtype"))
    entries = [({**look, "color": style.GREY}, name) for name, (look, _) in MODE.items() if name in modes]
    entries += [({**look, "marker": "o"}, style.DTYPE[name]) for name, (look, _) in DTYPE.items() if name in dtypes]
    handles = [Line2D([], [], linestyle="none", **look) for look, _ in entries]
    labels = [name for _, name in entries]
    style.add_stale(handles, labels, any(kernel.row["stale"] for kernel in kernels))
    handles.append(Line2D([], [], color=SHADE, linewidth=8))
    labels.append(f"within {BAND:.0%}")
    figure.legend_for_all(handles, labels, columns=4)
