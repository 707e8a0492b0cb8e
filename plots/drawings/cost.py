"""Predicted cost of Eq. 2 of the paper, and beside it what was measured."""

import math

import style
from evaluation import PAPERS_PROFILE, evaluate, fastest
from matplotlib.lines import Line2D
from measurements import device_of, left_to_the_plan, passed, us
from results import case_fields

MODEL = "eq2_profile"
DASH = {"marker": "_", "linestyle": "none", "markersize": 9, "markeredgewidth": 1.8}


def cost_per_token(figure, rows, paper, predictions, long):
    """Cost per token against N, a line for each order; in the large panel the device that was measured, with marks for
    what it takes and what the paper's kernels took, and below it measured over modelled. Small panels for others. Long
    convolutions that no model has predicted are marks alone."""
    points = fastest(evaluate(predictions.rows).kernels, "n", "order") if predictions.rows else []
    profile = points[0].row["profile"] if points else PAPERS_PROFILE  # in the large panel
    rest = {row["profile"] for row in rows} - {profile}
    main, below, others = places(figure, bool(points), sorted(rest, key=lambda name: (name != PAPERS_PROFILE, name)))

    axes = figure.add_subplot(main)
    lines = lines_by_order(rows, profile)
    draw_lines(axes, lines)
    style.length_axis(axes, lengths(lines), every=2)
    axes.set_ylabel("cost per token and sequence (ps)")
    axes.set_title(heading(rows, profile), loc="left")
    annotate(axes, lines)
    beyond = long_points(long.rows, profile, {kernel.row["n"] for kernel in points})
    handles, labels = [], []
    if points:
        draw_points(axes, points)
        draw_long(axes, beyond)
        draw_paper(axes, paper.table(3))
        handles += [Line2D([], [], color=style.GREY), Line2D([], [], color=style.GREY, **DASH),
                    Line2D([], [], color=style.GREY, **style.MEASURED), Line2D([], [], **style.PAPER)]
        labels += ["line: Eq. 2, by order p", "dash: Eq. 2 of a kernel's factors", f"mark: measured, {profile}; the number is p",
                   "FlashFFTConv on an H100 (paper)"]
        stale = any(kernel.row["stale"] for kernel in points) or any(stale for *_, stale in beyond)
        style.add_stale(handles, labels, stale)
        draw_ratios(figure.add_subplot(below), points, lengths(lines))
    figure.legend_for_all(handles, labels, columns=2 if points else None, narrow_columns=1)

    for place, name in others:
        axes = figure.add_subplot(place)
        lines = lines_by_order(rows, name)
        draw_lines(axes, lines)
        last = name == others[-1][1]
        style.length_axis(axes, lengths(lines), every=4, label="N (samples)" if last else None)
        axes.set_ylabel("ps")
        axes.set_title(heading(rows, name), loc="left", fontsize=10)


def places(figure, ratios, others):
    """Of the large panel, of the one below it, and of each of the small ones beside it or, on a narrow page, below."""
    large = [2.4, 1] if ratios else [1]
    if figure.is_narrow():
        heights = [1.6 * part for part in large] + [0.9] * len(others)
        grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
        return grid[0], grid[1], [(grid[len(large) + i], name) for i, name in enumerate(others)]
    columns = figure.add_gridspec(1, 2, width_ratios=[2.3, 1]) if others else figure.add_gridspec(1, 1)
    left = columns[0].subgridspec(len(large), 1, height_ratios=large)
    right = columns[-1].subgridspec(max(len(others), 1), 1)
    return left[0], left[-1], [(right[i], name) for i, name in enumerate(others)]


def heading(rows, profile):
    """The profile's name, and that its rates are no measurements where a row's notes say so."""
    notes = [note for row in rows if row["profile"] == profile for note in row["notes"]]
    return profile + (" (datasheet peaks)" if any(note.startswith("datasheet peaks") for note in notes) else "")


def lines_by_order(rows, profile):
    """{order: [(N, row)]}, by N."""
    lines = {}
    for row in rows:
        if row["profile"] == profile:
            lines.setdefault(row["order"], []).append((case_fields(row["case"]).fft_size(), row))
    return {order: sorted(lines[order], key=lambda point: point[0]) for order in sorted(lines)}


def lengths(lines):
    return sorted({n for line in lines.values() for n, _ in line})


def below_matrix_unit(row):
    return any(term["unit"] == "general" for term in row["terms"])


