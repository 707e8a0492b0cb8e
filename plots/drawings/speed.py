"""Measured rows of danaus bench."""

import style
from matplotlib.lines import Line2D
from measurements import LONG, at_fft_sizes, by_device, left_to_the_plan, length_of, passed, short_name
from results import case_fields

# The case of the figure, and what is drawn of it: {method, or peer and type: its look}.
CASE = {"dtype": "f16", "mode": "circular", "b": 64, "h": 768, "gates": []}

SERIES = {"kernel, bursts": {"color": style.BLUE, "marker": "o", "linestyle": "-"},
          "kernel, sustained": {"color": style.BLUE, "marker": "v", "linestyle": "--"},
          "cuFFT fp16 pairs": {"color": style.ORANGE, "marker": "s", "linestyle": "-"},
          "cuFFT fp32": {"color": style.GREEN, "marker": "^", "linestyle": "-"},
          "copy": {"color": style.GREY, "marker": "", "linestyle": "-"}}
TIMES = {"kernel, bursts": ("kernel", "burst_cold"), "kernel, sustained": ("kernel", "sustained_cold"),
         "cuFFT fp16 pairs": ("cufft_pairs", "burst_cold"), "cuFFT fp32": ("cufft_f32", "burst_cold"),
         "copy": ("copy", "burst_cold")}
PEERS = {("FlashFFTConv", "f16"): {"color": style.VERMILION, "marker": "D"},
         ("ThunderKittens fftconv", "bf16"): {"color": style.PURPLE, "marker": "P"},
         ("torch rfft fp16", "f16"): {"color": style.SKY, "marker": "X"}}

# Of the errors; the numbers shift marks sideways by octaves, so that equal L do not hide each other.
METHOD = {"kernel": ("fused kernel", style.BLUE, -0.15), "cufft_pairs": ("cuFFT pairs", style.ORANGE, 0),
          "cufft_f32": ("cuFFT fp32", style.GREEN, 0.15)}
KIND = {"circular": ("o", -0.03), "causal": ("s", 0), "gated": ("D", 0.03)}
DASH = {"marker": "_", "linestyle": "none", "markersize": 11, "markeredgewidth": 1.5}


def time_over_floor(figure, rows, peers):
    """Time over the floor against N, a panel for each device: lines are measured here, single markers by others."""
    found, stale = by_device(rows), False
    for i, ((device, here), axes) in enumerate(zip(found.items(), figure.panels(len(found)))):
        own = at_fft_sizes(filter(is_drawn, here))
        points = {name: line(own, *TIMES[name]) for name in SERIES}
        for name, look in SERIES.items():
            draw_line(axes, name, points[name], look)
        stale = stale or any(is_stale for each in points.values() for _, _, is_stale in each)
        others = peer_points(own, peers)
        for peer, look in PEERS.items():
            if peer in others:
                label = peer[0] + (" (bf16)" if peer[1] == "bf16" else "")
                axes.plot(*zip(*others[peer]), linestyle="none", label=label, markersize=7, markeredgewidth=1.5, **look)
        axes.axhline(1, color=style.BLACK, linewidth=1.2, linestyle=style.BOUND["linestyle"])
        ratios = [point[1] for group in (points, others) for each in group.values() for point in each]
        if ratios:
            lengths = [length_of(row) for row in own]
            style.length_axis(axes, lengths, label="L = N (samples)", every=1 if max(lengths) < LONG else 2)
            style.plain_log_ticks(axes, [1, *ratios])
        axes.set_title(f"{device}, fp16, circular, B=64, H=768", loc="left")
        if i == 0 or figure.is_narrow():
            axes.set_ylabel("time / floor")
    named = {}  # each once: what one device's panel lacks is in another's
    for axes in figure.axes:
        named |= dict(zip(*reversed(axes.get_legend_handles_labels())))
    handles, labels = list(named.values()), list(named)
    handles.append(Line2D([], [], color=style.BLACK, linewidth=1.2, linestyle=style.BOUND["linestyle"]))
    labels.append("floor")
    style.add_stale(handles, labels, stale)
    figure.legend_for_all(handles, labels, columns=5)


def is_drawn(row):
    fields = case_fields(row["case"])
    return passed(row) and left_to_the_plan(row["case"]) and all(fields[key] == value for key, value in CASE.items())


def line(rows, method, protocol):
    """[(N, time over floor, age of the row)], by N."""
    return sorted((case_fields(row["case"])["l"], row["time_us"][protocol]["median"] / row["floor"]["us"], row["age"])
                  for row in rows if row["method"] == method and protocol in row["time_us"])


def peer_points(rows, peers):
    """{peer and type: [(N, time over the floor of the row with this N)]} of those that are drawn."""
    points = {}
    for row in {row["case"]: row for row in rows}.values():
        for peer in peers.of(row):
            if (peer.name, peer.dtype) in PEERS:
                place = case_fields(row["case"])["l"], peer.us / row["floor"]["us"]
                points.setdefault((peer.name, peer.dtype), []).append(place)
    return points


def draw_line(axes, name, points, look):
    if not points:
        return
    lengths, ratios, _ = zip(*points)
    axes.plot(lengths, ratios, label=name, **look)
    stale = [(n, ratio) for n, ratio, is_stale in points if is_stale]
    if stale:
        axes.plot(*zip(*stale), linestyle="none", marker=look["marker"] or "o", markerfacecolor="white",
                  markeredgecolor=look["color"], markeredgewidth=1.5)


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
    for kind, (marker, _) in KIND.items():
        if not any(kind_of(row) == kind for row in convolutions):
            continue
        handles.append(Line2D([], [], marker=marker, linestyle="none", color=style.GREY))
        labels.append(kind)
    handles.append(Line2D([], [], color=style.GREY, **DASH))
    labels.append("bound")
    style.add_stale(handles, labels, any(row["age"] for row in convolutions))
    figure.legend_for_all(handles, labels, columns=4)


def marks(row):
    """A row's error and its bound, as style.draw_marks() takes them."""
    fields, verdict = case_fields(row["case"]), row["verify"]
    _, colour, left = METHOD[row["method"]]
    marker, right = KIND[kind_of(row)]
    look = {**style.measured({"marker": marker, "color": colour}, row["age"]), "markersize": 5}
    return [(fields["l"] * 2 ** (left + right), verdict["rel_l2"], look),
            (fields["l"] * 2 ** left, verdict["bound"], {"color": colour, **DASH})]


def kind_of(row):
    fields = case_fields(row["case"])
    return "gated" if fields["gates"] else fields["mode"]
