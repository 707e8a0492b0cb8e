"""What truncated spectra lose."""

from fields import NAMES, by_name
from report import Table

COLUMNS = ["modes of an axis", "frequencies", "of all, %", "lost, %", "kernel's error, %"]
SMALL = 0.01  # relative L2


def lost(rows):
    """A block for each field, a line for each number of modes."""
    lines, words = [], []
    for name, row in by_name(rows).items():
        lines.append([f"{row['what']}, {' × '.join(map(str, row['lengths']))}"])
        lines += [[each["modes"], each["kept"], f"{100 * each['share']:.1f}", percent(each["lost"]),
                   "" if each["kernel_error"] is None else percent(each["kernel_error"])]
                  for each in row["truncations"]]
        few = next((each for each in row["truncations"] if each["lost"] < SMALL), None)
        words.append(f"{NAMES[name]} needs " + (f"{100 * few['share']:.1f} % of its frequencies" if few else "more than all"))
    return Table(COLUMNS, lines, verdict=f"To lose less than {100 * SMALL:.0f} %, of the modes tried: {'; '.join(words)}.")


def percent(value):
    return f"{100 * value:.3f}" if value >= 1e-5 else "none"
