"""Draws the losses of train.py's rows, by task and length: those of every method in one panel.

  python python/examples/curves.py rows.jsonl curves.svg

Needs matplotlib. Losses are means of a fiftieth of the steps each.
"""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt

LOOKS = {"torch.fft": {"color": "#E69F00", "linewidth": 3}, "danaus": {"color": "#0072B2", "linestyle": "--"}}


def main(source, target):
    rows = [row for row in map(json.loads, Path(source).read_text().splitlines()) if row["kind"] == "training"]
    if not rows:
        sys.exit(f"curves: {source} has no rows of kind training; train.py makes them")
    panels = sorted({(row["task"], row["length"]) for row in rows})
    figure, axes = plt.subplots(1, len(panels), figsize=(4.5 * len(panels), 3.6), squeeze=False, layout="constrained")
    for axis, (task, length) in zip(axes[0], panels):
        for row in rows:
            if (row["task"], row["length"]) == (task, length):
                axis.plot(*smoothed(row["losses"]), label=row["method"] + ", graphs" * row.get("graph", False),
                          **LOOKS[row["method"]])
        axis.set(title=f"{task}, L = {length}", xlabel="step", ylabel="loss (nats)")
        axis.legend(frameon=False)
    origin = {f"{row['device']['name']}, {row['dtype']}, PyTorch {row['torch']}, {row['date']}" for row in rows}
    figure.supxlabel("; ".join(sorted(origin)), fontsize=8)
    figure.savefig(target)


def smoothed(losses):
    """Middles and means of windows."""
    width = max(1, len(losses) // 50)
    starts = range(0, len(losses) - width + 1, width)
    return [start + width / 2 for start in starts], [sum(losses[start:start + width]) / width for start in starts]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
