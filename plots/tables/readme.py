"""How long measured convolutions take, in short: Markdown for the README."""

from measurements import passed
from results import case_fields
from style import length
from tables.speed import blocks, number, protocol

CUFFT = ("cufft_f32", "cufft_pairs")


def speed(results, peers):
    """Of the device with most rows: a table for the first block of cases, and for every other its multiples of the
    floor."""
    names = [row["device"]["name"] for row in results.rows]
    device = max(names, key=names.count)
    (heading, main), *others = blocks([row for row in results.rows if row["device"]["name"] == device]).items()
    lines = [f"{heading}, {results.revision()}. Times in microseconds, clocks in MHz; ~ is scaled from fewer rows, and a",
             "peer's cuFFT without its packing:", "", *table(
                 ["L", "floor", "burst", "× floor", "clock", "sustained", "× floor", "clock", "best cuFFT", "best peer"],
                 [line(case, methods, peers) for case, methods in main.items()])]
    if others:
        lengths = sorted({case_fields(case)["l"] for _, block in others for case in block})
        lines += ["", "Bursts in multiples of the floor of each case, on the same GPU:", "", *table(
            ["", *map(length, lengths)], [ratios(heading, block, lengths) for heading, block in others])]
    return "\n".join(lines)


def line(case, methods, peers):
    row = next(iter(methods.values()))
    floor, best = row["floor"]["us"], peers.best(row)
    cells = [length(case_fields(case)["l"]), number(floor)]
    for name in ("burst_cold", "sustained_cold"):
        time, clock, ratio = protocol(methods.get("kernel"), name, floor)
        cells += [time, ratio, clock]
    cufft = [methods[method]["time_us"]["burst_cold"]["median"] for method in CUFFT
             if method in methods and passed(methods[method])]
    return [*cells, number(min(cufft)) if cufft else "",
            f"{'~' if best.scaled else ''}{number(best.us)} {best.label()}" if best else ""]


def ratios(heading, block, lengths):
    """The block's name, and for each length the multiple of the floor or nothing."""
    by_length = {case_fields(case)["l"]: methods for case, methods in block.items()}
    cells = [heading.split(": ", 1)[1]]
    for n in lengths:
        kernel = by_length.get(n, {}).get("kernel")
        cells.append(protocol(kernel, "burst_cold", kernel["floor"]["us"])[2] if kernel else "")
    return cells


def table(columns, rows):
    return ["| " + " | ".join(cells) + " |" for cells in (columns, ["---"] * len(columns), *rows)]
