"""What a position takes in decoding, in numbers."""

from report import Table
from style import length

POSITION = 32768  # up to which times are averaged


def positions(rows):
    """A column for each way, predicted and measured; a line for each span of positions, microseconds."""
    found = sorted(rows, key=lambda row: (row["case"], row["source"], row["method"], row.get("states", 0)))
    spans = sorted({(span["from"], span["to"]) for row in found for span in row.get("positions", [])})
    lines = [[f"{length(first)} to {length(end)}", *(number(of_span(row, first, end)) for row in found)]
             for first, end in spans]
    lines.append(["all up to 32K", *(number(average(row)) for row in found)])
    within = [row for row in found if row["source"] == "measured" and row["method"] == "tiles" and average(row)]
    verdict = ""
    if within:
        verdict = f"Tiles take {average(within[0]):.1f} us a position, on average of those up to 32K."
    columns = ["positions", *(name(row) for row in found)]
    return Table(columns, lines, verdict=verdict)


def name(row):
    where = row["profile"] if row["source"] == "predicted" else ", ".join(filter(None, (row["device"]["name"], row["age"])))
    states = f", S={row['states']}" if "states" in row else ""
    return f"{row['method']}{states}, {row['source']}, {where}"


def of_span(row, first, end):
    return next((span["us"] for span in row.get("positions", []) if (span["from"], span["to"]) == (first, end)), None)


def average(row):
    """Of the positions up to POSITION; None where there are fewer."""
    spans = [span for span in row.get("positions", []) if span["to"] <= POSITION]
    if not spans or max(span["to"] for span in spans) < POSITION:
        return None
    return sum(span["us"] * (span["to"] - span["from"]) for span in spans) / POSITION


def number(value):
    return "" if value is None else f"{value:.{2 if value < 100 else 1}f}"
