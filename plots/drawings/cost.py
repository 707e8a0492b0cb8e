"""Predicted cost: Eq. 2 of the paper."""

import math

import style
from results import case_fields

PAPERS_PROFILE = "A100-40GB"  # gets the large panel

# What the paper leaves open and model/factorization.hpp states.
ASSUMPTION = """assumed: balanced factors; past the
limit orders 2 and 3 keep every step
in HBM, order 4 only its outermost"""


def cost_per_token(figure, rows):
    """Cost per token against N, a line for each order; a large panel for the paper's device, small ones for others."""
    profiles = sorted({row["profile"] for row in rows}, key=lambda name: (name != PAPERS_PROFILE, name))
    main, *others = profiles
    grid = figure.add_gridspec(max(len(others), 1), 2 if others else 1, width_ratios=[2.3, 1] if others else None)

    axes = figure.add_subplot(grid[:, 0])
    lines = lines_by_order(rows, main)
    draw_lines(axes, lines)
    style.length_axis(axes, lengths(lines), every=2)
    axes.set_ylabel("cost per token and sequence, C / (B H N)  (ps)")
    axes.set_title(heading(rows, main), loc="left")
    axes.legend(loc="upper left")
    axes.text(0.985, 0.03, ASSUMPTION, transform=axes.transAxes, ha="right", va="bottom", fontsize=9, color=style.GREY)
    annotate(axes, lines)

    for i, profile in enumerate(others):
        axes = figure.add_subplot(grid[i, 1])
        lines = lines_by_order(rows, profile)
        draw_lines(axes, lines)
        last = i == len(others) - 1
        style.length_axis(axes, lengths(lines), every=4, label="N (samples)" if last else None)
        axes.set_ylabel("ps")
        axes.set_title(heading(rows, profile), loc="left")


def heading(rows, profile):
    """The profile's name, and that its rates are no measurements where a row's notes say so."""
    notes = [note for row in rows if row["profile"] == profile for note in row["notes"]]
    return profile + (" (datasheet peaks)" if any(note.startswith("datasheet peaks") for note in notes) else "")


def lines_by_order(rows, profile):
    """{order: [(N, row)]}, by N."""
    lines = {}
    for row in rows:
        if row["profile"] == profile:
            lines.setdefault(row["order"], []).append((case_fields(row["case"])["n"], row))
    return {order: sorted(lines[order], key=lambda point: point[0]) for order in sorted(lines)}


def lengths(lines):
    return sorted({n for line in lines.values() for n, _ in line})


def below_matrix_unit(row):
    return any(term["unit"] == "general" for term in row["terms"])


def draw_lines(axes, lines):
    """Hollow markers where a factor is too small for the matrix unit."""
    for order, line in lines.items():
        look = style.ORDER[order]
        costs = [row["ps_per_token_bh"] for _, row in line]
        axes.plot([n for n, _ in line], costs, label=f"order p = {order}", **look)
        small = [(n, row["ps_per_token_bh"]) for n, row in line if below_matrix_unit(row)]
        axes.plot([n for n, _ in small], [cost for _, cost in small], linestyle="none", marker=look["marker"],
                  markerfacecolor="white", markeredgecolor=look["color"], markeredgewidth=1.5)
    style.plain_log_ticks(axes, [row["ps_per_token_bh"] for line in lines.values() for _, row in line])


def annotate(axes, lines):
    """The paper's two remarks, placed where the rows say they hold."""
    small = [(row["ps_per_token_bh"], n) for line in lines.values() for n, row in line if below_matrix_unit(row)]
    if small:
        cost, n = max(small)
        axes.annotate("factors below the matrix unit\n(hollow markers)", (n, cost), xytext=(0, 10), ha="center",
                      textcoords="offset points", fontsize=10, color=style.GREY)
    in_sram = [n for line in lines.values() for n, row in line if all(t["memory"] == "sram" for t in row["terms"])]
    beyond = [n for line in lines.values() for n, row in line if any(t["memory"] == "hbm" for t in row["terms"])]
    if in_sram and beyond:
        limit = math.sqrt(max(in_sram) * min(beyond))
        axes.axvline(limit, color=style.GREY, linewidth=1.2, linestyle=(0, (1, 1.5)))
        axes.annotate("SRAM limit", (limit, 1), xycoords=("data", "axes fraction"), xytext=(-5, -4), ha="right",
                      va="top", textcoords="offset points", fontsize=10, color=style.GREY)
