"""Measured rows of danaus bench --sweep lengths."""

import style
from matplotlib.lines import Line2D
from measurements import LONG, by_device, left_to_the_plan, length_of, passed, us
from results import case_fields

CASE = {"dtype": "f16", "b": 64, "h": 768, "gates": []}
MODES = {"causal": {"color": style.BLUE, "marker": "o"}, "circular": {"color": style.ORANGE, "marker": "D"}}
REACH = 1.2  # times the causal time at the FFT size


def time_per_sample(figure, rows):
    """Picoseconds a sample of u against L, a panel for each device: FFT sizes joined, other lengths as marks."""
    found = by_device(rows)
    for i, ((device, here), axes) in enumerate(zip(found.items(), figure.panels(len(found)))):
        own = list(filter(is_drawn, here))
        sizes = {row["fft_size"]: row for row in own if mode_of(row) == "causal" and length_of(row) == row["fft_size"]}
        for mode, look in MODES.items():
            of_mode = [row for row in own if mode_of(row) == mode]
            at_sizes = sorted((length_of(row), ps(row)) for row in of_mode if length_of(row) == row["fft_size"])
            if at_sizes:
                axes.plot(*zip(*at_sizes), color=look["color"], linewidth=1)
            style.draw_marks(axes, [(length_of(row), ps(row), {**style.measured(look, row["age"]), "markersize": 5})
                                    for row in of_mode])
        for lower, upper in zip([0, *sorted(sizes)], sorted(sizes)):
            draw_reach(axes, max(lower, min(map(length_of, own))), upper, us(sizes[upper]))
        if own:
            style.length_axis(axes, [length_of(row) for row in own], label="L (samples)")
            style.plain_log_ticks(axes, [ps(row) for row in own])
        axes.set_title(f"{device}, fp16, B=64, H=768", loc="left")
        if i == 0 or figure.is_narrow():
            axes.set_ylabel("time / sample (ps)")
    handles = [Line2D([], [], color=look["color"], marker=look["marker"], linewidth=1) for look in MODES.values()]
    handles.append(Line2D([], [], color=style.GREY, linestyle="--", linewidth=1))
    labels = [*MODES, f"{REACH} × causal at the FFT size"]
    style.add_stale(handles, labels, any(row["age"] and is_drawn(row) for row in rows))
    figure.legend_for_all(handles, labels)


def draw_reach(axes, lower, upper, us_at_size):
    """What REACH allows the lengths above one size, up to the next."""
    lengths = [lower + (upper - lower) * step / 16 for step in range(1, 17)]
    axes.plot(lengths, [1e6 * REACH * us_at_size / (CASE["b"] * CASE["h"] * n) for n in lengths], color=style.GREY,
              linestyle="--", linewidth=1, zorder=1)


def is_drawn(row):
    fields = case_fields(row["case"])
    return (passed(row) and row["method"] == "kernel" and left_to_the_plan(row["case"]) and fields["k"] == fields["l"] < LONG
            and all(fields[key] == value for key, value in CASE.items()))


def mode_of(row):
    return case_fields(row["case"])["mode"]


def ps(row):
    return 1e6 * us(row) / (CASE["b"] * CASE["h"] * length_of(row))
