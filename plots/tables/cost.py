"""What the cost model picks."""

from report import Table
from results import case_fields
from style import length

LIMIT = {"matrix": "matrix unit", "general": "general arithmetic", "sram": "SRAM", "hbm": "HBM"}


def cheapest_order(rows):
    """A line for each N, a column for each profile: the cheapest order, its cost and what takes most of it."""
    profiles = sorted({row["profile"] for row in rows})
    best = {}
    for row in rows:
        place = case_fields(row["case"]).fft_size(), row["profile"]
        if place not in best or row["total_us"] < best[place]["total_us"]:
            best[place] = row
    lines = [[length(n), *(cell(best.get((n, profile))) for profile in profiles)] for n in sorted({n for n, _ in best})]
    return Table(columns=["N", *profiles], rows=lines)


def cell(row):
    if row is None:
        return ""
    return f"p = {row['order']}, {row['ps_per_token_bh']:.2f} ps, {LIMIT[row['limit']]}"
