"""What the rows of danaus model --measured say, kind by kind."""

from results import case_fields

# The models in the order in which they are shown.
MODELS = {"eq2_paper": "Eq. 2, the paper's A100 rates", "eq2_profile": "Eq. 2, this GPU's rates",
          "counted": "counted work"}


def of_kind(rows, kind):
    return [row for row in rows if row["kind"] == kind]


def of_model(row, name):
    """A row's entry for a model, None where the model has none."""
    return next((entry for entry in row["models"] if entry["name"] == name and entry["us"] is not None), None)


def models_of(rows):
    """The names of the models that rows of predictions or choices know, in the order of MODELS."""
    known = {entry["name"] for row in rows for entry in row["models"]}
    return [name for name in MODELS if name in known] + sorted(known - set(MODELS))


def title(model):
    return MODELS.get(model, model)


def fastest(rows, *fields, dtype="f16", mode="circular", gated=False):
    """Of the predictions for B=64, H=768 and L = N in this type and mode, the fastest measured of each value of the
    fields, by value."""
    found = {}
    for row in of_kind(rows, "prediction"):
        asked = (row["dtype"], row["mode"], row["gated"], row["batch"], row["channels"], case_fields(row["case"])["l"])
        if asked == (dtype, mode, gated, 64, 768, row["n"]):
            place = tuple(row[field] for field in fields)
            if place not in found or row["measured_us"] < found[place]["measured_us"]:
                found[place] = row
    return [found[place] for place in sorted(found)]
