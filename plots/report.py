"""The report: a first page with five answers, and a page for each chapter. No page needs another file.

What is shown is made here, how it looks is in templates/.
"""

import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

import answers
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from results import Results

TEMPLATES = Path(__file__).resolve().parent / "templates"

THOUSANDS = "\u202f"  # parts long numbers
MOST_COMMANDS = 3  # of a file that are shown
FORMS = ("wide", "narrow")  # of a figure; a phone shows the narrow one
LEAD = "time-over-floor"  # the figure of the first page

# Where what the paper printed, what a model predicts and what was measured meet, each has its mark: (sign, words).
MARKS = {"paper": ("\u00d7", "printed in the paper"), "model": ("\u2500", "predicted by a model"),
         "measured": ("\u25cf", "measured")}


@dataclass
class Group:
    """A heading over some columns of a table."""
    title: str
    span: int
    mark: str = ""  # of MARKS

    def heading(self):
        return f"{MARKS[self.mark][0]} {self.title}" if self.mark else self.title


@dataclass
class Table:
    columns: list = field(default_factory=list)
    rows: list = field(default_factory=list)  # of cells; one of a single cell is a heading for those below it
    groups: list = field(default_factory=list)  # over all columns, or none
    verdict: str = ""
    good: bool = True  # colour of the verdict
    note: str = ""  # below it, in grey: rows of another age
    details: "Table | None" = None  # a longer table behind a click
    details_title: str = ""

    def classes(self):
        """Of each column: "w" of words, nothing of numbers, and "first" where it begins a group."""
        lines = [row for row in self.rows if len(row) > 1]
        numeric = [all(is_number(row[i]) for row in lines) for i in range(len(self.columns))]
        first = set()
        for group in self.groups[:-1]:
            first.add(max(first, default=0) + group.span)
        return [" ".join(["w"] * (not right) + ["first"] * (i in first)) for i, right in enumerate(numeric)]


@dataclass
class Section:
    """One entry of figures.toml with what was made of it."""
    entry: dict
    results: object
    table: "Table | None" = None
    figures: dict = field(default_factory=dict)  # of FORMS
    svgs: dict = field(default_factory=dict, repr=False)
    points: "dict | None" = None  # that answer, for templates/points.html


@functools.cache
def template(name):
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"data_uri": data_uri, "breakable": breakable}
    return environment.get_template(name)


def pages(path, sections, left_out):
    """{path: text} of the first page, at `path`, and of the chapters, in a folder of its name without suffix.
    `left_out`: (entry, why) of each entry without rows."""
    chapters = {chapter: [section for section in sections if section.entry["chapter"] == chapter]
                for chapter in dict.fromkeys([*answers.QUESTIONS, *(section.entry["chapter"] for section in sections)])}
    files = {chapter: f"{path.stem}/{slug(chapter)}.html" for chapter in chapters}
    found = {chapter: answers.answer(chapter, sections) for chapter in chapters}
    missing = {chapter: [(entry, why) for entry, why in left_out if entry["chapter"] == chapter]
               for chapter in chapters}
    common = {"files": files, "chapters": chapters, "answers": found, "missing": missing, "marks": MARKS}
    lead = next((section for section in sections if section.entry["id"] == LEAD), None)
    made = {path: template("front.html").render(lead=lead, questions=answers.QUESTIONS, sources=sources(sections),
                                                **common)}
    for chapter, own in chapters.items():
        if own or missing[chapter]:
            text = template("chapter.html").render(chapter=chapter, front=path.name, **common)
            made[path.parent / files[chapter]] = text
    return made


def slug(title):
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def data_uri(svg):
    """For an attribute in single quotes, which is shorter than base64."""
    text = svg.decode()
    for character in "%#'\n":
        text = text.replace(character, f"%{ord(character):02X}")
    return Markup("data:image/svg+xml," + text.replace("&", "&amp;"))


def breakable(token):
    """A token may break at its fields, so that a table fits on a phone."""
    return escape(token).replace("_", Markup("_<wbr>"))


def is_number(value):
    """Whether a cell belongs in a column of numbers; an empty one does."""
    try:
        float(str(value or 0).replace(THOUSANDS, ""))
    except ValueError:
        return False
    return True


def sources(sections):
    """One line for each result file."""
    rows, seen = [], set()
    for source in (source for section in sections for source in section.results.all_sources()):
        if source.path in seen:
            continue
        seen.add(source.path)
        of_file = Results([source], source.rows)
        hosts = "; ".join([*(", ".join(f"{key} {value}" for key, value in host.items())
                             for host in of_file.distinct("host")), *of_file.distinct("compiler")])
        commands = [" ".join(map(str, argv)) for argv in of_file.distinct("argv")]
        if len(commands) > MOST_COMMANDS:
            commands[MOST_COMMANDS:] = [f"and {len(commands) - MOST_COMMANDS} more, which the rows say"]
        rows.append([source.path.name, len(source.rows) or "", of_file.made_by() if source.rows else "committed",
                     source.digest, hosts, "; ".join(commands)])
    return Table(["file", "rows", "made by", "sha256", "host", "command"], rows)
