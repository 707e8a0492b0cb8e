"""The tables of Fu et al. 2023, as printed."""

from dataclasses import dataclass

from results import number, read_table

FILES = ("paper_tables.csv", "paper_table15.csv")
COLUMNS = ("table", "fft_size", "order", "pytorch", "flashfftconv", "fusion_only", "ratio", "memory_ratio", "note")


@dataclass(frozen=True)
class Printed:
    """A line of a table. Times in milliseconds, memory in units of 1000 MiB; None where nothing is printed."""
    table: int
    fft_size: int
    order: "int | None"
    pytorch: float
    flashfftconv: float
    fusion_only: "float | None"
    ratio: float
    memory_ratio: "float | None"
    note: str


def printed(row):
    def perhaps(column, kind=float):
        return number(row[column], kind) if row[column] else None
    return Printed(int(row["table"]), int(row["fft_size"]), perhaps("order", int), number(row["pytorch"]),
                   number(row["flashfftconv"]), perhaps("fusion_only"), number(row["ratio"]), perhaps("memory_ratio"),
                   row["note"])


class Paper:
    def __init__(self, committed):
        tables = [read_table(committed / file, COLUMNS, printed) for file in FILES]
        self.sources = [source for source, _ in tables]
        self.rows = [row for _, rows in tables for row in rows]

    def table(self, number):
        return [row for row in self.rows if row.table == number]
