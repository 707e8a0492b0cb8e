"""Rows of what the examples find, as lines of JSON; the same first fields say of all where they come from."""

import datetime
import json

import torch

import danaus


def origin(kind, device):
    """The fields that every row begins with; the revision is that of the sources which the library was built from."""
    built = danaus.run("list", "methods")[0]
    return {"schema": 1, "kind": kind, "date": datetime.date.today().isoformat(), "git": built["git"],
            "dirty": built["dirty"], "torch": str(torch.__version__),
            "device": {"name": torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else "CPU"}}


def append(path, *rows):
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
