"""The cost models against the clock."""

import style
from evaluation import MODELS, evaluate
from matplotlib.lines import Line2D

BANDS = (0.30, 0.15)  # what the study aims at: the 90th percentile and the median of the error
SHADES = ("#EDEDED", "#DADADA")

# Sideways: in octaves, so that equal N do not hide each other.
MODE = {"circular": ({"marker": "o"}, -0.18), "circular, gated": ({"marker": "D"}, -0.06),
        "causal": ({"marker": "s"}, 0.06), "causal, gated": ({"marker": "^"}, 0.18)}
DTYPE = {"f16": ({"color": style.BLUE}, -0.02), "bf16": ({"color": style.ORANGE}, 0.02)}
SIZE, FITTED_SIZE = 5, 2.8


def mode(row):
    return row["mode"] + (", gated" if row["gated"] else "")


def predicted_over_measured(figure, rows):
    """Predicted over measured time against N: a panel for each model, a mark for each kernel that was timed."""
    kernels = evaluate(rows).kernels
    for i, (axes, (model, title)) in enumerate(zip(figure.panels(len(MODELS)), MODELS.items())):
        marks = []
        for band, shade in zip(BANDS, SHADES):
            axes.axhspan(1 - band, 1 + band, color=shade, linewidth=0)
        axes.axhline(1, color=style.BLACK, linewidth=1.2)
        for kernel in kernels:
            row = kernel.row
            (mark, left), (colour, right) = MODE[mode(row)], DTYPE[row["dtype"]]
            size = SIZE if kernel.held_out else FITTED_SIZE
            marks.append((row["n"] * 2 ** (left + right), kernel.models[model].us / row["measured_us"],
                          {**style.measured({**mark, **colour}, row["stale"]), "markersize": size}))
        style.draw_marks(axes, marks)
        style.length_axis(axes, [row["n"] for row in rows], every=2)
        axes.set_title(title, loc="left")
        style.plain_log_ticks(axes, [0.7, 1.3, *(ratio for _, ratio, _ in marks)])
        if i == 0 or figure.is_narrow():
            axes.set_ylabel("predicted / measured time")
    legend(figure, kernels)


def legend(figure, kernels):
    modes, dtypes = ({of(kernel.row) for kernel in kernels} for of in (mode, lambda row: row["dtype"]))
    entries = [({**look, "color": style.GREY}, name) for name, (look, _) in MODE.items() if name in modes]
    entries += [({**look, "marker": "o"}, style.DTYPE[name]) for name, (look, _) in DTYPE.items() if name in dtypes]
    if not all(kernel.held_out for kernel in kernels):
        entries.append(({"color": style.GREY, "marker": "o", "markersize": FITTED_SIZE}, "small: took part in fitting"))
    handles = [Line2D([], [], linestyle="none", **look) for look, _ in entries]
    labels = [name for _, name in entries]
    if any(kernel.row["stale"] for kernel in kernels):
        handles.append(Line2D([], [], **style.STALE))
        labels.append("hollow: stale")
    for band, shade in zip(reversed(BANDS), reversed(SHADES)):
        handles.append(Line2D([], [], color=shade, linewidth=8))
        labels.append(f"within {band:.0%}")
    figure.legend_for_all(handles, labels, columns=4)
