"""Measured rows of danaus bench --sweep lengths."""

import style
from matplotlib.lines import Line2D
from measurements import LONG, by_device, left_to_the_plan, length_of, passed, us
from results import case_fields

CASE = {"dtype": "f16", "b": 64, "h": 768, "gates": []}
MODES = {"causal": {"color": style.BLUE, "marker": "o"}, "circular": {"color": style.ORANGE, "marker": "D"}}


def time_per_sample(figure, rows):
    """Picoseconds a sample of u against L, a panel for each device: FFT sizes joined, other lengths as marks."""
    found = by_device(rows)
    for i, ((device, here), axes) in enumerate(zip(found.items(), figure.panels(len(found)))):
        own = list(filter(is_drawn, here))
        for mode, look in MODES.items():
            of_mode = [row for row in own if mode_of(row) == mode]
            at_sizes = sorted((length_of(row), ps(row)) for row in of_mode if length_of(row) == row["fft_size"])
            if at_sizes:
                axes.plot(*zip(*at_sizes), color=look["color"], linewidth=1)
            style.draw_marks(axes, [(length_of(row), ps(row), {**style.measured(look, row["age"]), "markersize": 5})
                                    for row in of_mode])
        if own:
            style.length_axis(axes, [length_of(row) for row in own], label="L (samples)")
            style.plain_log_ticks(axes, [ps(row) for row in own])
        axes.set_title(f"{device}, fp16, B=64, H=768", loc="left")
        if i == 0 or figure.is_narrow():
            axes.set_ylabel("time / sample (ps)")
    handles = [Line2D([], [], color=look["color"], marker=look["marker"], linewidth=1) for look in MODES.values()]
    labels = [f"{mode}; the line joins FFT sizes" for mode in MODES]
    style.add_stale(handles, labels, any(row["age"] and is_drawn(row) for row in rows))
    figure.legend_for_all(handles, labels, narrow_columns=1)


def is_drawn(row):
    fields = case_fields(row["case"])
    return (passed(row) and row["method"] == "kernel" and left_to_the_plan(row["case"]) and fields["k"] == fields["l"] < LONG
            and all(fields[key] == value for key, value in CASE.items()))


def mode_of(row):
    return case_fields(row["case"])["mode"]


def ps(row):
    return 1e6 * us(row) / (CASE["b"] * CASE["h"] * length_of(row))
