"""Rows of kinds explore and partial."""

import math
from dataclasses import dataclass

from measurements import left_to_the_plan, passed, us
from results import case_fields

# Of a pattern's kind: mark and colour are drawings/sparsity.py's, the order is that of legends.
KINDS = {"paper": "the paper's patterns", "grid": "grid (a, b, ...)", "lines": "lines", "low": "low-pass",
         "high": "high-pass", "band": "band-stop", "random": "random blocks", "energy": "least energy first",
         "greedy": "greedy", "file": "a mask of one's own"}
LOSSLESS = 160  # dB: where what loses nothing is drawn

# Fu et al. 2023, Tables 9 and 10, of 32 x 32 x 32 x 64: zeroed, zeros in percent, perplexity, speedup.
TABLE9 = (((0, 0, 0, 0), 0, 2.91, 1.0), ((16, 0, 0, 0), 50, 2.91, 1.2), ((16, 16, 0, 0), 75, 2.90, 1.3),
          ((16, 16, 4, 4), 79, 2.91, 1.4), ((16, 16, 8, 8), 84, 2.93, 1.5), ((16, 16, 16, 16), 91, 2.98, 1.8))
TABLE9_FACTORS = [64, 32, 32, 32]

# Table 7, Hyena-s-8K in training: perplexity and memory in GB, by K.
TABLE7 = {8192: (13.8, 32.5), 4096: (13.8, 15.3), 2048: (13.8, 11.8), 1024: (13.9, 8.4), 512: (14.0, 6.1),
          256: (14.2, 5.8)}


def subject(row):
    """What rows must share to stand in one figure."""
    return row["dense_case"], row["data"]["filters"]["name"], row["profile"]


def first_subject(rows):
    """Rows of the case and filters that come first."""
    return [row for row in rows if subject(row) == subject(rows[0])]


def title_of(row):
    return f"{row['dense_case']}, {row['data']['filters']['name']} filters"


def snr(row):
    return min(row.get("snr_db", LOSSLESS), LOSSLESS)


def speedup(row):
    return row["dense_us"] / row["us"]


def pareto(rows):
    """Those that no other row beats in both time and error, the fastest first."""
    front = []
    for row in sorted(rows, key=lambda row: (row["us"], -snr(row))):
        if not front or snr(row) > snr(front[-1]):
            front.append(row)
    return front


def zeroed(row):
    """The counts (a, b, ...) of a pattern, and whether it is read literally; None of another mask."""
    words = row["mask"].removeprefix("zero")
    if words == row["mask"]:
        return None
    literal = words.endswith("literal")
    return tuple(int(word) for word in words.removesuffix("literal").split("x")), literal


def of_table9(rows):
    """Rows of the paper's own factors by what they zero, (a, b, c, d), and whether they read that literally. What is
    sliced leaves one side to single rows; in pairs, which are what is timed, mirrors stay."""
    found = {}
    for row in rows:
        if row["factors"] == TABLE9_FACTORS and (key := zeroed(row)):
            if key not in found or ("_plain_" in row["dense_case"]) == key[1]:
                found[key] = row
    return found


def measured_speedup(found, counts):
    """Of the dense kernel over that of a pattern, whose readings leave the same to compute; None where neither or the
    dense one was timed."""
    rows = (found.get((counts, literal)) for literal in (True, False))
    return next((row["measured_dense_us"] / row["measured_us"] for row in rows
                 if row and row.get("measured_us") and row.get("measured_dense_us")), None)


def lines_of(found):
    """Of of_table9() those that zero the outermost dimension alone, few zeros first."""
    return sorted(counts for counts, literal in found if not literal and not any(counts[:3]))


def short(mask, most=40):
    return mask if len(mask) <= most else mask[:most - 1] + "\u2026"


def decibels(value):
    return "no loss" if value is None else f"{value:.1f}"


def in_decibels(energies):
    """Relative to the largest, not below -120."""
    most = max(energies)
    return [max(-120, 10 * math.log10(energy / most)) if energy > 0 else -120 for energy in energies]


@dataclass(frozen=True)
class Gain:
    """What a mask does to the time of one case, both measured."""
    device: str
    length: int
    batch: int
    dtype: str
    mask: str
    ratio: float  # of the time without a mask over that with it
    age: str


def gains_of_masks(rows):
    """A Gain for each measured kernel with a mask beside one without: the plan's kernel of the same problem, or the
    fastest with named factors. Both are of today's code, or neither is."""
    dense, gains = {}, []
    kernels = [row for row in rows if row["method"] == "kernel" and passed(row)
               and case_fields(row["case"])["operation"] == "fftconv"]
    for row in kernels:
        if not case_fields(row["case"])["zero"]:
            dense.setdefault((problem(row), row["age"]), []).append(row)
    for row in kernels:
        fields, beside = case_fields(row["case"]), dense.get((problem(row), row["age"]))
        if fields["zero"] and beside:
            without = min(beside, key=lambda each: (not left_to_the_plan(each["case"]), us(each)))
            gains.append(Gain(row["device"]["name"], fields["l"], fields["b"], fields["dtype"], fields["zero"],
                              us(without) / us(row), row["age"]))
    return gains


def problem(row):
    fields = case_fields(row["case"])
    return row["device"]["name"], *(str(fields[name]) for name in ("dtype", "mode", "l", "k", "b", "h", "gates"))
