"""The report: one HTML page that needs nothing else, with every figure and table and the question that it answers."""

import base64
import html
from dataclasses import dataclass, field

from results import Results

THOUSANDS = "\u202f"  # parts long numbers
FORMS = ("wide", "narrow")  # of a figure; a phone shows the narrow one

# Where what the paper printed, what a model predicts and what was measured meet, each has its mark: (sign, words).
MARKS = {"paper": ("\u00d7", "printed in the paper"), "model": ("\u2500", "predicted by a model"),
         "measured": ("\u25cf", "measured")}


@dataclass
class Group:
    """A heading over some columns of a table."""
    title: str
    span: int
    mark: str = ""  # of MARKS


@dataclass
class Table:
    columns: list = field(default_factory=list)
    rows: list = field(default_factory=list)  # of cells; one of a single cell is a heading for those below it
    groups: list = field(default_factory=list)  # over all columns, or none
    verdict: str = ""
    good: bool = True  # colour of the verdict
    details: "Table | None" = None  # a longer table behind a click
    details_title: str = ""


@dataclass
class Section:
    """One entry of figures.toml with what was made of it."""
    entry: dict
    results: object
    table: "Table | None" = None
    figures: dict = field(default_factory=dict)  # of FORMS
    svgs: dict = field(default_factory=dict, repr=False)


STYLE = """
:root { color: #1a1a1a; background: #fff; font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; }
body { max-width: 68rem; margin: 0 auto; padding: 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.4rem; line-height: 1.25; margin: 3.5rem 0 0; padding-top: .5rem; border-top: 2px solid #1a1a1a; }
h3 { font-size: 1.15rem; line-height: 1.3; margin: 2rem 0 .25rem; }
p { margin: .4rem 0; } .question { font-size: 1.05rem; } .small { color: #595959; font-size: .85rem; }
.wide { overflow-x: auto; margin: .75rem 0; } img { display: block; width: 100%; height: auto; margin: .75rem 0; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; vertical-align: top; border-bottom: 1px solid #ddd; }
thead th { vertical-align: bottom; } thead tr:last-child th { border-bottom: 2px solid #1a1a1a; }
tbody th { padding-top: .8rem; } .first { border-left: 1px solid #bbb; padding-left: .8rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; } td.number { white-space: nowrap; }
td.long { min-width: 30rem; }
.short { white-space: nowrap; } tbody th span { position: sticky; left: 0; }
td.token { min-width: 18rem; font: .75rem/1.6 ui-monospace, "DejaVu Sans Mono", monospace; }
.paper { color: #1a1a1a; } .model { color: #8a5a00; } .measured { color: #00558a; }
.verdicts { list-style: none; padding: 0; } .verdicts li { margin: .5rem 0; } .verdicts p { margin: 0; }
.good { color: #006b4e; font-weight: bold; } .bad { color: #a33c00; font-weight: bold; }
summary { cursor: pointer; padding: .4rem 0; } nav { columns: 20rem; } nav p { margin: 0 0 .6rem; break-inside: avoid; }
nav a { display: block; } nav b { display: block; } a { color: #00558a; }
"""


