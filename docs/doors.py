"""Writes doors.md, the table of operations and doors, from the suite's declarations.

  python3 docs/doors.py [--check]     with --check it exits 1 where doors.md is not what it would write
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DECLARATIONS = ROOT / "tests/conformance/cases.json"
PAGE = Path(__file__).with_name("doors.md")

HEAD = """# Operations and doors

<!-- Written by docs/doors.py from tests/conformance/cases.json. Do not edit. -->

A door is a way to call an operation. The conformance suite (`tests/conformance/`) makes a plan or a call for each case
of each operation at each door. It compares every row of every output with the truth in double precision. The error of a
row is relative to the norm of what was summed to it, |u| |k|, and must keep the bound of its arithmetic. `no` has its
reason under [Empty cells](#empty-cells).

"""


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def page():
    declared = json.loads(DECLARATIONS.read_text())
    cases, doors = declared["cases"], declared["doors"]
    text = HEAD + table(
        ["operation", *(f"`{name}`" for name in doors)],
        [[f"`{operation}`", *("yes" if operation in door["operations"] else "no" for door in doors.values())]
         for operation in cases])
    text += "\n## Doors\n\n" + table(
        ["door", "language", "what it is", "calls", "test"],
        [[f"`{name}`", door["kind"], door["what"], ", ".join(dict.fromkeys(door["operations"].values())),
          f"`{door['tests']}`"] for name, door in doors.items()])
    text += "\n## Empty cells\n\n" + table(
        ["door", "operation", "why, and what to take instead"],
        [[f"`{name}`", f"`{operation}`", reason] for name, door in doors.items()
         for operation, reason in door["empty"].items()])
    text += "\n## Fields of a token that a door does not take\n\n" + table(
        ["door", "operations", "fields", "why, and what to take instead"],
        [[f"`{name}`", ", ".join(f"`{each}`" for each in without.get("operations", door["operations"])),
          without["fields"], without["reason"]]
         for name, door in doors.items() for without in door.get("without", [])])
    text += "\n## Commands of the program that compute no output of a caller's\n\n" + table(
        ["command", "what it is", "operations"],
        [[f"`danaus {name}`", command["what"], {"any": "all", "none": "none", "sweeps": "all, on a GPU"}[command["by"]]
          if isinstance(command["by"], str) else ", ".join(f"`{each}`" for each in command["by"])]
         for name, command in declared["commands"].items()])
    refused = [each for entries in cases.values() for each in entries if isinstance(each, dict)]
    text += "\n## Cases without a kernel\n\nA plan refuses these. Doors in double compute them.\n\n" + table(
        ["case", "why"], [[f"`{each['case']}`", each["why"]] for each in refused])
    return text


def main():
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != page():
            sys.exit(f"doors: {PAGE} is not what {DECLARATIONS.name} says; run python3 docs/doors.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        PAGE.write_text(page())


if __name__ == "__main__":
    main()
