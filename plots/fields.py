"""Rows of kind field."""

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
    """Raises KeyError where arrays are not of the sizes that the row says."""
    half = row["lengths"][-1] // 2 + 1
    frequencies = points_of(row) // row["lengths"][-1] * half
    if len(row["spectrum_db"]) != frequencies:
        raise KeyError("spectrum_db")
    for name, values in (("samples", row["samples"]), *(("result", each["result"]) for each in row["truncations"])):
        if len(values) != points_of(row):
            raise KeyError(name)
