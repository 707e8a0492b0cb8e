"""Arrows between folders point one way: what each may include, as the map in docs/extending.md says."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What kernels and model see of reference/: what is asked, and not the truth.
ASKED = re.compile(r"reference/(basics|file_name|limits|operation|promise|spelling|convolution/mask)\.hpp|reference/(\w+)/\2\.hpp")
ROOMS = ["device", "executor", "tile", "memory", "product", "families", "plan", "cpu", "cuda"]
BELOW = {"device": set(), "executor": {"device"}, "tile": {"device"}, "memory": {"device", "tile"},
         "product": {"device", "tile", "memory"}, "families": {"device", "tile", "memory", "product"},
         "plan": {"device", "tile", "memory", "product", "families"},
         "cpu": {"device", "executor", "tile", "memory", "product", "families", "plan"},
         "cuda": {"device", "tile", "memory", "product", "families", "plan"}}
# Rooms of experiments/, each of which knows only those before it.
ORDER = ("cli io arithmetic operations timing methods code count predict explore verify bench calibrate decode convolve "
         "fields random record commands").split()
FOLDERS = {"reference": set(), "kernels": {"reference"}, "model": {"reference"},
           "experiments": {"reference", "kernels", "model"},
           "python": {"reference", "kernels", "experiments"}}
# Families whose kernels are steps of another's, which knows nothing of them.
UPON = {"cluster": "chain", "chain_gradient": "chain", "exchange_gradient": "exchange",
        "layer_gradient": "layer", "taps": "spectrum"}
# Where a kernel's operations become the executor's: the headers that choose between two machines.
ONE_SOURCE_TWO_MACHINES = {("kernels/device/operations.hpp", "kernels/executor/operations.hpp"),
                           ("kernels/device/warpgroup.hpp", "kernels/executor/warpgroup.hpp")}


def includes():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".in", ".cu", ".cuh") and not path.name.endswith("_test.cpp"):
                name = path.relative_to(ROOT).as_posix()
                for included in re.findall(r'^#include "((?:reference|kernels|model|experiments|python)/[^"]+)"',
                                           path.read_text(), re.MULTILINE):
                    yield name, included


class Arrows(unittest.TestCase):
    def test_between_folders(self):
        for name, included in includes():
            here, there = name.split("/")[0], included.split("/")[0]
            self.assertIn(there, FOLDERS[here] | {here}, f"{name} includes {included}")
            if here in ("kernels", "model") and there == "reference":
                self.assertRegex(included, ASKED, f"in {name}")

    def test_between_the_rooms_of_kernels(self):
        for name, included in includes():
            here, there = name.split("/")[1], included.split("/")[1]
            if not name.startswith("kernels/") or not included.startswith("kernels/"):
                continue
            if here not in ROOMS or (name, included) in ONE_SOURCE_TWO_MACHINES:
                continue
            self.assertIn(there, BELOW[here] | {here}, f"{name} includes {included}")

    def test_between_the_rooms_of_experiments(self):
        for name, included in includes():
            here, there = name.split("/")[1], included.split("/")[1]
            if name.startswith("experiments/") and included.startswith("experiments/") and name.count("/") > 1:
                self.assertLessEqual(ORDER.index(there), ORDER.index(here), f"{name} includes {included}")

    def test_between_families(self):
        for name, included in includes():
            of, other = (re.match(r"kernels/families/(\w+)/", path) for path in (name, included))
            if of and other:
                self.assertIn(other[1], {of[1], UPON.get(of[1])}, f"{name} includes {included}")


if __name__ == "__main__":
    unittest.main()
