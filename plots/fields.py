"""Rows of kind field."""

from results import Refusal

NAMES = {"random": "random field", "burgers": "Burgers' equation"}


def by_name(rows):
    """{name: row}, in the order of NAMES."""
    found = {row["field"]: row for row in rows}
    return {name: found[name] for name in NAMES if name in found}


def points_of(row):
    product = 1
    for length in row["lengths"]:
        product *= length
    return product


def require_whole(row):
    """Refuses arrays that are not of the sizes that the row says."""
    last = row["lengths"][-1]
    arrays = [("spectrum_db", row["spectrum_db"], points_of(row) // last * (last // 2 + 1)),
              *(("samples", values, points_of(row))
                for values in (row["samples"], *(each["result"] for each in row["truncations"])))]
    for name, values, count in arrays:
        if len(values) != count:
            raise Refusal(f"fields: the {row['field']} field has {len(values)} {name}, must be {count}")
