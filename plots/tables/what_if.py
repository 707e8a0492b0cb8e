"""Which kernel each N would have with less shared memory."""

from report import Table
from style import length
from tables.speed import number
from what_ifs import by_class, place


def kernels(rows):
    modes, lines = {}, []
    for row in rows:
        modes.setdefault(place(row), []).append(row)
    for name, group in modes.items():
        classes = by_class(group)
        whole = {row["n"]: row["us"] for row in classes[max(classes)]}
        for kilobytes, line in classes.items():
            lines.append([f"{name}, {kilobytes} KB a block"])
            lines += [cells(row, whole.get(row["n"])) for row in line]
    missing = [row for row in rows if row["us"] is None]
    columns = ["N", "kernel", "shared memory, bytes", "blocks an SM", "u and y by", "predicted, us", "over the most",
               "bound by"]
    return Table(verdict=sentence(missing, rows), details=Table(columns, lines), details_title="The kernel of each N")


def cells(row, whole):
    if row["us"] is None:
        return [length(row["n"]), "none fits", "", "", "", "", "", ""]
    return [length(row["n"]), row["kernel"], row["shared_bytes"], row["blocks_per_sm"], row["transfer"],
            number(row["us"]), f"{row['us'] / whole:.2f}" if whole else "", row["limit"]]


def sentence(missing, rows):
    if not missing:
        return f"All {len(rows)} cases stay fused."
    lost = sorted({(row["shared_kb"], row["n"]) for row in missing})
    return f"{len(rows) - len(missing)} of {len(rows)} cases stay fused; not " + ", ".join(
        f"{length(n)} with {kilobytes} KB" for kilobytes, n in lost) + "."
