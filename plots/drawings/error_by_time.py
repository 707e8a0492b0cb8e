"""Errors of measured rows of danaus bench against their times, beside those of other people."""

import style
from matplotlib.lines import Line2D
from measurements import LONG, at_fft_sizes, left_to_the_plan, length_of, passed, short_name, us
from results import case_fields

CASE = {"b": 64, "h": 768, "gates": []}
LOOK = {"Danaus": {"color": style.BLUE, "marker": "o"}, "cuFFT, 16 bits and fp32": {"color": style.ORANGE, "marker": "s"},
        "FlashFFTConv": {"color": style.VERMILION, "marker": "D"}, "cuFFTDx, fused": {"color": style.PURPLE, "marker": "P"},
        "cuDNN": {"color": style.BLACK, "marker": "^"}, "subquadratic-ops": {"color": style.GREY, "marker": "v"}}
METHODS = {"kernel": "Danaus", "cufft_pairs": "cuFFT, 16 bits and fp32", "cufft_f32": "cuFFT, 16 bits and fp32"}
# By the words that their names begin with.
PEERS = {"FlashFFTConv": "FlashFFTConv", "cuFFTDx 1.5 fused": "cuFFTDx, fused", "cuDNN 9.28": "cuDNN",
         "subquadratic-ops 0.3.1": "subquadratic-ops"}
SHORTEST = 1024


def each_method(figure, rows, peers):
    """Relative L2 error against time over the floor on the device that others were timed on, a panel for each mode and
    type of samples: a line goes from 1K to 32K samples."""
    found = {}
    for row in at_fft_sizes(filter(is_drawn, filter(peers.is_of, rows))):
        fields = case_fields(row["case"])
        found.setdefault((fields["mode"], fields["dtype"]), []).append(row)
    if not found:
        return
    panels, drawn, stale = figure.table_of_panels(sorted(found), sharey=True), set(), False
    points = {place: points_of(own, peers) for place, own in found.items()}
    every = [point for lines in points.values() for line in lines.values() for point in line]
    for (mode, dtype), axes in panels.items():
        for (label, _), line in points[mode, dtype].items():
            line.sort()
            axes.plot([x for _, x, _, _ in line], [y for _, _, y, _ in line], color=LOOK[label]["color"], linewidth=1)
            style.draw_marks(axes, [(x, y, {**style.measured(LOOK[label], age), "markersize": 5})
                                    for _, x, y, age in line])
            drawn.add(label)
            stale = stale or any(age for *_, age in line)
        style.plain_log_ticks(axes, [x for _, x, _, _ in every], "x")
        style.plain_log_ticks(axes, [y for _, _, y, _ in every])
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0e}".replace("e-0", "e-"))
        axes.set_xlabel("time / floor")
        device = short_name(found[mode, dtype][0]["device"]["name"])
        axes.set_title(f"{style.DTYPE[dtype]}, {mode}, {device}, B=64, H=768", loc="left", fontsize=10)
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("relative L2 error")
    names = [name for name in LOOK if name in drawn]
    handles = [Line2D([], [], linewidth=1, **LOOK[name]) for name in names]
    style.add_stale(handles, names, stale)
    figure.legend_for_all(handles, names, columns=3)


def points_of(rows, peers):
    """{(label, method or peer): [(N, time over the floor, error, age of the row)]} of one mode and type."""
    points = {}
    for row in rows:
        if row["method"] in METHODS:
            points.setdefault((METHODS[row["method"]], row["method"]), []).append(
                (length_of(row), over_floor(row, us(row)), row["verify"]["rel_l2"], row["age"]))
    for row in {length_of(row): row for row in rows}.values():
        for words, label in PEERS.items():
            if peer := peers.of_name(words, case_fields(row["case"])["dtype"], row):
                points.setdefault((label, words), []).append((peer.length, over_floor(row, peer.us), peer.rel_l2, ""))
    return points


def over_floor(row, time_us):
    return time_us / row["floor"]["us"]


def is_drawn(row):
    fields = case_fields(row["case"])
    return (passed(row) and left_to_the_plan(row["case"]) and SHORTEST <= fields["l"] < LONG
            and all(fields[key] == value for key, value in CASE.items()))
