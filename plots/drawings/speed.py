"""Measured rows of danaus bench."""

import style
from matplotlib.lines import Line2D
from measurements import CUFFT, LONG, at_fft_sizes, by_device, left_to_the_plan, length_of, passed, short_name
from results import case_fields

# The case of the figure, and what is drawn of it: {name: (its methods, protocol, look)}.
CASE = {"dtype": "f16", "mode": "circular", "b": 64, "h": 768, "gates": []}
SERIES = {"Danaus, bursts on a cool GPU": (("kernel",), "burst_cold", {"color": style.BLUE, "marker": "o"}),
          "Danaus, sustained load": (("kernel",), "sustained_cold", {"color": style.BLUE, "marker": "v", "ls": "--"}),
          "cuFFT, the best of two ways": (CUFFT, "burst_cold", {"color": style.ORANGE, "marker": "s", "ls": "-."}),
          "a copy of u to y": (("copy",), "burst_cold", {"color": style.GREY, "marker": ""})}

# Of the errors; the numbers shift marks sideways by octaves, so that equal L do not hide each other.
METHOD = {"kernel": ("Danaus", style.BLUE, -0.15), "cufft_pairs": ("cuFFT pairs", style.ORANGE, 0),
          "cufft_f32": ("cuFFT fp32", style.GREEN, 0.15)}
DASH = {"marker": "_", "linestyle": "none", "markersize": 11, "markeredgewidth": 1.5}


def under_load(figure, rows):
    """Time over the floor against L, a panel for each device: in bursts and under sustained load."""
    found, stale = by_device(rows), False
    panels, values = figure.panels(len(found), sharey=True), [1]
    for axes, (device, here) in zip(panels, found.items()):
        own = at_fft_sizes(filter(is_drawn, here))
        for name, (methods, protocol, look) in SERIES.items():
            points = line(own, methods, protocol)
            if points:
                lengths, ratios, ages = zip(*points)
                axes.plot(lengths, ratios, label=name, **look)
                values += ratios
                old = [(n, ratio) for n, ratio, age in points if age]
                stale = stale or bool(old)
                style.draw_marks(axes, [(*point, style.measured(look, True)) for point in old])
        style.floor_line(axes)
        if own:
            lengths = [length_of(row) for row in own]
            style.length_axis(axes, lengths, label="L (samples)", every=1 if max(lengths) < LONG else 2)
        axes.set_title(f"{device}, fp16, circular, B=64, H=768", loc="left", fontsize=10)
        if axes is panels[0] or figure.is_narrow():
            axes.set_ylabel("time / floor")
    for axes in panels:
        style.plain_log_ticks(axes, values)
    named = {}  # each once
    for axes in figure.axes:
        named |= dict(zip(*reversed(axes.get_legend_handles_labels())))
    handles, labels = list(named.values()), list(named)
    style.add_stale(handles, labels, stale)
    figure.legend_for_all(handles, labels, narrow_columns=1)


def is_drawn(row):
    fields = case_fields(row["case"])
    return passed(row) and left_to_the_plan(row["case"]) and all(fields[key] == value for key, value in CASE.items())


def line(rows, methods, protocol):
    """[(L, time over floor, age of the row)], by L, of the fastest of the methods."""
    fastest = {}
    for row in rows:
        if row["method"] in methods and protocol in row["time_us"]:
            point = row["time_us"][protocol]["median"] / row["floor"]["us"], row["age"]
            fastest[length_of(row)] = min(point, fastest.get(length_of(row), point))
    return [(n, *point) for n, point in sorted(fastest.items())]


def error_against_bound(figure, rows):
    """Relative L2 error of each verified row against L, a panel for each GPU and type; a dash of its colour is its
    bound."""
    convolutions = [row for row in rows if passed(row) and row["method"] in METHOD]
    places = {}
    for row in convolutions:
        places.setdefault((row["device"]["name"], style.DTYPE[case_fields(row["case"])["dtype"]]), []).append(row)
    if not places:
        return
    values = [row["verify"][field] for row in convolutions for field in ("rel_l2", "bound")]
    for (device, dtype), axes in figure.table_of_panels(sorted(places), sharey=True).items():
        here = places[device, dtype]
        style.draw_marks(axes, [mark for row in here for mark in marks(row)])
        style.length_axis(axes, [case_fields(row["case"])["l"] for row in here], every=2, label="L (samples)")
        axes.set_title(f"{short_name(device)}: {dtype}", loc="left")
        axes.set_ylabel("relative L2 error")
        style.plain_log_ticks(axes, values)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0e}".replace("e-0", "e-"))
    handles = [Line2D([], [], marker="o", linestyle="none", color=colour) for _, colour, _ in METHOD.values()]
    labels = [name for name, _, _ in METHOD.values()]
    handles.append(Line2D([], [], color=style.GREY, **DASH))
    labels.append("its bound")
    style.add_stale(handles, labels, any(row["age"] for row in convolutions))
    figure.legend_for_all(handles, labels, columns=4)


def marks(row):
    """A row's error and its bound, as style.draw_marks() takes them."""
    fields, verdict = case_fields(row["case"]), row["verify"]
    _, colour, left = METHOD[row["method"]]
    look = {**style.measured({"marker": "o", "color": colour}, row["age"]), "markersize": 4}
    place = fields["l"] * 2 ** left
    return [(place, verdict["rel_l2"], look), (place, verdict["bound"], {"color": colour, **DASH})]
