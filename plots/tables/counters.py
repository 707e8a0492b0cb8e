"""What the executor counts, beside what a GPU does."""

from report import THOUSANDS, Table
from tables.speed import age_note, stale_words

COLUMNS = ["quantity", "counted", "hardware", "hardware / counted", "expected", "why they differ"]
OUTSIDE = "outside what is expected"
SAME = 0.01  # differences up to here are not explained


def comparison(rows):
    """A block for each case, a line for each quantity that both count: those that are not all explained, else the first
    one, and the others behind a click."""
    quantities = [quantity for row in rows for quantity in row["quantities"]]
    rows = sorted(rows, key=is_all_explained)
    unexplained = len(rows) - sum(map(is_all_explained, rows))
    shown, others = rows[:max(1, unexplained)], rows[max(1, unexplained):]
    return Table(COLUMNS, lines_of(shown), verdict=sentence(rows, quantities),
                 good=unexplained == 0 and not any(row["stale"] for row in rows), note=age_note(rows),
                 details=Table(COLUMNS, lines_of(others)) if others else None,
                 details_title=f"The same of {len(others)} other cases")


def lines_of(rows):
    lines = []
    for row in rows:
        lines.append([", ".join(filter(None, (f"{row['device']['name']}: {row['case']}", row["variant"],
                                              f"{row['blocks']} blocks", row["age"])))])
        lines += [cells(quantity) for quantity in row["quantities"]]
    return lines


def cells(quantity):
    ratio = quantity["ratio"]
    return [quantity["name"], whole(quantity["counted"]), whole(quantity["hardware"]),
            "" if ratio is None else f"{ratio:.3f}", expected(quantity),
            quantity.get("why", "") if is_explained(quantity) else OUTSIDE]


def expected(quantity):
    return f"{whole(quantity['least'])} to {whole(quantity['most'])}" if "least" in quantity else ""


def whole(number):
    return f"{number:,.0f}".replace(",", THOUSANDS)


def sentence(rows, quantities):
    same = [quantity for quantity in quantities if agrees(quantity)]
    within = sum(is_explained(quantity) for quantity in quantities if not agrees(quantity))
    others = sum(not is_explained(quantity) for quantity in quantities)
    return (f"{len(same)} of {len(quantities)} counts over {len(rows)} cases agree to {SAME:.0%}, {within} are within "
            f"a range that has a reason, {others} {'is' if others == 1 else 'are'} not explained{stale_words(rows)}.")


def is_all_explained(row):
    return all(map(is_explained, row["quantities"]))


def is_explained(quantity):
    """Whether the hardware's count is within its range; a row from before there were ranges explains nothing that
    differs."""
    if "least" not in quantity:
        return agrees(quantity)
    return quantity["least"] <= quantity["hardware"] <= quantity["most"]


def agrees(quantity):
    """To a percent."""
    return abs(quantity["hardware"] - quantity["counted"]) <= SAME * quantity["counted"]
