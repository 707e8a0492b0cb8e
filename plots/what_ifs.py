"""Rows of kind what_if."""

from style import DTYPE


def place(row):
    """What is asked, but for N and shared memory, in words."""
    return f"{DTYPE[row['dtype']]}, {row['mode']}" + (", gated" if row["gated"] else "")


def by_class(rows):
    """{shared memory of a block in KB: rows by N}, the most first."""
    classes = {}
    for row in sorted(rows, key=lambda row: (-row["shared_kb"], row["n"])):
        classes.setdefault(row["shared_kb"], []).append(row)
    return classes
