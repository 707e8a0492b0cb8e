"""What the executor counts, beside what a GPU does."""

from report import THOUSANDS, Table

COLUMNS = ["quantity", "counted", "hardware", "hardware / counted", "why they differ"]
SAME = 0.01  # differences up to here are not explained


def comparison(rows):
    """A block for each case, a line for each quantity that both count."""
    lines = []
    for row in rows:
        stale = ", stale: the kernels have changed since" if row["stale"] else ""
        lines.append([f"{row['device']['name']}: {row['case']}, {row['variant']}, {row['blocks']} blocks{stale}"])
        lines += [cells(quantity) for quantity in row["quantities"]]
    quantities = [quantity for row in rows for quantity in row["quantities"]]
    good = all(agrees(quantity) or quantity.get("why") for quantity in quantities) and not any(r["stale"] for r in rows)
    return Table(columns=COLUMNS, rows=lines, verdict=sentence(rows, quantities), good=good)


def cells(quantity):
    ratio = quantity["ratio"]
    return [quantity["name"], whole(quantity["counted"]), whole(quantity["hardware"]),
            "" if ratio is None else f"{ratio:.3f}", quantity.get("why", "")]


def whole(number):
    return f"{number:,.0f}".replace(",", THOUSANDS)


def sentence(rows, quantities):
    same = sum(map(agrees, quantities))
    return (f"{same} of {len(quantities)} counts over {len(rows)} cases agree to {SAME:.0%}"
            f"{'; why the others differ stands beside them' if same < len(quantities) else ''}.")


def agrees(quantity):
    return abs(quantity["hardware"] - quantity["counted"]) <= SAME * quantity["counted"]
