"""Points of a figure that answer to mouse, finger and keys: data for templates/points.html."""

import re

import style
from sparsity import KINDS, decibels, first_subject, in_decibels, pareto, snr, title_of

COLOURS = {"paper": style.VERMILION, "grid": style.SKY, "low": style.BLUE, "high": style.ORANGE, "band": style.YELLOW,
           "random": "#B0B0B0", "energy": style.GREEN, "greedy": style.PURPLE, "file": style.BLACK}


MOST = 400  # of those that others beat


def sparsity(rows):
    """Of the rows' first case and filters: those that no other beats, the paper's, and some of the rest."""
    rows = first_subject(rows)
    best = [id(row) for row in pareto(rows)]
    rest = [id(row) for row in rows if id(row) not in best and row["pattern"] != "paper"]
    left_out = set(rest) - set(rest[::max(1, -(-len(rest) // MOST))])
    rows = [row for row in rows if id(row) not in left_out]
    front = [rows.index(row) for row in pareto(rows)]
    near = [i for i, at in enumerate(front) if snr(rows[at]) >= 40]
    return {"title": title_of(rows[0]), "case": few_rows(rows[0]["dense_case"]), "dense_us": rounded(rows[0]["dense_us"]),
            "model": f"{rows[0]['predicted_by']} on {rows[0]['profile']}", "kinds": KINDS, "colours": COLOURS,
            "energy_db": [rounded(value) for value in in_decibels(rows[0]["energy_bins"])],
            "front": front, "start": near[0] if near else len(front) - 1, "points": [point(row) for row in rows]}


def point(row):
    errors = "; ".join(f"{decibels(error.get('snr_db'))}{' dB' if error.get('snr_db') is not None else ''} on {error['input']}"
                       for error in row["errors"])
    left = [f"{stage['live']} of {stage['blocks']} blocks of the stage of {stage['factor']}" for stage in row["stages"]]
    for name, part, whole in (("matrix instructions", "matrix_instructions", "dense_matrix_instructions"),
                              ("bytes", "bytes", "dense_bytes")):
        if row.get(whole):
            left.append(f"{100 * row[part] / row[whole]:.1f} % of the {name}")
    return {"kind": row["pattern"], "mask": row["mask"], "us": rounded(row["us"]), "shown_db": rounded(snr(row)),
            "zeros": rounded(100 * row["zeros"]), "energy": rounded(100 * row["energy_kept"]), "errors": errors,
            "left": ", ".join(left), "kept": "".join(f"{round(15 * min(1, kept)):x}" for kept in row["kept_bins"])}


def few_rows(case):
    """The case with a few rows, which are enough to see that a mask is right."""
    return re.sub(r"_b\d+_h\d+", "_b2_h4", case)


def rounded(value):
    return float(f"{value:.5g}")