def page(sections, left_out):
    """The whole page as text. `left_out`: {title: why} of what has no rows."""
    verdicts = "".join(f'<li><a href="#{escape(section.entry["id"])}">{escape(section.entry["title"])}</a>'
                       f"{verdict(section.table)}</li>" for section in sections
                       if section.table and section.table.verdict)
    chapters = {}
    for section in sections:
        chapters.setdefault(section.entry["chapter"], []).append(section)
    body = "".join(f"<h2>{escape(title)}</h2>\n" + "".join(map(show, each)) for title, each in chapters.items())
    timed = {section.results.made_by() for section in sections if section.results.distinct("device")}
    marks = ", ".join(f'<span class="{mark}">{sign} {words}</span>' for mark, (sign, words) in MARKS.items())
    missing = "".join(f"<li>{escape(title)}: {escape(why)}</li>" for title, why in left_out.items())
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Danaus: report</title>
<style>{STYLE}</style>
</head>
<body>
<h1>Danaus: long convolutions on tensor cores</h1>
<ul class="verdicts">{verdicts}</ul>
<p>Where they meet: {marks}.</p>
{f'<p>Measured: {escape("; ".join(sorted(timed)))}.</p>' if timed else ""}
<nav class="small">{"".join(map(contents, chapters.items()))}
<p><b>About this page</b><a href="#sources">Sources</a></p></nav>
{body}
<h2 id="sources">Sources</h2>
<p class="question">Which files, program and machine does this page come from?</p>
{table_html(sources(sections))}
{f"<p>Left out, for want of rows:</p><ul>{missing}</ul>" if missing else ""}
</body>
</html>
"""


def contents(chapter):
    title, sections = chapter
    links = "".join(f'<a href="#{escape(s.entry["id"])}">{escape(s.entry["title"])}</a>' for s in sections)
    return f"<p><b>{escape(title)}</b>{links}</p>"


def show(section):
    entry = section.entry
    parts = [f'<h3 id="{escape(entry["id"])}">{escape(entry["title"])}</h3>',
             f'<p class="question">{escape(entry["question"])}</p>',
             f'<p>Expected: {escape(entry["claim"])}</p>']
    if section.svgs:
        wide, narrow = (f"data:image/svg+xml;base64,{base64.b64encode(section.svgs[name]).decode()}" for name in FORMS)
        parts.append(f'<picture><source media="(max-width: 40rem)" srcset="{narrow}">'
                     f'<img alt="{escape(entry["title"])}" src="{wide}"></picture>')
    if section.table:
        parts += [verdict(section.table), table_html(section.table) if section.table.rows else ""]
        if section.table.details:
            parts.append(f"<details><summary>{escape(section.table.details_title)}</summary>"
                         f"{table_html(section.table.details)}</details>")
    paper = "" if entry["paper"] == "none" else f'Reproduces {escape(entry["paper"])} of Fu et al. 2023. '
    parts.append(f'<p class="small">{paper}From {escape(section.results.footer())}</p>')
    return "<section>" + "".join(parts) + "</section>\n"


def verdict(table):
    return f'<p class="{"good" if table.good else "bad"}">{escape(table.verdict)}</p>' if table.verdict else ""


def table_html(table):
    lines = [row for row in table.rows if len(row) > 1]
    numeric = [all(is_number(row[i]) for row in lines) for i in range(len(table.columns))]
    first = set()  # columns that begin a group
    for group in table.groups[:-1]:
        first.add(max(first, default=0) + group.span)
    classes = [" ".join(["number"] * right + ["first"] * (i in first)) for i, right in enumerate(numeric)]
    over = "".join(group_html(group, i > 0) for i, group in enumerate(table.groups))
    head = "".join(f'<th class="{name}">{escape(column)}</th>' for column, name in zip(table.columns, classes))
    body = "".join("<tr>" + ("".join(map(cell_html, row, classes)) if len(row) > 1 else
                             f'<th colspan="{len(table.columns)}"><span>{escape(row[0])}</span></th>') + "</tr>"
                   for row in table.rows)
    return (f'<div class="wide"><table><thead>{f"<tr>{over}</tr>" if over else ""}<tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>")


def group_html(group, apart):
    sign = MARKS[group.mark][0] + " " if group.mark else ""
    return f'<th colspan="{group.span}" class="{group.mark}{" first" * apart}">{sign}{escape(group.title)}</th>'


def cell_html(value, name):
    text = str(value)
    if text == "failed":
        return '<td class="bad">failed</td>'
    if text.startswith("fftconv_"):
        # A token may break at its fields, so that a table fits on a phone.
        return f'<td class="token">{escape(text).replace("_", "_<wbr>")}</td>'
    if "number" not in name:
        name += " long" if len(text) > 40 else " short" if len(text) <= 30 else ""
    return f'<td class="{name.strip()}">{escape(text)}</td>'


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
        hosts = "; ".join(", ".join(f"{key} {value}" for key, value in host.items())
                          for host in of_file.distinct("host"))
        commands = "; ".join(" ".join(map(str, argv)) for argv in of_file.distinct("argv"))
        rows.append([source.path.name, len(source.rows) or "", of_file.made_by() if source.rows else "committed",
                     source.digest, hosts, commands])
    return Table(["file", "rows", "made by", "sha256", "host", "command"], rows)


def escape(text):
    return html.escape(str(text), quote=True)
