"""What the tests of the suite in Python share: its cases, a case's arrays, and the judge.

  PYTHONPATH=BUILD/python NAME_test.py CONFORMANCE_LIBRARY PROGRAM [unittest's own arguments]
"""

import ctypes
import json
import re
import sys
import unittest
from ctypes import POINTER, c_char_p, c_double, c_int
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
DECLARED = json.loads((FOLDER / "cases.json").read_text())
TYPES = {"f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64}  # bfloat16 as its bits
LIBRARY, PROGRAM = sys.argv[1:3]

_judge = ctypes.CDLL(LIBRARY)
for _name, _arguments in (("operations", []), ("arrays", [c_char_p]),
                          ("values", [c_char_p, c_char_p, POINTER(c_double)]),
                          ("complaint", [c_char_p, c_char_p, POINTER(c_char_p), POINTER(POINTER(c_double)), c_int])):
    _function = getattr(_judge, f"conformance_{_name}")
    _function.restype, _function.argtypes = c_char_p, _arguments


def _asked(name, *arguments):
    words = getattr(_judge, f"conformance_{name}")(*arguments).decode()
    if words.startswith("error: "):
        raise ValueError(words)
    return words


def operations():
    """word -> summary, of every operation that is registered."""
    return {each["word"]: each["summary"] for each in json.loads(_asked("operations"))}


def operation_of(token):
    return token.partition("_")[0]


class Case:
    """A case of the list, with what comes into it. Of bfloat16 the bits, uint16."""

    def __init__(self, entry):
        self.token = entry if isinstance(entry, str) else entry["case"]
        self.refused = None if isinstance(entry, str) else entry["refused"]
        self.operation = operation_of(self.token)
        self.words = self.token.split("_")[1:]

    def __repr__(self):
        return self.token

    def has(self, word):
        return word in self.words

    def number(self, name, default=None):
        found = [word[len(name):] for word in self.words if re.fullmatch(name + r"\d+", word)]
        return int(found[0]) if found else default

    @property
    def arrays(self):
        return json.loads(_asked("arrays", self.token.encode()))

    @property
    def batch(self):
        """Rows of a call; 0, which are all of the batch, where channels come first."""
        return next((array["extents"][0] for array in self.arrays if array["batched"]), 0)

    @property
    def dtype(self):
        return next(word for word in self.words if word in TYPES)

    def doubles(self, array):
        values = np.empty(array["extents"])
        _asked("values", self.token.encode(), array["name"].encode(), values.ctypes.data_as(POINTER(c_double)))
        return values

    def inputs(self, *roles):
        """name -> array of the case's types, of these roles."""
        return {array["name"]: from_doubles(self.doubles(array), array["dtype"])
                for array in self.arrays if array["role"] in roles}

    def complaint(self, arithmetic, outputs):
        """Of outputs by name, of their types or of double: what is wrong with the worst row, in words."""
        names, values = [], []
        for array in self.arrays:
            if array["role"] == "output":
                given = outputs[array["name"]]
                if tuple(given.shape) != tuple(array["extents"]):
                    return f"{self}: {array['name']} has shape {given.shape}, must be {array['extents']}"
                names.append(array["name"].encode())
                values.append(np.ascontiguousarray(to_doubles(given, array["dtype"])))
        pointers = [value.ctypes.data_as(POINTER(c_double)) for value in values]
        return _asked("complaint", self.token.encode(), arithmetic.encode(), (c_char_p * len(names))(*names),
                      (POINTER(c_double) * len(names))(*pointers), len(names))


def from_doubles(values, dtype):
    """Of values that the type has."""
    if dtype == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(TYPES[dtype])


def to_doubles(values, dtype):
    if dtype == "bf16" and values.dtype == np.uint16:
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return values.astype(np.float64)


CASES = [Case(entry) for entries in DECLARED["cases"].values() for entry in entries]


def cases_of(door):
    """Those that a door takes, by what is declared: its operations, without the fields that it has no place for."""
    declared = DECLARED["doors"][door]
    for case in CASES:
        if case.operation in declared["operations"] and not reason_against(door, case):
            yield case


def reason_against(door, case):
    """Why a door of the case's operation does not take the case."""
    for without in DECLARED["doors"][door].get("without", []):
        if case.operation in without.get("operations", [case.operation]) \
                and re.search(without["where"], case.token):
            return without["reason"]
    return None


def tests_of(door):
    """Of a method that tests one case: a class's decorator that makes a test of each case that the door takes."""
    def decorate(cls):
        for case in cases_of(door):
            def test(self, case=case):
                self.check(case)
            setattr(cls, f"test_{re.sub(r'[^0-9a-zA-Z]', '_', door)}_{case}", test)
        return cls
    return decorate


def main():
    del sys.argv[1:3]
    unittest.main()
