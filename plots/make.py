#!/usr/bin/python3
"""Draws the figures of figures.toml from result files, and writes the report.

  plots/make.py --list                         every figure and table, and whether its data is there
  plots/make.py                                all figures of out/*.jsonl as out/figures/*.svg and *.png
  plots/make.py figure4 --data out --out /tmp  one figure
  plots/make.py --report out/report.html       all figures, and the page that explains them
  plots/make.py --readme README.md             the README's table of measured times, from committed rows

Measured rows come from experiments/results/ too; while there are none, what shows them is left out.
Exit code 2 where an argument is wrong or a result file is refused; nothing is half-written.
"""

import argparse
import importlib
import sys
import tomllib
from pathlib import Path

sys.dont_write_bytecode = True  # leaves the source tree as it is

import measurements  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402

HERE = Path(__file__).resolve().parent


def main(arguments):
    with open(HERE / "figures.toml", "rb") as file:
        entries = {name: {"id": name, **entry} for name, entry in tomllib.load(file).items()}
    figures = [name for name, entry in entries.items() if "draw" in entry]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", metavar="ID", help=f"figures to draw (default: all): {', '.join(figures)}")
    parser.add_argument("--data", type=Path, default=Path("out"), metavar="DIR",
                        help="folder of result files (default: out)")
    parser.add_argument("--out", type=Path, default=Path("out/figures"), metavar="DIR",
                        help="folder of figures (default: out/figures)")
    parser.add_argument("--committed", type=Path, default=measurements.COMMITTED, metavar="DIR",
                        help="folder of measured rows and peers' times (default: experiments/results)")
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the page with every figure and table")
    parser.add_argument("--readme", type=Path, metavar="FILE",
                        help="write the table of measured times between its two markers in FILE, and nothing else")
    parser.add_argument("--list", action="store_true", help="list figures and tables, and draw nothing")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.ids if name not in figures]
    if unknown:
        parser.error(f"unknown figure '{unknown[0]}', must be one of {', '.join(figures)}")
    if options.report and options.ids:
        parser.error("--report shows every figure, name none with it")

    if options.list:
        list_entries(entries.values(), options)
        return
    if options.readme:
        write_readme(options.readme, options.committed)
        return
    chosen = options.ids or list(entries if options.report else figures)
    made = [make(entries[name], options) for name in chosen]  # all of it before the first file is written
    sections = [section for section in made if section]
    for name, section in zip(chosen, made):
        if section is None and options.ids:
            raise results.Refusal(f"{name}: {nothing_measured(entries[name], options)}")
        if section is None:
            print(f"make.py: {name}: left out, {nothing_measured(entries[name], options)}", file=sys.stderr)
    write_figures(sections, options.out)
    if options.report:
        write_text(options.report, report.page(sections))
        print(options.report)


def nothing_measured(entry, options):
    return f"no measured rows in {options.committed} or {options.data}; {entry['measured_by']} makes them"


def list_entries(entries, options):
    for entry in entries:
        path = options.data / entry["data"]
        missing = f"needs {path}, which is not there"
        if "measured_by" in entry:
            found = measured(entry, options)
            stale = sum(row["stale"] for row in found.rows) if found else 0
            here = (f"{len(found.rows)} measured rows, {stale} of them stale" if found
                    else nothing_measured(entry, options))
        else:
            here = str(path) if path.exists() else missing
        what = "figure" if "draw" in entry else "table"
        print("{:<8}{:<16}{:<72}{:<36}{}".format(what, entry["id"], entry["title"], f"paper: {entry['paper']}", here))


def measured(entry, options):
    accept = entry.get("accept", ["passed"])
    return measurements.read_all(options.data / entry["data"], options.committed, entry["kind"], accept)


def make(entry, options):
    """Reads the entry's results and draws or builds what it names. None where nothing was measured yet."""
    path = options.data / entry["data"]
    more = []
    if "measured_by" in entry:
        found = measured(entry, options)
        if found is None:
            return None
    else:
        found = results.read(path, entry["kind"], entry.get("accept", ["passed"]))
    if "peers" in entry:
        peers = measurements.Peers(options.committed / entry["peers"])
        found = results.Results([*found.sources, peers.source], found.rows)
        more = [peers]
    section = report.Section(entry, found)
    import style  # only now: it brings matplotlib, which a list or a refusal need not wait for
    try:
        if "build" in entry:
            section.table = function("tables", entry["build"])(found.rows, *more)
        else:
            section.figure = style.new_figure(entry["title"], found.footer(), entry["size"])
            function("drawings", entry["draw"])(section.figure, found.rows, *more)
    except KeyError as error:
        raise results.Refusal(f"{path}: {entry['id']} needs the field {error}, which a row lacks") from error
    return section


def function(folder, name):
    module, function = name.split(".")
    return getattr(importlib.import_module(f"{folder}.{module}"), function)


def write_figures(sections, folder):
    import style
    folder.mkdir(parents=True, exist_ok=True)
    for section in sections:
        if section.figure is None:
            continue
        for suffix in (".svg", ".png"):
            path = folder / (section.entry["id"] + suffix)
            style.save(section.figure, path)
            print(path)
        section.svg = (folder / (section.entry["id"] + ".svg")).read_bytes()


MARKERS = "<!-- Measured times, written by plots/make.py --readme README.md -->", "<!-- End of measured times -->"


def write_readme(path, committed):
    text = results.contents(path).decode()
    begin, end = (text.find(marker) for marker in MARKERS)
    if not 0 <= begin < end:
        raise results.Refusal(f"{path}: lacks the line '{MARKERS[0]}' or, after it, '{MARKERS[1]}'")
    with open(HERE / "figures.toml", "rb") as file:
        entry = tomllib.load(file)["speed"]
    found = measurements.read_all(None, committed, entry["kind"], entry["accept"])
    table = ""
    if found:
        peers = measurements.Peers(committed / entry["peers"])
        table = "\n" + function("tables", "readme.speed")(found, peers) + "\n\n"
    write_text(path, text[:begin + len(MARKERS[0])] + "\n" + table + text[end:])


def write_text(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except results.Refusal as refusal:
        complaint = refusal
    except OSError as error:
        complaint = f"cannot write: {error}"
    else:
        sys.exit(0)
    print(f"make.py: {complaint}", file=sys.stderr)
    sys.exit(2)
