"""The README's figure: convolutions of the device that others were timed on, over their floor."""

import style
from measurements import BATCH, CHANNELS, CUFFT, LONG, length_of, passed, us
from peers import DEVICE
from results import case_fields
from tables.front import is_main, kernels_of

OTHERS = {("torch rfft fp32", "torch.fft"): {"color": style.SKY, "marker": "X", "linestyle": ":"},
          ("FlashFFTConv", "FlashFFTConv"): {"color": style.VERMILION, "marker": "D", "linestyle": "--"}}
CUFFT_LOOK = {"color": style.ORANGE, "marker": "s", "linestyle": "-."}
OURS = {"color": style.BLUE, "marker": "o", "linestyle": "-"}


def over_floor(figure, rows, peers):
    """Time over the floor against L, in fp16, a panel for each mode; the filter's transform is in no time."""
    rows = [row for row in rows if DEVICE in row["device"]["name"]]
    drawn = {mode: points_of([row for row in rows if is_main(case_fields(row["case"]), mode)], peers)
             for mode in ("causal", "circular")}
    all_points = [point for series in drawn.values() for points in series.values() for point in points]
    for axes, (mode, series) in zip(figure.panels(len(drawn), sharey=True), drawn.items()):
        for (name, look) in [("Danaus", OURS), ("cuFFT, the best of two ways", CUFFT_LOOK),
                             *((title, look) for (_, title), look in OTHERS.items())]:
            if series.get(name):
                axes.plot(*zip(*series[name]), label=name, markersize=5, **look)
        style.floor_line(axes, "a copy of u to y")
        if all_points:
            lengths = sorted({point[0] for point in all_points})
            style.length_axis(axes, lengths, label="L (samples)", every=1 if max(lengths) < LONG else 2)
            style.plain_log_ticks(axes, [1, *(point[1] for point in all_points)])
        axes.set_title(f"{mode}, {DEVICE}, fp16, B={BATCH}, H={CHANNELS}", loc="left")
        axes.set_ylabel("time / time of a copy")
    named = {}
    for axes in figure.axes:
        named |= dict(zip(*reversed(axes.get_legend_handles_labels())))
    figure.legend_for_all(list(named.values()), list(named), columns=5)


def points_of(rows, peers):
    """{name: [(L, time over the floor)]} of one mode, at powers of two."""
    series = {}
    for row in sorted(kernels_of(rows), key=length_of):
        n, floor = length_of(row), row["floor"]["us"]
        if n & (n - 1):
            continue
        series.setdefault("Danaus", []).append((n, us(row) / floor))
        ways = [us(each) for each in rows if each["method"] in CUFFT and passed(each) and length_of(each) == n]
        if ways:
            series.setdefault("cuFFT, the best of two ways", []).append((n, min(ways) / floor))
        for peer in peers.all_of(row):
            for name, title in OTHERS:
                if (peer.name, peer.dtype, peer.with_filter) == (name, "f16", False):
                    series.setdefault(title, []).append((n, peer.us / floor))
    return series