def draw_lines(axes, lines):
    """Thin where a factor is too small for the matrix unit."""
    for order, line in lines.items():
        look = {**style.ORDER[order], "marker": ""}
        ns = [n for n, _ in line]
        axes.plot(ns, [row["ps_per_token_bh"] for _, row in line], **{**look, "linewidth": 0.8})
        axes.plot(ns, [math.nan if below_matrix_unit(row) else row["ps_per_token_bh"] for _, row in line], **look)
        axes.annotate(f"p={order}", (ns[-1], line[-1][1]["ps_per_token_bh"]), xytext=(-2, 4), textcoords="offset points",
                      ha="right", va="bottom", fontsize=9, color=look["color"])
    style.plain_log_ticks(axes, [row["ps_per_token_bh"] for line in lines.values() for _, row in line])


def ps_per_token(row, us):
    return us * 1e6 / (row["batch"] * row["channels"] * row["n"])


def draw_points(axes, points):
    """Each measured kernel, and what Eq. 2 says of its own factors."""
    costs = []
    for kernel in points:
        row = kernel.row
        look, n = style.ORDER[row["order"]], row["n"]
        predicted, measured = (ps_per_token(row, us) for us in (kernel.models[MODEL].us, row["measured_us"]))
        axes.plot(n, predicted, **{**DASH, "color": look["color"]})
        axes.plot(n, measured, **style.measured(look, row["stale"]))
        number(axes, n, measured, row["order"])
        costs += [predicted, measured]
    cover(axes, costs)


def long_points(rows, profile, drawn):
    """[(order, N, cost per token, its age)] of long circular convolutions in fp16 on the profile's device."""
    points = []
    for row in rows:
        fields = case_fields(row["case"])
        asked = (fields["dtype"], fields["mode"], fields["gates"], fields["k"], fields["b"], fields["h"])
        if (row["method"] == "kernel" and passed(row) and left_to_the_plan(row["case"]) and "factors" in row and
                asked == ("f16", "circular", [], fields["l"], 64, 768) and
                row["device"]["name"] == device_of(profile) and fields["l"] not in drawn):
            cost = us(row) * 1e6 / (fields["b"] * fields["h"] * fields["l"])
            points.append((len(row["factors"]), fields["l"], cost, row["age"]))
    return points


def draw_long(axes, points):
    for order, n, cost, stale in points:
        axes.plot(n, cost, **style.measured(style.ORDER[order], stale))
        number(axes, n, cost, order)
    if points:
        cover(axes, [cost for _, _, cost, _ in points])


def draw_paper(axes, table):
    """Brought to a token of a sequence; the order stands beside each."""
    costs = [(line.fft_size, line.flashfftconv * 1e9 / (64 * 768 * line.fft_size), line.order) for line in table]
    for n, cost, order in costs:
        axes.plot(n, cost, **style.PAPER)
        number(axes, n, cost, order)
    cover(axes, [cost for _, cost, _ in costs])


def number(axes, n, cost, order):
    """The order beside a mark."""
    axes.annotate(str(order), (n, cost), xytext=(5, 2), textcoords="offset points", fontsize=8)


def cover(axes, values):
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.8 * min(values)), max(high, 1.25 * max(values)))


def draw_ratios(axes, points, all_lengths):
    """Measured over Eq. 2 of the kernel's own factors."""
    ratios = []
    for kernel in points:
        row = kernel.row
        ratios.append(row["measured_us"] / kernel.models[MODEL].us)
        axes.plot(row["n"], ratios[-1], **style.measured(style.ORDER[row["order"]], row["stale"]))
    axes.axhline(1, color=style.BLACK, linewidth=1.2)
    style.plain_log_ticks(axes, [1, *ratios])
    style.length_axis(axes, all_lengths, every=2)
    axes.set_ylabel("measured / Eq. 2")


def annotate(axes, lines):
    """The paper's two remarks, placed where the rows say they hold."""
    small = [(row["ps_per_token_bh"], n) for line in lines.values() for n, row in line if below_matrix_unit(row)]
    if small:
        cost, n = max(small)
        axes.annotate("factors below the matrix unit\n(thin lines)", (n, 1.05 * cost), xytext=(0, 46), ha="center",
                      textcoords="offset points", fontsize=10, color=style.GREY,
                      arrowprops={"arrowstyle": "-", "color": style.GREY, "linewidth": 0.8})
    in_sram = [n for line in lines.values() for n, row in line if all(t["memory"] == "sram" for t in row["terms"])]
    beyond = [n for line in lines.values() for n, row in line if any(t["memory"] == "hbm" for t in row["terms"])]
    if in_sram and beyond:
        limit = math.sqrt(max(in_sram) * min(beyond))
        axes.axvline(limit, color=style.GREY, linewidth=1.2, linestyle=(0, (1, 1.5)))
        axes.annotate("SRAM limit", (limit, 1), xycoords=("data", "axes fraction"), xytext=(-5, -4), ha="right",
                      va="top", textcoords="offset points", fontsize=10, color=style.GREY)
