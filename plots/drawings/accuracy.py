"""Errors against the reference in double precision."""

import math

import style
from matplotlib.lines import Line2D
from results import case_fields


def error_by_length(figure, rows):
    """Relative L2 error against N: a panel for each dtype, a line and a dotted bound for each order."""
    dtypes = [dtype for dtype in style.DTYPE if any(case_fields(row["case"])["dtype"] == dtype for row in rows)]
    for axes, dtype in zip(figure.panels(len(dtypes)), dtypes):
        lines = lines_by(rows, dtype, lambda row: row["order"])
        for order, line in lines.items():
            look = style.ORDER[order]
            axes.plot(*measured(line), label=f"p = {order}", **look)
            axes.plot(*bounds(line), color=look["color"], **style.BOUND)
        power = exponent(max(row["verify"]["bound"] for line in lines.values() for _, row in line))
        axes.set_ylim(0, 1.12 * max(row["verify"]["bound"] for line in lines.values() for _, row in line))
        axes.yaxis.set_major_formatter(lambda value, _, power=power: f"{value / 10.0 ** power:g}")
        begins_a_line = dtype == dtypes[0] or figure.is_narrow()
        axes.set_ylabel(("relative L2 error  " if begins_a_line else "") + f"($\\times\\,10^{{{power}}}$)")
        axes.set_title(style.DTYPE[dtype], loc="left")
        style.length_axis(axes, lengths(lines), every=2)
    legend(figure, axes)


def range_cliff(figure, rows):
    """Relative L2 error against N for the two places of 1/N: a panel for each dtype, on one scale."""
    dtypes = [dtype for dtype in style.DTYPE if any(case_fields(row["case"])["dtype"] == dtype for row in rows)]
    names = {"one_side": "1/N folded into one side", "unitary": "unitary factors"}
    every_axes = figure.panels(len(dtypes), sharey=True)
    values = []
    for axes, dtype in zip(every_axes, dtypes):
        lines = lines_by(rows, dtype, lambda row: (row["scaling"], row["order"]))
        labelled = set()
        for (scaling, order), line in lines.items():
            label = None if scaling in labelled else names[scaling]
            labelled.add(scaling)
            axes.plot(*measured(line), label=label, **style.SCALING[scaling])
            failed = [point for point in line if point[1]["verify"]["status"] == "failed"]
            axes.plot(*measured(failed), linestyle="none", marker=style.SCALING[scaling]["marker"],
                      markerfacecolor="white", markeredgecolor=style.SCALING[scaling]["color"], markeredgewidth=1.5)
            if scaling == "unitary":
                axes.plot(*bounds(line), color=style.GREY, **style.BOUND)
                axes.annotate(f"p = {order}", (math.sqrt(line[0][0] * line[-1][0]), 0.02), ha="center", fontsize=10,
                              xycoords=("data", "axes fraction"), color=style.GREY)
            values += [value for value in measured(line)[1] + bounds(line)[1] if math.isfinite(value)]
        axes.set_title(style.DTYPE[dtype], loc="left")
        style.length_axis(axes, lengths(lines), every=2)
    every_axes[0].set_ylabel("relative L2 error")
    style.plain_log_ticks(every_axes[0], [*values, 0.75 * min(values)])  # with room for the orders at the bottom
    legend(figure, every_axes[0], hollow=True)


SWEEPS = {"offset": "offset of unit noise", "partner": "loudness of the other row", "scale": "scale of both rows"}
WAYS = {"danaus": (style.BLUE, "o"), "danaus before": (style.VERMILION, "s"), "torch.fft, fp32": (style.BLACK, "^"),
        "torch.fft, fp16": (style.GREEN, "D"), "flashfftconv": (style.PURPLE, "v")}


def newest(rows):
    """The last revision that rows are of."""
    return max((row["date"], row["git"]) for row in rows)[1]


def worst_rows(figure, rows):
    """The error of the worst of two rows against what sets them apart: a panel for each type and sweep."""
    lines = {}
    for row in rows:
        method = row["method"] if row["method"] != "danaus" or row["git"] == newest(rows) else "danaus before"
        lines.setdefault((row["dtype"], row["sweep"]), {}).setdefault(method, []).append((row["value"], row["error"]))
    known = {method for panel in lines.values() for method in panel}
    places = [(dtype, sweep) for dtype in ("f16", "bf16") for sweep in SWEEPS if (dtype, sweep) in lines]
    for (dtype, sweep), axes in figure.table_of_panels(places, sharey=True).items():
        for method, (color, marker) in WAYS.items():
            if method in known:
                axes.plot(*zip(*sorted(lines[dtype, sweep].get(method, [(math.nan, math.nan)]))), color=color,
                          marker=marker, label=method)
        axes.set(xscale="log", yscale="log", xlabel=SWEEPS[sweep])
        axes.set_title(style.DTYPE[dtype], loc="left")
        if sweep == "offset" or figure.is_narrow():
            axes.set_ylabel("error of the worst row")
    figure.legend_for_all(*axes.get_legend_handles_labels())


def lines_by(rows, dtype, key):
    """{key(row): [(N, row)]}, by N, of the rows with this dtype."""
    lines = {}
    for row in rows:
        fields = case_fields(row["case"])
        if fields["dtype"] == dtype:
            lines.setdefault(key(row), []).append((fields.fft_size(), row))
    return {name: sorted(lines[name], key=lambda point: point[0]) for name in sorted(lines)}


def lengths(lines):
    return sorted({n for line in lines.values() for n, _ in line})


def measured(line):
    """N and errors; an error that is not finite (null in a row) leaves a gap."""
    errors = [row["verify"]["rel_l2"] for _, row in line]
    return [n for n, _ in line], [math.nan if error is None else error for error in errors]


def bounds(line):
    return [n for n, _ in line], [row["verify"]["bound"] for _, row in line]


def exponent(value):
    return math.floor(math.log10(value))


def legend(figure, axes, hollow=False):
    """One legend for all panels, above them."""
    handles, labels = axes.get_legend_handles_labels()
    handles.append(Line2D([], [], color=style.GREY, **style.BOUND))
    labels.append("bound")
    if hollow:
        handles.append(Line2D([], [], linestyle="none", marker="s", markerfacecolor="w", markeredgecolor=style.GREY))
        labels.append("above its bound")
    figure.legend_for_all(handles, labels)
