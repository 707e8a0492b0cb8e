#!/usr/bin/python3
"""Draws the figures of figures.toml from result files, and writes the report.

  plots/make.py --list                         every figure and table, and whether its data is there
  plots/make.py                                all figures of out/*.jsonl as out/figures/*.svg and *.png
  plots/make.py figure4 --data out --out /tmp  one figure
  plots/make.py --report out/report.html       all figures, the page of answers, and report/ with its chapters
  plots/make.py --judge                        how well the models predict what was measured, in a small table
  plots/make.py --readme README.md             a page's tables, from committed rows; also of docs/results.md

Rows come from --data, and from experiments/results/ where that has such. A figure or table without rows is left out.
Exit code 2 where an argument is wrong or a result file is refused; nothing is half-written.
"""

import argparse
import functools
import importlib
import multiprocessing
import sys
import tomllib
from pathlib import Path

sys.dont_write_bytecode = True  # leaves the source tree as it is

import measurements  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402
import sources  # noqa: E402

HERE = Path(__file__).resolve().parent


@functools.cache
def all_entries():
    """Of figures.toml, by their names."""
    with open(HERE / "figures.toml", "rb") as file:
        return {name: {"id": name, **entry} for name, entry in tomllib.load(file).items()}


def main(arguments):
    entries = all_entries()
    figures = [name for name, entry in entries.items() if "draw" in entry]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", metavar="ID", help=f"figures to draw (default: all): {', '.join(figures)}")
    parser.add_argument("--data", type=Path, default=Path("out"), metavar="DIR",
                        help="folder of result files (default: out)")
    parser.add_argument("--out", type=Path, default=Path("out/figures"), metavar="DIR",
                        help="folder of figures (default: out/figures)")
    parser.add_argument("--committed", type=Path, default=measurements.COMMITTED, metavar="DIR",
                        help="folder of measured rows and of others' times (default: experiments/results)")
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the page of answers, and its chapters into the folder of its name")
    parser.add_argument("--readme", type=Path, metavar="FILE",
                        help="write the tables between their markers in FILE, and nothing else")
    parser.add_argument("--judge", action="store_true", help="print how well the models predict, and draw nothing")
    parser.add_argument("--list", action="store_true", help="list figures and tables, and draw nothing")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.ids if name not in figures]
    if unknown:
        parser.error(f"unknown figure '{unknown[0]}', must be one of {', '.join(figures)}")
    if options.report and options.ids:
        parser.error("--report shows every figure, name none with it")

    if options.list:
        list_entries(entries.values(), options)
    elif options.judge:
        predictions = sources.rows_of(entries["judgement"], options.data, options.committed)
        if not predictions:
            raise results.Refusal(no_rows(entries["judgement"], options))
        print(function("tables", "readme.judgement")(predictions.rows))
    elif options.readme:
        text = results.text(options.readme)
        write_text(options.readme, function("tables", "readme.with_tables")(options.readme, text, options.committed))
    else:
        draw([entries[name] for name in options.ids or (entries if options.report else figures)], options)


def draw(chosen, options):
    """Draws and builds all of it before the first file is written. What was not asked for by name may lack rows."""
    sections, missing = [], []
    for entry in chosen:
        section = make(entry, options)
        if section:
            sections.append(section)
        else:
            missing.append((entry, no_rows(entry, options)))
    if missing and (options.ids or not sections):
        raise results.Refusal("; ".join(f"{entry['id']}: {why}" for entry, why in missing))
    for entry, why in missing:
        print(f"make.py: {entry['id']}: left out, {why}", file=sys.stderr)
    write_figures(sections, options.out)
    if options.report:
        for path, text in report.pages(options.report, sections, missing).items():
            write_text(path, text)
        print(options.report)


def no_rows(entry, options):
    return f"no rows in {options.data / entry['data']} or {options.committed}; {entry['made_by']} makes them"


def list_entries(entries, options):
    for entry in entries:
        found = sources.rows_of(entry, options.data, options.committed)
        here = no_rows(entry, options)
        if found:
            here = ", ".join(filter(None, (f"{len(found.rows)} rows", measurements.ages(found.rows))))
        what = "figure" if "draw" in entry else "table"
        print("{:<8}{:<16}{:<72}{:<36}{}".format(what, entry["id"], entry["title"], f"paper: {entry['paper']}", here))


def make(entry, options):
    """Reads the entry's results and draws or builds what it names. None where there are none."""
    found = sources.rows_of(entry, options.data, options.committed)
    if found is None:
        return None
    beside = sources.beside(entry, options.data, options.committed)
    section = report.Section(entry, found.beside([*found.others, *beside]))
    try:
        if "build" in entry:
            section.table = function("tables", entry["build"])(found.rows, *beside)
        if "points" in entry:
            section.points = function(".", entry["points"])(found.rows)
        if "draw" in entry:
            import style  # only now: it brings matplotlib, which a list or a refusal need not wait for
            for name in report.FORMS:
                figure = style.new_figure(entry["title"], section.results.caption(), entry[name])
                function("drawings", entry["draw"])(figure, found.rows, *beside)
                section.figures[name] = figure
    except KeyError as error:
        where = options.data / entry["data"]
        raise results.Refusal(f"{where}: {entry['id']} needs the field {error}, which a row lacks") from error
    return section


def function(folder, name):
    module, function = name.split(".")
    return getattr(importlib.import_module(module if folder == "." else f"{folder}.{module}"), function)


def write_figures(sections, folder):
    """Each as .svg and .png; for phones only as .svg. As many at a time as there are cores."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = [(section, name) for section in sections for name in section.figures]
    if not pages:
        return
    # A process inherits figures as it is forked; they cannot be sent to it.
    with multiprocessing.get_context("fork").Pool(initializer=inherited.extend, initargs=(pages,)) as pool:
        for (section, name), paths in zip(pages, pool.imap(write_figure, ((i, folder) for i in range(len(pages))))):
            print(*paths, sep="\n")
            section.svgs[name] = paths[0].read_bytes()  # no page refers to a file


inherited = []  # the pages of write_figures(), in each of its processes


def write_figure(asked):
    """The files of a page: first its .svg."""
    import style
    page, folder = asked
    section, name = inherited[page]
    figure = section.figures[name]
    style.settle(figure)
    stem = section.entry["id"] + ("-narrow" if name == "narrow" else "")
    paths = [folder / (stem + suffix) for suffix in ((".svg", ".png") if name == "wide" else (".svg",))]
    for path in paths:
        style.save(figure, path)
    return paths


def write_text(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def run(arguments):
    """The exit code."""
    try:
        main(arguments)
        return 0
    except results.Refusal as refusal:
        complaint = refusal
    except OSError as error:
        complaint = f"cannot write: {error}"
    print(f"make.py: {complaint}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
