"""The paper's tables of sparsity: as printed, and what masks and partial filters do here."""

from report import Group, Table
from sparsity import (TABLE7, TABLE9, decibels, first_subject, lines_of, measured_speedup, of_table9, pareto, short, snr,
                      speedup)
from tables.speed import number

PAPER = "paper"


def best(rows):
    """Of each SNR that someone may ask for, the fastest pattern; and the whole front behind a click."""
    rows = first_subject(rows)
    front = pareto(rows)
    chosen = []
    for least in (80, 60, 50, 40, 30, 20, 10):
        near = [row for row in front if snr(row) >= least]
        if near:
            chosen.append([f"{least}", *cells(near[0])])
    columns = ["pattern", "mask", "zeros, %", "energy kept, %", "SNR, dB", "would take, us", "times as fast",
               "matrix instructions, %", "bytes, %"]
    fastest = [row for row in front if snr(row) >= 40]
    gain = speedup(fastest[0]) if fastest else 1
    skipping = sum(row["skips"] for row in rows)
    verdict = (f"{len(rows)} patterns, of {skipping} of which kernels leave something out. At 40 dB the fastest would be "
               f"{gain:.2f} times as fast.")
    return Table(["at least, dB", *columns], chosen, verdict=verdict, details=Table(columns, [cells(r) for r in front]),
                 details_title="Every pattern that no other beats")


def cells(row):
    return [row["pattern"], short(row["mask"], 28), f"{100 * row['zeros']:.1f}", f"{100 * row['energy_kept']:.2f}",
            decibels(row.get("snr_db")), number(row["us"]), f"{speedup(row):.3f}",
            percent(row.get("matrix_instructions"), row.get("dense_matrix_instructions")),
            percent(row.get("bytes"), row.get("dense_bytes"))]


def percent(part, whole):
    return f"{100 * part / whole:.1f}" if part is not None and whole else ""


def table9(rows):
    """Both readings of the paper's patterns, and lines; rows of other factors than the paper's do not count."""
    found = of_table9(rows)
    paper = {counts: [zeros, f"{perplexity:.2f}", f"{faster:.1f}"] for counts, zeros, perplexity, faster in TABLE9}
    lines = []
    for counts in [*paper, *lines_of(found)]:
        lines.append([",".join(map(str, counts)), *paper.get(counts, [""] * 3)])
        if not any(counts):
            lines[-1] += [*["0.0", "no loss", "1.00"] * 2, "1.00"]
            continue
        for literal in (True, False):
            row = found.get((counts, literal))
            lines[-1] += ([f"{100 * row['zeros']:.1f}", decibels(row.get("snr_db")), f"{speedup(row):.2f}"] if row
                          else [""] * 3)
        gain = measured_speedup(found, counts)
        lines[-1].append(f"{gain:.2f}" if gain else "")
    columns = ["a, b, c, d", "zeros, %", "PPL", "speedup", "zeros, %", "SNR, dB", "speedup", "zeros, %", "SNR, dB",
               "speedup", "speedup"]
    groups = [Group("", 1), Group(PAPER, 3, "paper"), Group("as sliced, Eq. 2", 3, "model"),
              Group("with mirrors, Eq. 2", 3, "model"), Group("measured", 1, "measured")]
    return Table(columns, lines, groups)


def table7(rows):
    lines = []
    for row in sorted(rows, key=lambda row: -row["k"]):
        perplexity, gigabytes = TABLE7.get(row["k"], ("", "")) if row["l"] == 8192 else ("", "")
        worst = [error.get("snr_db") for error in row["errors"] if error.get("snr_db") is not None]
        lines.append([row["k"], perplexity, gigabytes, "needs weights", f"{row['total_bytes'] / 1e9:.3f}",
                      f"{row['k_bytes'] / 1e6:.1f}", number(row["us"]) if "us" in row else "", number(row.get("measured_us"))
                      if row.get("measured_us") else "", decibels(min(worst) if worst else None)])
    columns = ["K", "PPL", "memory, GB", "PPL", "memory, GB", "k, MB", "predicted, us", "measured, us", "SNR of y, dB"]
    groups = [Group("", 1), Group("paper, a model in training", 2, "paper"), Group("ours, one convolution", 3),
              Group("", 1, "model"), Group("", 1, "measured"), Group("", 1)]
    return Table(columns, lines, groups)
