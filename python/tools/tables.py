#!/usr/bin/python3
"""Writes the tables of docs/python.md between their markers, from the rows in experiments/results/.

  python/tools/tables.py [--results DIR] [PAGE]

Rows are of the kinds host_cost, training and masked_model, which their schemas there describe. A table without rows
says so. Exit code 2 where a row is not as its schema says, and nothing is written.
"""

import argparse
import sys
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "plots"))

from measurements import COMMITTED, read_either  # noqa: E402
from results import Refusal, case_fields  # noqa: E402

BEGIN, END = "<!-- {}, written by python/tools/tables.py -->", "<!-- End of {} -->"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", nargs="?", type=Path, default=ROOT / "docs" / "python.md")
    parser.add_argument("--results", type=Path, default=COMMITTED, metavar="DIR")
    options = parser.parse_args()
    try:
        made = with_tables(options.page.read_text(encoding="utf-8"), options.results)
    except (Refusal, OSError) as refusal:
        print(f"tables.py: {refusal}", file=sys.stderr)
        return 2
    options.page.write_text(made, encoding="utf-8")
    return 0


def with_tables(text, results):
    """The page with everything between its markers made anew."""
    for name, (kind, made) in TABLES.items():
        begin, end = BEGIN.format(name), END.format(name.lower())
        first, last = text.find(begin), text.find(end)
        if not 0 <= first < last:
            raise Refusal(f"the page lacks the line '{begin}' or, after it, '{end}'")
        found = read_either(None, results, [kind])
        table = "\n\n".join(of_origin(rows, made) for rows in by_origin(found.rows)) if found else "No rows yet."
        text = f"{text[:first + len(begin)]}\n\n{table}\n\n{text[last:]}"
    return text


def by_origin(rows):
    """In order of appearance."""
    parts = {}
    for row in rows:
        parts.setdefault((row["device"]["name"], row["torch"], row["date"], row["git"][:12]), []).append(row)
    return parts.values()


def of_origin(rows, made):
    first = rows[0]
    return (f"{first['device']['name']}, PyTorch {first['torch']}, {first['date']}, git {first['git'][:12]}"
            f"{' with changes' if any(row['dirty'] for row in rows) else ''}:\n\n" + made(rows))


def table(columns, lines):
    return "\n".join("| " + " | ".join(map(str, cells)) + " |" for cells in [columns, ["---"] * len(columns), *lines])


def host_costs(rows):
    return table(["call", "microseconds"], [[row["call"], f"{row['us']:.1f}"] for row in rows])


def training(rows):
    """One line a row; where a task was trained by torch.fft too, how far its losses are apart from those."""
    def trained(row):
        return row["length"], row["task"], row.get("graph", False)

    by_fft = {trained(row): row for row in rows if row["method"] == "torch.fft"}
    lines = []
    for row in sorted(rows, key=lambda row: (*trained(row), row["method"] != "torch.fft")):
        other = by_fft.get(trained(row))
        apart = "" if other in (None, row) else f"{difference(row, other):.4f}"
        memory = "" if row["memory_bytes"] is None else f"{row['memory_bytes'] / 1e9:.2f}"
        lines.append([row["length"], row["batch"], row["task"], "a graph" if row.get("graph") else "launched",
                      row["method"], f"{row['step_ms']['median']:.2f}", memory, f"{windows(row)[-1]:.4f}", apart])
    return table(["L", "B", "task", "a step is", "by", "ms a step", "GB", "last loss", "most apart"], lines)


def windows(row):
    """Means of a fiftieth of the steps each."""
    losses, width = row["losses"], max(1, len(row["losses"]) // 50)
    return [sum(losses[i:i + width]) / width for i in range(0, len(losses) - width + 1, width)]


def difference(row, other):
    return max(abs(a - b) for a, b in zip(windows(row), windows(other)))


def masked_models(rows):
    """Losses as differences from that without a mask, which stands first."""
    plain = {(row["task"], row["case"]): row["loss"] for row in rows if row["pattern"] == "none"}
    lines = []
    for row in rows:
        loss = plain.get((row["task"], row["case"]))
        more = "" if loss is None or row["pattern"] == "none" else f"{row['loss'] - loss:+.4f}"
        lines.append([row["task"], case_fields(row["case"])["l"], row["pattern"], row["mask"],
                      f"{100 * row['zeros']:.1f} %", f"{row['loss']:.4f}", more])
    return table(["task", "L", "pattern", "mask", "zeros", "loss", "more"], lines)


TABLES = {"Host costs": ("host_cost", host_costs), "Training": ("training", training),
          "Masked models": ("masked_model", masked_models)}

if __name__ == "__main__":
    sys.exit(main())
