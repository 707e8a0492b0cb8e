"""Errors of measured rows of danaus bench against their times, beside those of other people."""

import style
from matplotlib.lines import Line2D
from measurements import LONG, at_fft_sizes, by_device, left_to_the_plan, length_of, passed, short_name, us
from results import case_fields

CASE = {"b": 64, "h": 768, "gates": []}
METHODS = {("kernel", "f16"): ("fused kernel, fp16", {"color": style.BLUE, "marker": "o"}),
           ("kernel", "bf16"): ("fused kernel, bf16", {"color": style.BLUE, "marker": "s"}),
           ("cufft_pairs", "f16"): ("cuFFT pairs, fp16", {"color": style.ORANGE, "marker": "o"}),
           ("cufft_pairs", "bf16"): ("cuFFT pairs, bf16", {"color": style.ORANGE, "marker": "s"}),
           ("cufft_f32", "f16"): ("cuFFT fp32, fp16 data", {"color": style.GREEN, "marker": "o"}),
           ("cufft_f32", "bf16"): ("cuFFT fp32, bf16 data", {"color": style.GREEN, "marker": "s"})}
# By the words that their names begin with.
PEERS = {("FlashFFTConv", "f16"): {"color": style.VERMILION, "marker": "o"},
         ("FlashFFTConv", "bf16"): {"color": style.VERMILION, "marker": "s"},
         ("cuFFTDx 1.5 fused", "f16"): {"color": style.PURPLE, "marker": "o"},
         ("cuDNN 9.28", "f16"): {"color": style.BLACK, "marker": "o"},
         ("subquadratic-ops 0.3.1", "f16"): {"color": style.GREY, "marker": "o"},
         ("subquadratic-ops 0.3.1", "bf16"): {"color": style.GREY, "marker": "s"},
         ("torch rfft fp32", "f16"): {"color": style.SKY, "marker": "o"},
         ("torch rfft fp16", "f16"): {"color": style.SKY, "marker": "D"}}
SHORTEST = 1024


def each_method(figure, rows, peers):
    """Relative L2 error against time over the floor, a panel for each device and mode: a line goes from 1K to 32K
    samples."""
    found, looks = {}, {}
    for device, here in by_device(rows).items():
        for row in at_fft_sizes(filter(is_drawn, here)):
            found.setdefault((device, case_fields(row["case"])["mode"]), []).append(row)
    if not found:
        return
    panels = figure.table_of_panels(list(found), sharey=True)
    for (device, mode), own in found.items():
        axes = panels[device, mode]
        points = {}  # of a label: [(N, time over the floor, error, age of the row)]
        for row in own:
            if method := METHODS.get((row["method"], case_fields(row["case"])["dtype"])):
                label, looks[label] = method
                points.setdefault(label, []).append((length_of(row), over_floor(row, us(row)), row["verify"]["rel_l2"],
                                                     row["age"]))
        for row in {length_of(row): row for row in own}.values():
            for (words, dtype), look in PEERS.items():
                if peer := peers.of_name(words, dtype, row):
                    label = f"{words}, {style.DTYPE[dtype]} data"
                    looks[label] = look
                    points.setdefault(label, []).append((peer.length, over_floor(row, peer.us), peer.rel_l2, False))
        for label, line in points.items():
            line.sort()
            axes.plot([x for _, x, _, _ in line], [y for _, _, y, _ in line], color=looks[label]["color"], linewidth=1)
            style.draw_marks(axes, [(x, y, {**style.measured(looks[label], stale), "markersize": 5})
                                    for _, x, y, stale in line])
        if points:
            style.plain_log_ticks(axes, [x for line in points.values() for _, x, _, _ in line], "x")
            style.plain_log_ticks(axes, [y for line in points.values() for _, _, y, _ in line])
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0e}".replace("e-0", "e-"))
        axes.set_xlabel("time / floor")
        axes.set_title(f"{short_name(device)}, {mode}, B=64, H=768", loc="left")
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("relative L2 error")
    figure.legend_for_all([Line2D([], [], linewidth=1, **look) for look in looks.values()], list(looks), columns=3)


def over_floor(row, time_us):
    return time_us / row["floor"]["us"]


def is_drawn(row):
    fields = case_fields(row["case"])
    return (passed(row) and left_to_the_plan(row["case"]) and SHORTEST <= fields["l"] < LONG
            and all(fields[key] == value for key, value in CASE.items()))
